//! Batch normalisation.

mod norm;

use crate::error::raise;
use crate::nn::fusible::Fusible;
use crate::nn::{Layer, Parameters, check};
use crate::tensor::{Tensor, default_device};
use candle_core::Device;
use norm::Norm;

macro_rules! batch_norm {
    ($(#[$doc:meta])* $name:ident, $(#[$lazy_doc:meta])* $lazy:ident, $unit:literal, $accepts:pat, $wanted:literal) => {
        $(#[$doc])*
        #[derive(Parameters)]
        #[parameters(name = if self.norm.is_initialized() { stringify!($name) } else { stringify!($lazy) })]
        pub struct $name {
            #[parameters(flatten)]
            norm: Norm,
        }

        $(#[$lazy_doc])*
        pub enum $lazy {}

        impl $lazy {
            /// Creates a layer whose parameters wait for the first input.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert_eq!(", stringify!($lazy), "::new().num_parameters(), 0);")]
            /// ```
            #[allow(clippy::new_ret_no_self)]
            pub fn new() -> $name {
                let norm = Norm::lazy();
                $name { norm }
            }
        }

        impl $name {
            #[doc = concat!("Creates a layer for this many ", $unit, ", on the default device.")]
            ///
            /// # Panics
            #[doc = concat!("If the number of ", $unit, " is 0.")]
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert_eq!(", stringify!($name), "::new(8).num_parameters(), 16);")]
            /// ```
            #[track_caller]
            pub fn new(features: usize) -> Self {
                let layer = $lazy::new();
                layer.init(features, &default_device());
                layer
            }

            /// Sets the value that is added to the variance; 1e-5 by default.
            ///
            /// # Panics
            /// If it is not above 0.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let norm = ", stringify!($name), "::new(8).eps(1e-3);")]
            /// assert_eq!(norm.num_parameters(), 16);
            /// ```
            #[track_caller]
            pub fn eps(mut self, eps: f64) -> Self {
                check::above_zero(stringify!($name), "eps", eps);
                self.norm.eps = eps;
                self
            }

            setters! {
                /// Sets the momentum, the weight of each training batch in the running statistics:
                /// `running = (1 - momentum) · running + momentum · batch`; 0.1 by default. `None` means the mean of all
                /// batches.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let norm = ", stringify!($name), "::new(8).momentum(0.01);")]
                /// assert_eq!(norm.num_parameters(), 16);
                /// ```
                pub fn momentum(self, momentum: impl Into<Option<f64>>): self.norm.momentum = momentum.into();

                /// Sets whether there is a learned scale and shift, as by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("assert_eq!(", stringify!($name), "::new(8).affine(false).num_parameters(), 0);")]
                /// ```
                pub fn affine(self, affine: bool): self.norm.set_affine(affine, affine);

                /// Sets whether there is a learned shift, as by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("assert_eq!(", stringify!($name), "::new(8).bias(false).num_parameters(), 8);")]
                /// ```
                pub fn bias(self, bias: bool): self.norm.set_affine(self.norm.has_weight(), bias);

                /// Sets whether training batches update running statistics, which evaluation uses, as by default; without
                /// them, evaluation uses the statistics of its batch, too.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let norm = ", stringify!($name), "::new(8).track_running_stats(false);")]
                /// assert_eq!(norm.state_dict().len(), 2);
                /// ```
                pub fn track_running_stats(self, track: bool): self.norm.set_tracking(track);
            }

            /// Refuses an input of another shape; draws the parameters that wait for the first one.
            #[track_caller]
            fn prepare(&self, input: &Tensor) {
                if !matches!(input.dims(), $accepts) {
                    raise(check::refused(self, input, $wanted))
                }
                if !self.norm.is_initialized() {
                    self.init(input.dim(1), input.device());
                }
            }

            #[track_caller]
            fn init(&self, features: usize, device: &Device) {
                check::positive(stringify!($name), &[($unit, features)]);
                self.norm.init(features, device);
            }
        }

        impl Layer for $name {
            $crate::nn::layer::boxed_here!();

            fn forward(&self, input: &Tensor) -> Tensor {
                self.prepare(input);
                self.norm.forward(self, input)
            }

            fn fusible(&self) -> Fusible {
                self.norm.fusible()
            }

            fn forward_relu(&self, input: &Tensor) -> Option<Tensor> {
                self.prepare(input);
                Some(self.norm.forward_relu(self, input))
            }
        }
    };
}

batch_norm!(
    /// Batch normalisation of features: each gets mean 0 and variance 1 over the batch, then a
    /// learned scale and shift.
    ///
    /// In evaluation mode it uses running statistics instead of the batch's. Every training batch updates
    /// them, with the weight [`momentum`](Self::momentum). From Ioffe and Szegedy, 2015, and d2l's chapter
    /// *Batch Normalization*.
    ///
    /// # Shapes
    /// `(batch, features)` or `(batch, features, length)`; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = BatchNorm1d::new(1);
    /// let y = norm.forward(&tensor(&[[1.0], [3.0]])); // (2, 1)
    /// assert!((y.to_vec2::<f32>()[1][0] - 1.0).abs() < 1e-4);
    /// ```
    BatchNorm1d,
    /// Creates a [`BatchNorm1d`] that takes its number of features from the first input.
    ///
    /// # Shapes
    /// As for [`BatchNorm1d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![LazyLinear::new(8), LazyBatchNorm1d::new(), ReLU];
    /// let y = net.forward(&ones((4, 3))); // (4, 8)
    /// ```
    LazyBatchNorm1d,
    "features", [_, _] | [_, _, _], "Expected (batch, features) or (batch, features, length)"
);

batch_norm!(
    /// Batch normalisation of images: each channel gets mean 0 and variance 1 over the batch and
    /// all pixels, then a learned scale and shift. Otherwise as [`BatchNorm1d`].
    ///
    /// # Shapes
    /// `(batch, channels, height, width)`; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = BatchNorm2d::new(3);
    /// let y = norm.forward(&rand((2, 3, 4, 4))); // (2, 3, 4, 4)
    /// ```
    BatchNorm2d,
    /// Creates a [`BatchNorm2d`] that takes its number of channels from the first input.
    ///
    /// # Shapes
    /// As for [`BatchNorm2d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![LazyConv2d::new(8, 3), LazyBatchNorm2d::new(), ReLU];
    /// let y = net.forward(&ones((4, 1, 8, 8))); // (4, 8, 6, 6)
    /// ```
    LazyBatchNorm2d,
    "channels", [_, _, _, _], "Expected images (batch, channels, height, width)"
);

batch_norm!(
    /// Batch normalisation of volumes; otherwise as [`BatchNorm2d`].
    ///
    /// # Shapes
    /// `(batch, channels, depth, height, width)`; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = BatchNorm3d::new(3);
    /// let y = norm.forward(&rand((2, 3, 4, 4, 4))); // (2, 3, 4, 4, 4)
    /// ```
    BatchNorm3d,
    /// Creates a [`BatchNorm3d`] that takes its number of channels from the first input.
    ///
    /// # Shapes
    /// As for [`BatchNorm3d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![Conv3d::new(1, 8, 3), LazyBatchNorm3d::new(), ReLU];
    /// let y = net.forward(&ones((4, 1, 8, 8, 8))); // (4, 8, 6, 6, 6)
    /// ```
    LazyBatchNorm3d,
    "channels", [_, _, _, _, _], "Expected volumes (batch, channels, depth, height, width)"
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;
    use crate::nn::{ParametersExt, check_shapes};
    use crate::tensor::{randn, zeros};

    #[test]
    fn wrong_inputs_are_explained() {
        let x = |shape: &[usize]| zeros(shape);
        let norm = BatchNorm1d::new(3);
        let message = |shape| message_of(|| norm.forward(&x(shape)));
        assert!(message(&[3]).starts_with("BatchNorm1d(3) cannot take an input of shape [3]\n"));
        assert!(message(&[2, 4]).ends_with("Its second dimension must be 3"));
        let one = message(&[1, 3]);
        assert!(one.contains("leave it out with .drop_last(true)"), "{one}");
        assert!(
            one.ends_with("use a larger batch, or call model.eval()"),
            "{one}"
        );
        let norm = BatchNorm2d::new(3);
        let message = message_of(|| norm.forward(&x(&[2, 3])));
        assert!(
            message.contains("(batch, channels, height, width)"),
            "{message}"
        );
        assert!(attempt(|| BatchNorm2d::new(0)).is_err());
    }

    #[test]
    fn a_layer_without_parameters_and_statistics_keeps_its_size() {
        let layer = |features| BatchNorm2d::new(features).affine(false);
        let norm = layer(3).track_running_stats(false);
        let text = "BatchNorm2d(3, affine=false, track_running_stats=false)";
        assert_eq!(
            (norm.describe().as_str(), norm.state_dict().len()),
            (text, 0)
        );
        let x = randn((2, 3, 4, 4)) + 5.0;
        let trained = norm.forward(&x);
        norm.set_training(false);
        assert_eq!(norm.forward(&x).to_vec::<f32>(), trained.to_vec::<f32>());
        assert!(trained.mean(..).item().abs() < 1e-5);
        assert_eq!(
            check_shapes(&norm, (2, 3, 4, 4)).output_shape(),
            [2, 3, 4, 4]
        );
        assert!(attempt(|| norm.forward(&zeros((2, 4, 4, 4)))).is_err());

        let norm = layer(3).affine(true).bias(false);
        assert_eq!(norm.describe(), "BatchNorm2d(3, bias=false)");
        let norm = norm.track_running_stats(false).track_running_stats(true);
        assert_eq!(norm.bias(true).describe(), "BatchNorm2d(3)");
        let lazy = LazyBatchNorm2d::new()
            .affine(false)
            .track_running_stats(false);
        assert_eq!(lazy.forward(&x).to_vec::<f32>(), trained.to_vec::<f32>());
        assert!(attempt(|| lazy.forward(&zeros((2, 4, 4, 4)))).is_err());
    }

    #[test]
    fn an_empty_batch_stays_empty_in_evaluation() {
        let norm = BatchNorm1d::new(3);
        norm.set_training(false);
        let x = zeros((0, 3));
        assert_eq!(norm.forward(&x).dims(), [0, 3]);
    }
}
