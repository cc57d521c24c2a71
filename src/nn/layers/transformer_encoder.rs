//! The encoder of a transformer.

use crate::erased::Erased;
use crate::nn::layer::boxed_here;
use crate::nn::layers::transformer::{
    Activation, FeedForward, residual, transformer_settings, transformer_stack,
};
use crate::nn::{Dropout, Layer, LayerNorm, MultiheadAttention, Parameters};
use crate::ops::AttentionMask;
use crate::tensor::Tensor;

/// A layer of a transformer: self-attention, then a feed-forward network for each step, each added to its
/// input and normalised.
///
/// With [`AttentionMask::causal`] it is a layer of a GPT. Names and defaults are those of PyTorch. From
/// Vaswani et al., 2017, and d2l's chapter *The Transformer Architecture*.
///
/// # Shapes
/// `(steps, batch, d_model)`, or with [`batch_first`](Self::batch_first) `(batch, steps, d_model)`; the
/// output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = TransformerEncoderLayer::new(8, 2).batch_first(true);
/// let x = randn((4, 10, 8)); // (batch, steps, features)
/// let y = layer.forward(&x, &AttentionMask::causal()); // (4, 10, 8)
/// assert_eq!(y.dims(), [4, 10, 8]);
/// ```
#[derive(Parameters)]
pub struct TransformerEncoderLayer {
    self_attn: Erased<MultiheadAttention>,
    #[parameters(flatten)]
    feed_forward: Erased<FeedForward>,
    norm1: Erased<LayerNorm>,
    norm2: Erased<LayerNorm>,
    dropout1: Dropout,
    dropout2: Dropout,
    norm_first: bool,
}

transformer_settings!(TransformerEncoderLayer);

impl TransformerEncoderLayer {
    /// Creates a layer for `d_model` features with `nhead` heads, on the default device.
    ///
    /// # Panics
    /// If one of them is 0, or `nhead` does not divide `d_model`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = TransformerEncoderLayer::new(8, 2);
    /// assert_eq!(layer.parameter("linear1.weight").shape().dims(), [2048, 8]);
    /// ```
    #[track_caller]
    pub fn new(d_model: usize, nhead: usize) -> Self {
        Self {
            self_attn: MultiheadAttention::new(d_model, nhead).dropout(0.1).into(),
            feed_forward: FeedForward::new(d_model, 2048, 0.1).into(),
            norm1: LayerNorm::new(d_model).into(),
            norm2: LayerNorm::new(d_model).into(),
            dropout1: Dropout::new(0.1),
            dropout2: Dropout::new(0.1),
            norm_first: false,
        }
    }

    setters! {
        /// Sets whether the layer takes and returns `(batch, steps, d_model)` instead of `(steps, batch, d_model)`;
        /// `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let layer = TransformerEncoderLayer::new(8, 2).batch_first(true);
        /// assert!(layer.describe().contains("batch_first=true"));
        /// ```
        pub fn batch_first(self, batch_first: bool): self.self_attn.set_batch_first(batch_first);
    }

    #[track_caller]
    fn set_bias(&mut self, bias: bool) {
        self.self_attn.set_bias(bias);
        for norm in [&mut self.norm1, &mut self.norm2] {
            norm.set_bias(bias);
        }
    }

    #[track_caller]
    fn set_dropout(&mut self, p: f64) {
        self.self_attn.set_dropout(p);
        self.dropout1 = Dropout::new(p);
        self.dropout2 = Dropout::new(p);
    }

    /// Returns the features of all steps; each step attends to those that the mask allows.
    ///
    /// # Panics
    /// If the shapes of the input or the mask do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = TransformerEncoderLayer::new(8, 2);
    /// let x = randn((10, 4, 8)); // (steps, batch, features)
    /// let mask = AttentionMask::none().lengths(&tensor(&[10, 3, 5, 1]), 10);
    /// assert_eq!(layer.forward(&x, &mask).dims(), [10, 4, 8]);
    /// ```
    #[track_caller]
    pub fn forward(&self, x: &Tensor, mask: &AttentionMask) -> Tensor {
        let attention = &self.self_attn;
        let x = &attention.visible(x, x, mask);
        let x = residual!(self, norm1, dropout1, x, |x| attention
            .forward(x, x, x, mask));
        residual!(self, norm2, dropout2, &x, |x| self.feed_forward.forward(x))
    }
}

impl Layer for TransformerEncoderLayer {
    boxed_here!();

    /// Computes the layer without a mask.
    fn forward(&self, input: &Tensor) -> Tensor {
        self.forward(input, &AttentionMask::none())
    }
}

/// Layers of a transformer, one after the other.
///
/// # Shapes
/// As for [`TransformerEncoderLayer`].
///
/// ```
/// use taper::prelude::*;
///
/// let layer = || TransformerEncoderLayer::new(8, 2).dim_feedforward(32).batch_first(true);
/// let encoder = TransformerEncoder::new(3, layer);
/// let y = encoder.forward(&randn((4, 10, 8)), &AttentionMask::none()); // (4, 10, 8)
/// assert_eq!(encoder.parameter("layers.2.norm1.weight").size(0), Some(8));
/// ```
#[derive(Parameters)]
pub struct TransformerEncoder {
    layers: Erased<Vec<TransformerEncoderLayer>>,
    norm: Erased<Option<LayerNorm>>,
}

transformer_stack!(TransformerEncoder, TransformerEncoderLayer);

impl TransformerEncoder {
    /// Returns the features of all steps after the last layer. Every layer uses the same mask.
    ///
    /// # Panics
    /// If the shapes of the input or the mask do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let encoder = TransformerEncoder::new(2, || TransformerEncoderLayer::new(8, 2));
    /// let y = encoder.forward(&randn((10, 4, 8)), &AttentionMask::causal()); // (10, 4, 8)
    /// assert_eq!(y.dims(), [10, 4, 8]);
    /// ```
    #[track_caller]
    pub fn forward(&self, x: &Tensor, mask: &AttentionMask) -> Tensor {
        let mut x = x.clone();
        for layer in self.layers.iter() {
            x = layer.forward(&x, mask);
        }
        self.normalized(x)
    }
}

impl Layer for TransformerEncoder {
    boxed_here!();

    /// Computes the layers without a mask.
    fn forward(&self, input: &Tensor) -> Tensor {
        self.forward(input, &AttentionMask::none())
    }
}
