//! What the encoder and the decoder of a transformer share.

use crate::nn::{Dropout, Layer, LayerNorm, Linear, Parameters, ParametersExt, check};
use crate::ops;
use candle_core::{Result, Tensor};

/// The feed-forward network of a transformer layer: two linear layers, applied to each step separately.
#[derive(Parameters)]
pub(super) struct FeedForward {
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    activation: &'static str,
}

impl FeedForward {
    pub(super) fn new(d_model: usize, hidden: usize, p: f64) -> Result<Self> {
        check::positive("Transformer", &[("dim_feedforward", hidden)])?;
        Ok(Self {
            linear1: Linear::new(d_model, hidden)?,
            dropout: Dropout::new(p)?,
            linear2: Linear::new(hidden, d_model)?,
            activation: "relu",
        })
    }

    /// Sets the number of hidden units, and initialises the weights again.
    pub(super) fn hidden(&mut self, hidden: usize) -> Result<()> {
        let d_model = self.linear2.parameter("bias")?.shape()?.elem_count();
        let activation = self.activation;
        let dropout = self.dropout.clone();
        *self = Self {
            dropout,
            activation,
            ..Self::new(d_model, hidden, 0.0)?
        };
        Ok(())
    }

    pub(super) fn gelu(&mut self) {
        self.activation = "gelu";
    }

    pub(super) fn set_dropout(&mut self, p: f64) -> Result<()> {
        self.dropout = Dropout::new(p)?;
        Ok(())
    }

    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = self.linear1.forward(x)?;
        let x = match self.activation {
            "gelu" => ops::gelu(&x)?,
            _ => ops::relu(&x)?,
        };
        self.linear2.forward(&self.dropout.forward(&x)?)
    }
}

/// A residual connection: `x` plus what `part` computes from it. The normalisation comes before `part`, or
/// after the sum.
pub(super) fn residual(
    x: &Tensor,
    norm: &LayerNorm,
    dropout: &Dropout,
    norm_first: bool,
    part: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    match norm_first {
        true => x + dropout.forward(&part(&norm.forward(x)?)?)?,
        false => norm.forward(&(x + dropout.forward(&part(x)?)?)?),
    }
}

/// Implements the settings of a layer with the fields `feed_forward` and `norm_first`, and a method
/// `set_dropout` for its other parts.
macro_rules! transformer_settings {
    ($name:ident) => {
        impl $name {
            /// Sets the number of hidden units of the feed-forward network; 2048 by default. Its weights
            /// are initialised again.
            ///
            /// # Errors
            /// If `dim_feedforward` is 0.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2)?.dim_feedforward(32)?;")]
            /// assert_eq!(layer.parameter("linear1.weight")?.size(0), Some(32));
            /// # Ok::<(), Error>(())
            /// ```
            pub fn dim_feedforward(mut self, dim_feedforward: usize) -> Result<Self> {
                self.feed_forward.hidden(dim_feedforward)?;
                Ok(self)
            }

            /// Sets the probability of all dropouts; 0.1 by default.
            ///
            /// # Errors
            /// If `p` is not between 0 and 1.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert!(", stringify!($name), "::new(8, 2)?.dropout(0.0).is_ok());")]
            /// # Ok::<(), Error>(())
            /// ```
            pub fn dropout(mut self, p: f64) -> Result<Self> {
                self.feed_forward.set_dropout(p)?;
                self.set_dropout(p)?;
                Ok(self)
            }

            /// Uses GELU instead of ReLU.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2)?.gelu();")]
            /// assert!(layer.describe().contains("activation=\"gelu\""));
            /// # Ok::<(), Error>(())
            /// ```
            pub fn gelu(mut self) -> Self {
                self.feed_forward.gelu();
                self
            }

            /// Normalises the input of each part (pre-norm) instead of the sum of the part's input and
            /// output (post-norm). Deep transformers are easier to train this way.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2)?.norm_first();")]
            /// assert!(layer.describe().contains("norm_first=true"));
            /// # Ok::<(), Error>(())
            /// ```
            pub fn norm_first(mut self) -> Self {
                self.norm_first = true;
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
            /// # Errors
            /// Those of `layer`.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let stack = ", stringify!($name), "::new(2, || ", stringify!($layer), "::new(8, 2))?;")]
            /// assert!(stack.parameter("layers.1.self_attn.in_proj_weight").is_ok());
            /// # Ok::<(), Error>(())
            /// ```
            pub fn new(num_layers: usize, layer: impl Fn() -> Result<$layer>) -> Result<Self> {
                let layers = (0..num_layers).map(|_| layer()).collect::<Result<_>>()?;
                Ok(Self { layers, norm: None })
            }

            /// Adds a normalisation of the output, which layers with
            #[doc = concat!("[`norm_first`](", stringify!($layer), "::norm_first) need.")]
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = || Ok(", stringify!($layer), "::new(8, 2)?.norm_first());")]
            #[doc = concat!("let stack = ", stringify!($name), "::new(2, layer)?.norm(LayerNorm::new(8)?);")]
            /// assert!(stack.parameter("norm.weight").is_ok());
            /// # Ok::<(), Error>(())
            /// ```
            pub fn norm(mut self, norm: LayerNorm) -> Self {
                self.norm = Some(norm);
                self
            }

            fn normalized(&self, x: Tensor) -> Result<Tensor> {
                match &self.norm {
                    Some(norm) => norm.forward(&x),
                    None => Ok(x),
                }
            }
        }
    };
}

pub(super) use transformer_stack;
