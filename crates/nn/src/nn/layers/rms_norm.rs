//! Normalisation by the root mean square.

use super::layer_norm::normalized;
use super::scale::{Scale, value_or};
use crate::layer;
use crate::nn::check;
use crate::ops;
use crate::tensor::Tensor;
use candle_core::{DType, Shape};

layer! {
    /// Divides each example by its root mean square over the last dimension, or the last few, then multiplies each feature by
    /// a learned scale. From Zhang and Sennrich, 2019.
    ///
    /// # Shapes
    /// `(…, features)`; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = RMSNorm::new(2);
    /// let y = norm.forward(&tensor(&[[1.0, 7.0]])); // (1, 2)
    /// assert!((y.to_vec2::<f32>()[0][1] - 1.4).abs() < 1e-6); // 7 / √25
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new), whose argument is the number of features or the shape of the last dimensions, panics if a size is 0.
    #[describe(
        self.scale.features(),
        self.scale.dims(),
        eps = self.eps,
        elementwise_affine = self.scale.weight.is_none().then_some(false)
    )]
    pub struct RMSNorm(shape: impl Into<Shape>) {
        #[parameters(flatten)]
        scale = Scale::of_features("RMSNorm", shape.into(), true, false),
        eps: Option<f64> = None,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let eps = self.eps.unwrap_or(match input.dtype() {
            DType::F64 => f64::EPSILON,
            _ => f32::EPSILON.into(),
        });
        let features = self.scale.shape.elem_count();
        let weight = value_or(&self.scale.weight, 1.0, features, input);
        normalized(self, input, &self.scale.shape, |x| {
            ops::rms_norm_as(&check::name(self), x, weight.raw(), eps)
        })
    }
}

impl RMSNorm {
    setters! {
        /// Sets the value that is added to the mean square; by default the machine epsilon of the type in which
        /// it computes, which is `f32` for inputs of 16 bits.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(RMSNorm::new(8).eps(1e-6).describe(), "RMSNorm(8, eps=1e-6)");
        /// ```
        pub fn eps(self, eps: f64): self.eps = Some(eps);

        /// Sets whether the features have a learned scale, as by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(RMSNorm::new(8).elementwise_affine(false).num_parameters(), 0);
        /// ```
        pub fn elementwise_affine(self, affine: bool): self.scale.set(affine, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::Layer;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn wrong_inputs_are_explained() {
        let norm = RMSNorm::new(4);
        let x = |shape: &[usize]| zeros(shape);
        assert_eq!(
            message_of(|| norm.forward(&x(&[2, 3]))),
            "RMSNorm(4) cannot take an input of shape [2, 3]\nIts last dimension must be 4"
        );
        assert!(attempt(|| norm.forward(&x(&[]))).is_err());
        assert!(attempt(|| RMSNorm::new(0)).is_err());
        assert_eq!(norm.forward(&x(&[0, 4])).dims(), [0, 4]);
    }
}
