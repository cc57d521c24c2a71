//! The encoder of a transformer.

use crate::erased::Erased;
use crate::nn::layer::boxed_here;
use crate::nn::layers::transformer::{Activation, Block, transformer_layer, transformer_stack};
use crate::nn::{Layer, LayerNorm, Parameters};
use crate::ops::AttentionMask;
use crate::tensor::Tensor;

transformer_layer! {
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
    TransformerEncoderLayer, false
}

impl TransformerEncoderLayer {
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
        self.block.forward(x, mask, None)
    }
}

impl Layer for TransformerEncoderLayer {
    boxed_here!();

    /// Computes the layer without a mask.
    fn forward(&self, input: &Tensor) -> Tensor {
        self.forward(input, &AttentionMask::none())
    }
}

transformer_stack! {
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
    TransformerEncoder of TransformerEncoderLayer;
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
    forward(mask: &AttentionMask)
}

impl Layer for TransformerEncoder {
    boxed_here!();

    /// Computes the layers without a mask.
    fn forward(&self, input: &Tensor) -> Tensor {
        self.forward(input, &AttentionMask::none())
    }
}
