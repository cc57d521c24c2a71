//! The fully connected layer that finds out its input's size by itself.

use crate::nn::describe::print_as_described;
use crate::nn::layers::lazy::lazy_form;
use crate::nn::{Layer, Linear, Parameters, Visitor, VisitorMut, check};
use candle_core::{Result, Tensor};

/// A [`Linear`] layer that takes its number of input features from the first input.
///
/// Its parameters are made then, on the device that `to_device` has set, or else on the input's.
///
/// # Shapes
/// `(…, in_features)` to `(…, out_features)`.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = LazyLinear::new(2);
/// assert_eq!(layer.describe(), "LazyLinear(out_features=2, bias=true)");
/// let y = layer.forward(&ones((4, 3), &cpu())?)?; // (4, 2)
/// assert_eq!(layer.describe(), "Linear(in_features=3, out_features=2, bias=true)");
/// # Ok::<(), Error>(())
/// ```
pub struct LazyLinear {
    linear: Linear,
    out_features: usize,
}

impl LazyLinear {
    /// A layer with this many output features.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![LazyLinear::new(256), ReLU, LazyLinear::new(10)];
    /// assert_eq!(net.num_parameters(), 0); // until the first input
    /// ```
    pub fn new(out_features: usize) -> Self {
        Self {
            linear: Linear::lazy(out_features),
            out_features,
        }
    }
}

impl Layer for LazyLinear {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        if !self.linear.is_initialized() {
            let Some(&in_features) = input.dims().last() else {
                let wanted = "It needs at least one dimension: (…, features)";
                return Err(check::refused(self, input, wanted));
            };
            self.linear
                .init(in_features, self.out_features, input.device())?;
        }
        self.linear.forward(input)
    }
}

lazy_form!(LazyLinear {
    linear,
    out_features
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::ParametersExt;
    use crate::tensor::{ones, zeros};
    use candle_core::Device;

    #[test]
    fn it_settles_at_the_first_input() {
        let mut layer = LazyLinear::new(2);
        layer.to_device(&Device::Cpu).unwrap();
        let names: Vec<String> = layer.named_parameters().into_iter().map(|p| p.0).collect();
        assert_eq!(names, ["weight", "bias"]);

        let x = ones((4, 3), &Device::Cpu).unwrap();
        let first = layer.forward(&x).unwrap().to_vec2::<f32>().unwrap();
        let second = layer.forward(&x).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(first, second);
        assert_eq!(layer.num_parameters(), 8);

        assert!(LazyLinear::new(0).forward(&x).is_err());
        let message = layer.forward(&zeros((4, 5), &Device::Cpu).unwrap());
        assert!(message.unwrap_err().to_string().contains("must be 3"));
    }
}
