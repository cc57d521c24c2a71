//! What the encoder and the decoder of a transformer share.

use crate::nn::{Dropout, GELU, Layer, Linear, Parameters, ParametersExt, ReLU, check};
use crate::tensor::Tensor;

/// The activation function of a transformer layer, [`ReLU`] or [`GELU`].
///
/// ```
/// use taper::nn::Activation;
/// use taper::prelude::*;
///
/// let activation: Activation = GELU.into();
/// let layer = TransformerEncoderLayer::new(8, 2).activation(activation);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activation(&'static str);

impl From<ReLU> for Activation {
    fn from(_: ReLU) -> Self {
        Self("relu")
    }
}

impl From<GELU> for Activation {
    fn from(_: GELU) -> Self {
        Self("gelu")
    }
}

/// The feed-forward network of a transformer layer: two linear layers, applied to each step separately.
#[derive(Parameters)]
pub(super) struct FeedForward {
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    activation: &'static str,
}

impl FeedForward {
    #[track_caller]
    pub(super) fn new(d_model: usize, hidden: usize, p: f64) -> Self {
        check::positive("Transformer", &[("dim_feedforward", hidden)]);
        Self {
            linear1: Linear::new(d_model, hidden),
            dropout: Dropout::new(p),
            linear2: Linear::new(hidden, d_model),
            activation: "relu",
        }
    }

    /// Sets the number of hidden units, and initialises the weights again.
    #[track_caller]
    pub(super) fn hidden(&mut self, hidden: usize) {
        let d_model = self.linear1.parameter("weight").size(1).unwrap_or(0);
        let biased = self.linear1.named_parameters().len() == 2;
        let new = Self::new(d_model, hidden, 0.0);
        (self.linear1, self.linear2) = (new.linear1, new.linear2);
        self.set_bias(biased);
    }

    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool) {
        self.linear1.set_bias(bias);
        self.linear2.set_bias(bias);
    }

    pub(super) fn set_activation(&mut self, activation: Activation) {
        self.activation = activation.0;
    }

    #[track_caller]
    pub(super) fn set_dropout(&mut self, p: f64) {
        self.dropout = Dropout::new(p);
    }

    #[track_caller]
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.linear1.forward(x);
        let x = match self.activation {
            "gelu" => x.gelu(),
            _ => x.relu(),
        };
        self.linear2.forward(&self.dropout.forward(&x))
    }
}

/// A residual connection of a layer: `x` plus what a part of the layer computes from it. The normalisation
/// comes before the part, or after the sum. A function would take the part as a closure, which hides the place
/// of the caller.
macro_rules! residual {
    ($self:ident, $norm:ident, $dropout:ident, $x:expr, |$input:ident| $part:expr) => {{
        let x: &Tensor = $x;
        let $input = &match $self.norm_first {
            true => $self.$norm.forward(x),
            false => x.clone(),
        };
        let sum = x + $self.$dropout.forward(&$part);
        match $self.norm_first {
            true => sum,
            false => $self.$norm.forward(&sum),
        }
    }};
}

pub(super) use residual;

/// Implements the settings of a layer with the fields `feed_forward` and `norm_first`, and a method
/// `set_dropout` for its other parts.
macro_rules! transformer_settings {
    ($name:ident) => {
        impl $name {
            setters! {
                /// Sets the number of hidden units of the feed-forward network; 2048 by default. Its weights
                /// are initialised again.
                ///
                /// # Panics
                /// If `dim_feedforward` is 0.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2).dim_feedforward(32);")]
                /// assert_eq!(layer.parameter("linear1.weight").size(0), Some(32));
                /// ```
                #[track_caller]
                pub fn dim_feedforward(self, dim_feedforward: usize): self.feed_forward.hidden(dim_feedforward);
            }

            /// Sets the probability of all dropouts; 0.1 by default.
            ///
            /// # Panics
            /// If `p` is not between 0 and 1.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2).dropout(0.0);")]
            /// ```
            #[track_caller]
            pub fn dropout(mut self, p: f64) -> Self {
                self.feed_forward.set_dropout(p);
                self.set_dropout(p);
                self
            }

            setters! {
                /// Sets the activation function of the feed-forward network: `ReLU`, as by default, or `GELU`.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2).activation(GELU);")]
                /// assert!(layer.describe().contains("activation=\"gelu\""));
                /// ```
                pub fn activation(self, activation: impl Into<Activation>):
                    self.feed_forward.set_activation(activation.into());

                /// Sets whether the input of each part is normalised (pre-norm) instead of the sum of the part's input
                /// and output (post-norm, the default). Deep transformers are easier to train this way.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2).norm_first(true);")]
                /// assert!(layer.describe().contains("norm_first=true"));
                /// ```
                pub fn norm_first(self, norm_first: bool): self.norm_first = norm_first;
            }

            /// Sets whether all parts have biases, as by default.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2).bias(false);")]
            /// let names = layer.named_parameters();
            /// assert!(names.iter().all(|(name, _)| !name.ends_with("bias")));
            /// ```
            #[track_caller]
            pub fn bias(mut self, bias: bool) -> Self {
                self.feed_forward.set_bias(bias);
                self.set_bias(bias);
                self
            }
        }
    };
}

pub(super) use transformer_settings;

/// Implements the constructor of a stack of layers, and the normalisation of its output.
macro_rules! transformer_stack {
    ($name:ident, $layer:ident) => {
        impl $name {
            /// Creates `num_layers` layers, each by a call of `layer`. Unlike PyTorch's, which are copies of
            /// one layer, they begin with different weights.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let stack = ", stringify!($name), "::new(2, || ", stringify!($layer), "::new(8, 2));")]
            /// assert_eq!(stack.parameter("layers.1.self_attn.in_proj_weight").size(1), Some(8));
            /// ```
            pub fn new(num_layers: usize, layer: impl Fn() -> $layer) -> Self {
                Self::of(num_layers, &layer)
            }

            fn of(num_layers: usize, layer: &dyn Fn() -> $layer) -> Self {
                let layers: Vec<_> = (0..num_layers).map(|_| layer()).collect();
                Self {
                    layers: layers.into(),
                    norm: None.into(),
                }
            }

            setters! {
                /// Adds a normalisation of the output, which layers with
                #[doc = concat!("[`norm_first`](", stringify!($layer), "::norm_first) need.")]
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = || ", stringify!($layer), "::new(8, 2).norm_first(true);")]
                #[doc = concat!("let stack = ", stringify!($name), "::new(2, layer).norm(LayerNorm::new(8));")]
                /// assert_eq!(stack.parameter("norm.weight").size(0), Some(8));
                /// ```
                pub fn norm(self, norm: LayerNorm): *self.norm = Some(norm);
            }

            #[track_caller]
            fn normalized(&self, x: Tensor) -> Tensor {
                match &*self.norm {
                    Some(norm) => norm.forward(&x),
                    None => x,
                }
            }
        }
    };
}

pub(super) use transformer_stack;
