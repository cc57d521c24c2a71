//! The decoder of a transformer.

use crate::erased::Erased;
use crate::nn::layers::transformer::{Activation, Block, transformer_layer, transformer_stack};
use crate::nn::{Layer, LayerNorm, Parameters};
use crate::ops::AttentionMask;
use crate::tensor::Tensor;

transformer_layer! {
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
    TransformerDecoderLayer, true
}

impl TransformerDecoderLayer {
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
        self.block.forward(x, mask, Some((memory, memory_mask)))
    }
}

transformer_stack! {
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
    TransformerDecoder of TransformerDecoderLayer;
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
    forward(memory: &Tensor, mask: &AttentionMask, memory_mask: &AttentionMask)
}
