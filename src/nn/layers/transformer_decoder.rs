//! The decoder of a transformer.

use crate::erased::Erased;
use crate::nn::layers::transformer::{
    Activation, FeedForward, residual, transformer_settings, transformer_stack,
};
use crate::nn::{Dropout, Layer, LayerNorm, MultiheadAttention, Parameters};
use crate::ops::AttentionMask;
use crate::tensor::Tensor;

/// A layer of a transformer that generates a sequence from another: self-attention, attention to the
/// encoder's output, then a feed-forward network for each step, each added to its input and normalised.
///
/// Names and defaults are those of PyTorch. From Vaswani et al., 2017, and d2l's chapter *The Transformer
/// Architecture*.
///
/// # Shapes
/// `(steps, batch, d_model)`, and the encoder's output, `memory`, `(source_steps, batch, d_model)`, to
/// `(steps, batch, d_model)`; with [`batch_first`](Self::batch_first), the batch comes first.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = TransformerDecoderLayer::new(8, 2).batch_first(true);
/// let (x, memory) = (randn((4, 5, 8)), randn((4, 10, 8)));
/// let y = layer.forward(&x, &memory, &AttentionMask::causal(), &AttentionMask::none()); // (4, 5, 8)
/// assert_eq!(y.dims(), [4, 5, 8]);
/// ```
#[derive(Parameters)]
pub struct TransformerDecoderLayer {
    self_attn: Erased<MultiheadAttention>,
    multihead_attn: Erased<MultiheadAttention>,
    #[parameters(flatten)]
    feed_forward: Erased<FeedForward>,
    norm1: Erased<LayerNorm>,
    norm2: Erased<LayerNorm>,
    norm3: Erased<LayerNorm>,
    dropout1: Dropout,
    dropout2: Dropout,
    dropout3: Dropout,
    norm_first: bool,
}

transformer_settings!(TransformerDecoderLayer);

impl TransformerDecoderLayer {
    /// Creates a layer for `d_model` features with `nhead` heads, on the default device.
    ///
    /// # Panics
    /// If one of them is 0, or `nhead` does not divide `d_model`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = TransformerDecoderLayer::new(8, 2);
    /// assert_eq!(layer.parameter("multihead_attn.in_proj_weight").shape().dims(), [24, 8]);
    /// ```
    #[track_caller]
    pub fn new(d_model: usize, nhead: usize) -> Self {
        Self {
            self_attn: MultiheadAttention::new(d_model, nhead).dropout(0.1).into(),
            multihead_attn: MultiheadAttention::new(d_model, nhead).dropout(0.1).into(),
            feed_forward: FeedForward::new(d_model, 2048, 0.1).into(),
            norm1: LayerNorm::new(d_model).into(),
            norm2: LayerNorm::new(d_model).into(),
            norm3: LayerNorm::new(d_model).into(),
            dropout1: Dropout::new(0.1),
            dropout2: Dropout::new(0.1),
            dropout3: Dropout::new(0.1),
            norm_first: false,
        }
    }

    /// Sets whether the layer takes and returns `(batch, steps, d_model)` instead of `(steps, batch, d_model)`;
    /// `false` by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = TransformerDecoderLayer::new(8, 2).batch_first(true);
    /// assert!(layer.describe().contains("batch_first=true"));
    /// ```
    pub fn batch_first(mut self, batch_first: bool) -> Self {
        self.self_attn.set_batch_first(batch_first);
        self.multihead_attn.set_batch_first(batch_first);
        self
    }

    #[track_caller]
    fn set_bias(&mut self, bias: bool) {
        self.self_attn.set_bias(bias);
        self.multihead_attn.set_bias(bias);
        for norm in [&mut self.norm1, &mut self.norm2, &mut self.norm3] {
            norm.set_bias(bias);
        }
    }

    #[track_caller]
    fn set_dropout(&mut self, p: f64) {
        self.self_attn.set_dropout(p);
        self.multihead_attn.set_dropout(p);
        self.dropout1 = Dropout::new(p);
        self.dropout2 = Dropout::new(p);
        self.dropout3 = Dropout::new(p);
    }

    /// Returns the features of all steps. `mask` masks the self-attention and is usually causal;
    /// `memory_mask` masks the attention to the encoder's output.
    ///
    /// # Panics
    /// If the shapes of the inputs or the masks do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = TransformerDecoderLayer::new(8, 2);
    /// let (x, memory) = (randn((5, 2, 8)), randn((10, 2, 8))); // (steps, batch, features)
    /// let padding = AttentionMask::none().lengths(&tensor(&[10, 3]), 10);
    /// assert_eq!(layer.forward(&x, &memory, &AttentionMask::causal(), &padding).dims(), [5, 2, 8]);
    /// ```
    #[track_caller]
    pub fn forward(
        &self,
        x: &Tensor,
        memory: &Tensor,
        mask: &AttentionMask,
        memory_mask: &AttentionMask,
    ) -> Tensor {
        let (own, cross) = (&self.self_attn, &self.multihead_attn);
        let x = &own.visible(x, x, mask);
        let x = residual!(self, norm1, dropout1, x, |x| own.forward(x, x, x, mask));
        let x = residual!(self, norm2, dropout2, &x, |x| {
            cross.forward(x, memory, memory, memory_mask)
        });
        residual!(self, norm3, dropout3, &x, |x| self.feed_forward.forward(x))
    }
}

/// Decoder layers of a transformer, one after the other; each reads the encoder's output.
///
/// # Shapes
/// As for [`TransformerDecoderLayer`].
///
/// ```
/// use taper::prelude::*;
///
/// let layer = || TransformerDecoderLayer::new(8, 2).dim_feedforward(32).batch_first(true);
/// let decoder = TransformerDecoder::new(3, layer);
/// let (x, memory) = (randn((4, 5, 8)), randn((4, 10, 8)));
/// let y = decoder.forward(&x, &memory, &AttentionMask::causal(), &AttentionMask::none()); // (4, 5, 8)
/// assert_eq!(y.dims(), [4, 5, 8]);
/// ```
#[derive(Parameters)]
pub struct TransformerDecoder {
    layers: Erased<Vec<TransformerDecoderLayer>>,
    norm: Erased<Option<LayerNorm>>,
}

transformer_stack!(TransformerDecoder, TransformerDecoderLayer);

impl TransformerDecoder {
    /// Returns the features of all steps after the last layer. Every layer uses the same masks.
    ///
    /// # Panics
    /// If the shapes of the inputs or the masks do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let decoder = TransformerDecoder::new(2, || TransformerDecoderLayer::new(8, 2));
    /// let (x, memory) = (randn((5, 2, 8)), randn((10, 2, 8))); // (steps, batch, features)
    /// let y = decoder.forward(&x, &memory, &AttentionMask::causal(), &AttentionMask::none());
    /// assert_eq!(y.dims(), [5, 2, 8]);
    /// ```
    #[track_caller]
    pub fn forward(
        &self,
        x: &Tensor,
        memory: &Tensor,
        mask: &AttentionMask,
        memory_mask: &AttentionMask,
    ) -> Tensor {
        let mut x = x.clone();
        for layer in self.layers.iter() {
            x = layer.forward(&x, memory, mask, memory_mask);
        }
        self.normalized(x)
    }
}
