//! What the encoder and the decoder of a transformer share.

use crate::nn::{
    Dropout, GELU, Layer, LayerNorm, Linear, MultiheadAttention, Parameters, ParametersExt, ReLU,
    check,
};
use crate::ops::AttentionMask;
use crate::tensor::Tensor;
use std::iter;

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
struct FeedForward {
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    activation: &'static str,
}

impl FeedForward {
    #[track_caller]
    fn new(d_model: usize, hidden: usize, p: f64) -> Self {
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
    fn set_hidden(&mut self, hidden: usize) {
        let d_model = self.linear1.parameter("weight").size(1).unwrap_or(0);
        let biased = self.linear1.named_parameters().len() == 2;
        let new = Self::new(d_model, hidden, 0.0);
        (self.linear1, self.linear2) = (new.linear1, new.linear2);
        self.set_bias(biased);
    }

    #[track_caller]
    fn set_bias(&mut self, bias: bool) {
        self.linear1.set_bias(bias);
        self.linear2.set_bias(bias);
    }

    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
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

/// A layer of an encoder or, with the parts that are options, of a decoder.
#[derive(Parameters)]
pub(super) struct Block {
    self_attn: MultiheadAttention,
    multihead_attn: Option<MultiheadAttention>,
    #[parameters(flatten)]
    feed_forward: FeedForward,
    norm1: LayerNorm,
    norm2: LayerNorm,
    norm3: Option<LayerNorm>,
    dropout1: Dropout,
    dropout2: Dropout,
    dropout3: Option<Dropout>,
    pub(super) norm_first: bool,
}

impl Block {
    #[track_caller]
    pub(super) fn new(d_model: usize, nhead: usize, is_decoder: bool) -> Self {
        let self_attn = MultiheadAttention::new(d_model, nhead).dropout(0.1);
        let multihead_attn = match is_decoder {
            true => Some(MultiheadAttention::new(d_model, nhead).dropout(0.1)),
            false => None,
        };
        Self {
            self_attn,
            multihead_attn,
            feed_forward: FeedForward::new(d_model, 2048, 0.1),
            norm1: LayerNorm::new(d_model),
            norm2: LayerNorm::new(d_model),
            norm3: is_decoder.then(|| LayerNorm::new(d_model)),
            dropout1: Dropout::new(0.1),
            dropout2: Dropout::new(0.1),
            dropout3: is_decoder.then(|| Dropout::new(0.1)),
            norm_first: false,
        }
    }

    fn attentions(&mut self) -> impl Iterator<Item = &mut MultiheadAttention> {
        iter::once(&mut self.self_attn).chain(&mut self.multihead_attn)
    }

    #[track_caller]
    pub(super) fn set_hidden(&mut self, hidden: usize) {
        self.feed_forward.set_hidden(hidden);
    }

    #[track_caller]
    pub(super) fn set_dropout(&mut self, p: f64) {
        let dropout = Dropout::new(p);
        self.dropout3 = self.dropout3.is_some().then(|| dropout.clone());
        (self.dropout1, self.dropout2) = (dropout.clone(), dropout.clone());
        self.feed_forward.dropout = dropout;
        self.attentions().for_each(|it| it.set_dropout(p));
    }

    pub(super) fn set_activation(&mut self, activation: Activation) {
        self.feed_forward.activation = activation.0;
    }

    pub(super) fn set_batch_first(&mut self, batch_first: bool) {
        self.attentions()
            .for_each(|it| it.set_batch_first(batch_first));
    }

    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool) {
        self.feed_forward.set_bias(bias);
        self.attentions().for_each(|it| it.set_bias(bias));
        let norms = [&mut self.norm1, &mut self.norm2];
        for norm in norms.into_iter().chain(&mut self.norm3) {
            norm.set_bias(bias);
        }
    }

    /// Returns the features of all steps. A decoder has the output of the encoder, with its mask.
    #[track_caller]
    pub(super) fn forward(
        &self,
        x: &Tensor,
        mask: &AttentionMask,
        memory: Option<(&Tensor, &AttentionMask)>,
    ) -> Tensor {
        let own = &self.self_attn;
        let x = &own.visible(x, x, mask);
        let x = residual!(self, norm1, dropout1, x, |x| own.forward(x, x, x, mask));
        let (Some(cross), Some((memory, mask))) = (&self.multihead_attn, memory) else {
            return residual!(self, norm2, dropout2, &x, |x| self.feed_forward.forward(x));
        };
        let x = residual!(self, norm2, dropout2, &x, |x| {
            cross.forward(x, memory, memory, mask)
        });
        residual!(self, norm3, dropout3, &x, |x| self.feed_forward.forward(x))
    }
}

/// Defines a layer: its name, and whether it is one of a decoder.
macro_rules! transformer_layer {
    ($(#[$doc:meta])* $name:ident, $is_decoder:literal) => {
        $(#[$doc])*
        #[derive(Parameters)]
        pub struct $name {
            #[parameters(flatten)]
            block: Erased<Block>,
        }

        impl $name {
            /// Creates a layer for `d_model` features with `nhead` heads, on the default device.
            ///
            /// # Panics
            /// If one of them is 0, or `nhead` does not divide `d_model`.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2);")]
            /// assert_eq!(layer.parameter("linear1.weight").shape().dims(), [2048, 8]);
            /// ```
            #[track_caller]
            pub fn new(d_model: usize, nhead: usize) -> Self {
                let block = Block::new(d_model, nhead, $is_decoder).into();
                Self { block }
            }

            setters! {
                /// Sets whether the layer takes and returns `(batch, steps, d_model)` instead of `(steps, batch, d_model)`;
                /// `false` by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2).batch_first(true);")]
                /// assert!(layer.describe().contains("batch_first=true"));
                /// ```
                pub fn batch_first(self, batch_first: bool): self.block.set_batch_first(batch_first);

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
                pub fn dim_feedforward(self, dim_feedforward: usize): self.block.set_hidden(dim_feedforward);

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
                pub fn dropout(self, p: f64): self.block.set_dropout(p);

                /// Sets the activation function of the feed-forward network: `ReLU`, as by default, or `GELU`.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2).activation(GELU);")]
                /// assert!(layer.describe().contains("activation=\"gelu\""));
                /// ```
                pub fn activation(self, activation: impl Into<Activation>): self.block.set_activation(activation.into());

                /// Sets whether the input of each part is normalised (pre-norm) instead of the sum of the part's input
                /// and output (post-norm, the default). Deep transformers are easier to train this way.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(8, 2).norm_first(true);")]
                /// assert!(layer.describe().contains("norm_first=true"));
                /// ```
                pub fn norm_first(self, norm_first: bool): self.block.norm_first = norm_first;

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
                pub fn bias(self, bias: bool): self.block.set_bias(bias);
            }
        }
    };
}

pub(super) use transformer_layer;

/// Defines a stack of layers: its name, theirs, and what the forward pass of each takes besides its input.
macro_rules! transformer_stack {
    ($(#[$doc:meta])* $name:ident of $layer:ident; $(#[$forward:meta])* forward($($arg:ident: $type:ty),*)) => {
        $(#[$doc])*
        #[derive(Parameters)]
        pub struct $name {
            layers: Erased<Vec<$layer>>,
            norm: Erased<Option<LayerNorm>>,
        }

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

            $(#[$forward])*
            #[track_caller]
            pub fn forward(&self, x: &Tensor, $($arg: $type),*) -> Tensor {
                let mut x = x.clone();
                for layer in self.layers.iter() {
                    x = layer.forward(&x, $($arg),*);
                }
                self.norm.forward(&x)
            }
        }
    };
}

pub(super) use transformer_stack;
