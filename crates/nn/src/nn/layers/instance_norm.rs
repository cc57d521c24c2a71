//! Instance normalisation.

use crate::error::raise;
use crate::nn::check;
use crate::nn::layers::scale::Scale;
use crate::tensor::Tensor;

/// Implements a normalisation of inputs with this many dimensions, of which the first may be missing.
macro_rules! instance_norm {
    ($(#[$doc:meta])* $name:ident, $rank:literal, $shape:literal) => {
        $crate::layer! {
            $(#[$doc])*
            ///
            /// From Ulyanov, Vedaldi and Lempitsky, 2016. Training and evaluation do not differ: there are no running
            /// statistics. At first the layer has no parameters.
            ///
            /// # Panics
            /// [`new`](Self::new) panics if `num_features` is 0.
            #[describe(
                self.num_features,
                eps = self.eps,
                affine = self.scale.weight.is_some(),
                bias = self.scale.no_bias()
            )]
            pub struct $name(num_features: usize) {
                check::positive(stringify!($name), &[("num_features", num_features)]);
                #[parameters(flatten)]
                scale = Scale::new(num_features, false, false),
                num_features: usize,
                /// Sets the value that is added to the variance; 1e-5 by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let norm = ", stringify!($name), "::new(4).eps(0.001);")]
                #[doc = concat!("assert_eq!(norm.describe(), \"", stringify!($name), "(4, eps=0.001, affine=false)\");")]
                /// ```
                set eps: f64 = 1e-5,
            }
            fn forward(&self, input: &Tensor) -> Tensor {
                let is_single = input.rank() == $rank - 1;
                let channels = input.dims().get(if is_single { 0 } else { 1 });
                let fits = is_single || input.rank() == $rank;
                if !fits || channels != Some(&self.num_features) {
                    let expected = format!(concat!("Expected ", $shape, " with {} channels"), self.num_features);
                    raise(check::refused(self, input, expected))
                }
                if is_single {
                    return self.forward(&input.unsqueeze(0)).squeeze(0);
                }
                if input.elem_count() > 0 && input.elem_count() == input.dims()[0] * self.num_features {
                    let expected = "It needs more than one element in each channel: the variance of one is 0";
                    raise(check::refused(self, input, expected))
                }
                self.scale.of_groups(self, input, self.num_features, self.eps)
            }
        }

        impl $name {
            setters! {
                /// Sets whether each channel has a learned scale and shift, on the default device; `false` by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("assert_eq!(", stringify!($name), "::new(4).affine(true).num_parameters(), 8);")]
                /// ```
                #[track_caller]
                pub fn affine(self, affine: bool): self.scale.set(affine, affine);

                /// Sets whether an affine layer has a shift, as by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let norm = ", stringify!($name), "::new(4).affine(true).bias(false);")]
                /// assert_eq!(norm.num_parameters(), 4);
                /// ```
                #[track_caller]
                pub fn bias(self, bias: bool): self.scale.set_bias(bias && self.scale.weight.is_some());
            }
        }
    };
}

instance_norm!(
    /// Normalises each channel of each sequence to mean 0 and variance 1, over its steps.
    ///
    /// # Shapes
    /// `(batch, channels, length)`; the output has the same shape. The batch may be missing.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = InstanceNorm1d::new(1).forward(&tensor(&[[[1.0, 3.0]]])); // (1, 1, 2)
    /// assert!((y.to_vec::<f32>()[1] - 1.0).abs() < 1e-4);
    /// ```
    InstanceNorm1d, 3, "sequences (batch, channels, length)"
);

instance_norm!(
    /// Normalises each channel of each image to mean 0 and variance 1, over its pixels.
    ///
    /// # Shapes
    /// `(batch, channels, height, width)`; the output has the same shape. The batch may be missing.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[[[1.0, 3.0], [3.0, 1.0]]]]); // (1, 1, 2, 2)
    /// let y = InstanceNorm2d::new(1).forward(&x);
    /// assert!((y.to_vec::<f32>()[1] - 1.0).abs() < 1e-4);
    /// ```
    InstanceNorm2d, 4, "images (batch, channels, height, width)"
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layer;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn wrong_inputs_are_explained() {
        let norm = InstanceNorm2d::new(3);
        assert_eq!(
            message_of(|| norm.forward(&zeros((2, 4, 5, 5)))),
            "InstanceNorm2d(3, eps=1e-5, affine=false) cannot take an input of shape [2, 4, 5, 5]\n\
             Expected images (batch, channels, height, width) with 3 channels"
        );
        let message = message_of(|| norm.forward(&zeros((2, 3, 1, 1))));
        assert!(message.contains("more than one element"), "{message}");
        assert_eq!(norm.forward(&zeros((0, 3, 2, 2))).dims(), [0, 3, 2, 2]);
        let message = message_of(|| InstanceNorm1d::new(0));
        assert!(message.starts_with("InstanceNorm1d: num_features is 0\n"));
    }
}
