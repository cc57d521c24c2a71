//! The bilinear layer.

use crate::error::{OrRaise, raise};
use crate::nn::initial;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::Tensor;

/// A function of two inputs that is linear in each: output `k` is `Σᵢⱼ aᵢ · weight[k, i, j] · bⱼ + bias[k]`.
///
/// `weight` has the shape `(out_features, in1_features, in2_features)`, `bias` the shape `(out_features,)`. As in PyTorch,
/// both are initialised uniformly between `-1/√in1_features` and `1/√in1_features`.
///
/// # Shapes
/// A pair of `(…, in1_features)` and `(…, in2_features)` to `(…, out_features)`.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = Bilinear::new(2, 3, 4);
/// let y = layer.forward(&(ones((8, 2)), ones((8, 3)))); // (8, 4)
/// assert_eq!(y.dims(), [8, 4]);
/// ```
#[derive(Parameters)]
#[describe(
    in1_features = self.weight.size(1),
    in2_features = self.weight.size(2),
    out_features = self.weight.size(0),
    bias = self.bias.is_some()
)]
pub struct Bilinear {
    weight: Parameter,
    bias: Option<Parameter>,
}

impl Bilinear {
    /// Creates a layer with random weights and bias, on the default device.
    ///
    /// # Panics
    /// If one of the sizes is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Bilinear::new(2, 3, 4).num_parameters(), 2 * 3 * 4 + 4);
    /// ```
    #[track_caller]
    pub fn new(in1_features: usize, in2_features: usize, out_features: usize) -> Self {
        let sizes = [
            ("in1_features", in1_features),
            ("in2_features", in2_features),
            ("out_features", out_features),
        ];
        check::positive("Bilinear", &sizes);
        let shape = (out_features, in1_features, in2_features);
        let weight = Parameter::new(&initial(in1_features as f64, shape));
        Self { weight, bias: None }.bias(true)
    }

    /// Sets whether the layer has a bias, as by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Bilinear::new(2, 3, 4).bias(false).num_parameters(), 24);
    /// ```
    #[track_caller]
    pub fn bias(mut self, bias: bool) -> Self {
        if bias != self.bias.is_some() {
            let (outputs, inputs, _) = self.weight.tensor().dims3();
            self.bias = bias.then(|| Parameter::new(&initial(inputs as f64, outputs)));
        }
        self
    }
}

impl Layer<(Tensor, Tensor)> for Bilinear {
    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Tensor {
        let weight = self.weight.tensor(); // (out, in1, in2)
        let (outputs, first, second) = weight.dims3();
        for (x, features) in [(a, first), (b, second)] {
            ops::check::same_place(&check::name(self), x.raw(), weight.raw()).or_raise();
            if x.dims().last() != Some(&features) {
                let expected = format!("Its last dimension must be {features}");
                raise(check::refused(self, x, expected))
            }
        }
        // Row (k, i) of the matrix is the vector that `b` is multiplied with.
        let matrix = weight.reshape((outputs * first, second));
        let shape = |x: &Tensor, last: &[usize]| [&x.dims()[..x.rank() - 1], last].concat();
        let products = ops::linear(b, &matrix, None).reshape(shape(b, &[outputs, first]));
        let y = (products * a.unsqueeze(-2)).sum(-1); // (…, out)
        match &self.bias {
            Some(bias) => y + bias.tensor(),
            None => y,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::zeros;
    use taper_tensor::testing::message_of;

    #[test]
    fn a_wrong_input_is_explained() {
        let layer = Bilinear::new(2, 3, 4);
        assert_eq!(
            message_of(|| layer.forward(&(zeros((8, 2)), zeros((8, 2))))),
            "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=true) cannot take an input of shape [8, 2]\n\
             Its last dimension must be 3"
        );
        assert_eq!(layer.forward(&(zeros(2), zeros(3))).dims(), [4]);
    }
}
