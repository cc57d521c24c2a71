//! Layer normalisation.

use crate::error::{OrRaise, raise};
use crate::layer;
use crate::nn::layers::scale::Scale;
use crate::nn::summary::{output_of, record_output};
use crate::nn::{Parameters, check};
use crate::ops;
use crate::tensor::{Raw, Tensor};
use candle_core::{Result, Shape};

layer! {
    /// Layer normalisation: each example gets mean 0 and variance 1 over its last dimension, or the last few, then a
    /// learned scale and shift for each feature. From Ba, Kiros and Hinton, 2016.
    ///
    /// # Shapes
    /// `(…, features)`; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = LayerNorm::new(2);
    /// let y = norm.forward(&tensor(&[[1.0, 3.0]])); // (1, 2)
    /// assert!((y.to_vec2::<f32>()[0][1] - 1.0).abs() < 1e-4);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new), whose argument is the number of features or the shape of the last dimensions, panics if a size is 0.
    #[describe(
        self.scale.features(),
        self.scale.dims(),
        elementwise_affine = self.scale.weight.is_none().then_some(false)
    )]
    pub struct LayerNorm(shape: impl Into<Shape>) {
        #[parameters(flatten)]
        scale = Scale::of_features("LayerNorm", shape.into(), true, true),
        /// Sets the value that is added to the variance; 1e-5 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let norm = LayerNorm::new(2).eps(0.0);
        /// assert_eq!(norm.forward(&tensor(&[1.0, 3.0])).to_vec1::<f32>(), [-1.0, 1.0]);
        /// ```
        set eps: f64 = 1e-5,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let [weight, bias] = self.scale.tensors(input);
        let (weight, bias) = (weight.raw(), bias.raw());
        normalized(self, input, &self.scale.shape, |x| {
            ops::layer_norm_as(&check::name(self), x, weight, bias, self.eps)
        })
    }
}

impl LayerNorm {
    setters! {
        /// Sets whether the layer has a bias, as by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(LayerNorm::new(8).bias(false).num_parameters(), 8);
        /// ```
        pub fn bias(self, bias: bool): self.set_bias(bias);

        /// Sets whether the features have a learned scale and shift, as by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(LayerNorm::new(8).elementwise_affine(false).num_parameters(), 0);
        /// ```
        pub fn elementwise_affine(self, affine: bool): self.scale.set(affine, affine);
    }

    pub(super) fn set_bias(&mut self, bias: bool) {
        self.scale.set_bias(bias);
    }
}

/// Normalises the last dimensions, which have this shape, as the rows of a matrix.
pub(super) fn normalized(
    layer: &dyn Parameters,
    x: &Tensor,
    shape: &Shape,
    normalize: impl FnOnce(&Raw) -> Result<Raw>,
) -> Tensor {
    if shape.rank() == 1 {
        return output_of(layer, normalize(x.raw()));
    }
    if !x.dims().ends_with(shape.dims()) {
        let expected = format!("Its last dimensions must be {:?}", shape.dims());
        raise(check::refused(layer, x, expected))
    }
    let rows = x.flatten_from(x.rank() - shape.rank());
    let y = Tensor::from(normalize(rows.raw()).or_raise());
    record_output(layer, y.reshape(x.shape()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::Layer;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn a_wrong_input_is_explained() {
        let norm = LayerNorm::new(3);
        assert_eq!(
            message_of(|| norm.forward(&zeros((2, 4)))),
            "LayerNorm(3) cannot take an input of shape [2, 4]\nIts last dimension must be 3"
        );
        assert!(attempt(|| LayerNorm::new(0)).is_err());
        assert!(attempt(|| LayerNorm::new(())).is_err());
        let norm = LayerNorm::new((2, 3)).elementwise_affine(false);
        assert_eq!(
            message_of(|| norm.forward(&zeros((2, 4)))),
            "LayerNorm([2, 3], elementwise_affine=false) cannot take an input of shape [2, 4]\n\
             Its last dimensions must be [2, 3]"
        );
    }
}
