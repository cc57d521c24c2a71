//! A transformer from sequence to sequence.

use crate::erased::Erased;
use crate::nn::{Parameters, TransformerDecoder, TransformerEncoder};
use crate::ops::AttentionMask;
use crate::tensor::Tensor;

/// A transformer that generates a sequence from another: the [`TransformerEncoder`] reads the source, and the
/// [`TransformerDecoder`] the target and what the encoder returns. Both usually have a last
/// [`norm`](TransformerEncoder::norm), as in PyTorch.
///
/// From Vaswani et al., 2017.
///
/// # Shapes
/// The same as for [`TransformerDecoderLayer`](crate::nn::TransformerDecoderLayer).
///
/// ```
/// use taper::prelude::*;
///
/// let encoder = TransformerEncoder::new(2, || TransformerEncoderLayer::new(8, 2).batch_first(true));
/// let decoder = TransformerDecoder::new(2, || TransformerDecoderLayer::new(8, 2).batch_first(true));
/// let model = Transformer::new(encoder.norm(LayerNorm::new(8)), decoder.norm(LayerNorm::new(8)));
/// let (source, target) = (randn((4, 10, 8)), randn((4, 5, 8))); // (batch, steps, features)
/// let padding = AttentionMask::none().lengths(&tensor(&[10, 3, 7, 10]), 10);
/// let y = model.forward(&source, &target, &padding, &AttentionMask::causal(), &padding); // (4, 5, 8)
/// assert_eq!(y.dims(), [4, 5, 8]);
/// ```
#[derive(Parameters)]
pub struct Transformer {
    encoder: Erased<TransformerEncoder>,
    decoder: Erased<TransformerDecoder>,
}

impl Transformer {
    /// Creates a transformer of an encoder and a decoder with as many features.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let encoder = TransformerEncoder::new(1, || TransformerEncoderLayer::new(8, 2));
    /// let decoder = TransformerDecoder::new(1, || TransformerDecoderLayer::new(8, 2));
    /// let model = Transformer::new(encoder, decoder);
    /// model.init_weights(Init::XavierUniform); // as PyTorch's nn.Transformer
    /// ```
    pub fn new(encoder: TransformerEncoder, decoder: TransformerDecoder) -> Self {
        Self {
            encoder: encoder.into(),
            decoder: decoder.into(),
        }
    }

    /// Returns the features of all steps of the target. `source_mask` masks the source in the encoder, `target_mask` the
    /// target, which is usually causal, and `memory_mask` the decoder's attention to the source.
    ///
    /// # Panics
    /// If the shapes of the inputs or the masks do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let encoder = TransformerEncoder::new(1, || TransformerEncoderLayer::new(8, 2));
    /// let decoder = TransformerDecoder::new(1, || TransformerDecoderLayer::new(8, 2));
    /// let model = Transformer::new(encoder, decoder);
    /// let (source, target) = (randn((10, 2, 8)), randn((5, 2, 8))); // (steps, batch, features)
    /// let (none, causal) = (AttentionMask::none(), AttentionMask::causal());
    /// let y = model.forward(&source, &target, &none, &causal, &none); // (5, 2, 8)
    /// assert_eq!(y.dims(), [5, 2, 8]);
    /// ```
    #[track_caller]
    pub fn forward(
        &self,
        source: &Tensor,
        target: &Tensor,
        source_mask: &AttentionMask,
        target_mask: &AttentionMask,
        memory_mask: &AttentionMask,
    ) -> Tensor {
        let memory = self.encoder.forward(source, source_mask);
        self.decoder
            .forward(target, &memory, target_mask, memory_mask)
    }
}
