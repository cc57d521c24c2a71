//! Batch normalisation.

use crate::error::{OrRaise, raise};
use crate::nn::layers::lazy::lazy_form;
use crate::nn::spec::Spec;
use crate::nn::summary::{self, seen};
use crate::nn::{Buffer, Layer, Mode, Parameter, Parameters, check};
use crate::ops::{self, BatchNormOutput};
use crate::tensor::{Tensor, default_device, ones, tensor, zeros};
use candle_core::{DType, Device};

const EPS: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;

/// The parameters, buffers and settings of a batch normalisation of features or of images, which differ
/// only in the shapes of their inputs.
#[derive(Parameters)]
#[describe(self.weight.size(0))]
struct Norm {
    weight: Parameter,
    bias: Parameter,
    running_mean: Buffer,
    running_var: Buffer,
    num_batches_tracked: Buffer,
    mode: Mode,
    eps: f64,
    momentum: Option<f64>,
}

impl Norm {
    fn lazy() -> Self {
        let features = Spec::f32(&[None]);
        let count = Spec::new(&[], DType::I64);
        Self {
            weight: Parameter::lazy_as(features.clone()),
            bias: Parameter::lazy_as(features.clone()),
            running_mean: Buffer::lazy_as(features.clone()),
            running_var: Buffer::lazy_as(features),
            num_batches_tracked: Buffer::lazy_as(count),
            mode: Mode::new(),
            eps: EPS,
            momentum: Some(MOMENTUM),
        }
    }

    fn init(&self, features: usize, device: &Device) {
        self.weight.init(device, || ones(features));
        self.bias.init(device, || zeros(features));
        self.running_mean.init(device, || zeros(features));
        self.running_var.init(device, || ones(features));
        self.num_batches_tracked.init(device, || tensor(0));
    }

    /// Normalises `(batch, features, …)`.
    #[track_caller]
    fn forward(&self, layer: &dyn Parameters, x: &Tensor) -> Tensor {
        let (weight, bias) = (self.weight.tensor(), self.bias.tensor());
        let running = match self.mode.is_training() && !summary::is_recording() {
            true => None,
            false => Some((self.running_mean.tensor(), self.running_var.tensor())),
        };
        let statistics = { running.as_ref() }.map(|(mean, var)| (mean.raw(), var.raw()));
        let (name, x) = (check::name(layer), x.raw());
        let output = ops::batch_norm(&name, x, weight.raw(), bias.raw(), statistics, self.eps);
        let output = output.or_raise();
        if running.is_none() {
            self.track(&output);
        }
        seen(layer, output.y.into())
    }

    /// Updates the running statistics: `running = (1 - momentum) · running + momentum · batch`.
    fn track(&self, batch: &BatchNormOutput) {
        let (mean, var) = (Tensor::from(&batch.mean), Tensor::from(&batch.var));
        let unbiased = var * (batch.values as f64 / (batch.values - 1) as f64);
        let count = self.num_batches_tracked.tensor() + 1;
        let momentum = self.momentum.unwrap_or_else(|| 1.0 / count.item());
        for (running, new) in [(&self.running_mean, mean), (&self.running_var, unbiased)] {
            let old = running.tensor();
            let new = new.to_dtype(old.dtype());
            running.set(&(old * (1.0 - momentum) + new * momentum));
        }
        self.num_batches_tracked.set(&count);
    }
}

macro_rules! batch_norm {
    ($(#[$doc:meta])* $name:ident, $unit:literal, $accepts:pat, $wanted:literal) => {
        $(#[$doc])*
        #[derive(Parameters)]
        pub struct $name {
            #[parameters(flatten)]
            norm: Norm,
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
                let layer = Self::lazy();
                layer.init(features, &default_device());
                layer
            }

            /// Creates a layer whose parameters wait for [`init`](Self::init).
            fn lazy() -> Self {
                let norm = Norm::lazy();
                Self { norm }
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
            pub fn momentum(mut self, momentum: impl Into<Option<f64>>) -> Self {
                self.norm.momentum = momentum.into();
                self
            }

            #[track_caller]
            fn init(&self, features: usize, device: &Device) {
                check::positive(stringify!($name), &[($unit, features)]);
                self.norm.init(features, device);
            }

            fn is_initialized(&self) -> bool {
                self.norm.weight.is_initialized()
            }

            /// Returns the input's number of features. Panics if the layer cannot take its shape.
            #[track_caller]
            fn features_of(layer: &dyn Parameters, input: &Tensor) -> usize {
                match input.dims() {
                    $accepts => input.dim(1),
                    _ => raise(check::refused(layer, input, $wanted)),
                }
            }
        }

        impl Layer for $name {
            $crate::nn::layer::boxed_here!();

            fn forward(&self, input: &Tensor) -> Tensor {
                Self::features_of(self, input);
                self.norm.forward(self, input)
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
    BatchNorm1d, "features", [_, _] | [_, _, _], "Expected (batch, features) or (batch, features, length)"
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
    BatchNorm2d, "channels", [_, _, _, _], "Expected images (batch, channels, height, width)"
);

/// A [`BatchNorm1d`] that takes its number of features from the first input.
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
pub struct LazyBatchNorm1d {
    layer: BatchNorm1d,
}

/// A [`BatchNorm2d`] that takes its number of channels from the first input.
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
pub struct LazyBatchNorm2d {
    layer: BatchNorm2d,
}

macro_rules! lazy_norm {
    ($lazy:ident, $inner:ident) => {
        impl $lazy {
            /// Creates a layer whose parameters wait for the first input.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert_eq!(", stringify!($lazy), "::new().num_parameters(), 0);")]
            /// ```
            #[allow(clippy::new_without_default)]
            pub fn new() -> Self {
                let layer = $inner::lazy();
                Self { layer }
            }

            #[doc = concat!("Sets the value that is added to the variance; see [`", stringify!($inner), "::eps`].")]
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert_eq!(", stringify!($lazy), "::new().eps(1e-3).num_parameters(), 0);")]
            /// ```
            #[track_caller]
            pub fn eps(mut self, eps: f64) -> Self {
                self.layer = self.layer.eps(eps);
                self
            }

            #[doc = concat!("Sets the momentum of the running statistics; see [`", stringify!($inner), "::momentum`].")]
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert_eq!(", stringify!($lazy), "::new().momentum(0.01).num_parameters(), 0);")]
            /// ```
            pub fn momentum(mut self, momentum: impl Into<Option<f64>>) -> Self {
                self.layer = self.layer.momentum(momentum);
                self
            }
        }

        impl Layer for $lazy {
            $crate::nn::layer::boxed_here!();

            fn forward(&self, input: &Tensor) -> Tensor {
                if !self.layer.is_initialized() {
                    let features = $inner::features_of(self, input);
                    self.layer.init(features, input.device());
                }
                self.layer.forward(input)
            }
        }

        lazy_form!($lazy { layer });
    };
}

lazy_norm!(LazyBatchNorm1d, BatchNorm1d);
lazy_norm!(LazyBatchNorm2d, BatchNorm2d);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;

    #[test]
    fn wrong_inputs_are_explained() {
        let x = |shape: &[usize]| zeros(shape);
        let norm = BatchNorm1d::new(3);
        let message = |shape| message_of(|| norm.forward(&x(shape)));
        assert!(message(&[3]).starts_with("BatchNorm1d(3) cannot take an input of shape [3]\n"));
        assert!(message(&[2, 4]).ends_with("Its second dimension must be 3"));
        assert!(message(&[1, 3]).ends_with("use a larger batch, or call model.eval()"));
        let norm = BatchNorm2d::new(3);
        let message = message_of(|| norm.forward(&x(&[2, 3])));
        assert!(
            message.contains("(batch, channels, height, width)"),
            "{message}"
        );
        assert!(attempt(|| BatchNorm2d::new(0)).is_err());
    }

    #[test]
    fn an_empty_batch_stays_empty_in_evaluation() {
        let norm = BatchNorm1d::new(3);
        norm.set_training(false);
        let x = zeros((0, 3));
        assert_eq!(norm.forward(&x).dims(), [0, 3]);
    }
}
