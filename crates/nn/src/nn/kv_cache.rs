//! The keys and values of earlier steps.

use crate::erased::Erased;
use crate::error::{OrRaise, Result, refuse};
use crate::nn::Layer;
use crate::tensor::{self, SharedCache, Tensor, no_grad};
use std::fmt;

/// The keys and values that the attention layers of a model have computed for the steps of a sequence, so that the
/// model computes only the new steps.
///
/// Layers with causal attention ([`MultiheadAttention`](crate::nn::MultiheadAttention) and what is made of it,
/// [`GroupedQueryAttention`](crate::nn::GroupedQueryAttention)) fill it, and layers with positions count from its steps.
/// The model needs no code for it. All other layers must compute each step by itself.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Gpt { tokens: Embedding, blocks: TransformerEncoder }
///
/// impl Layer for Gpt {
///     fn forward(&self, x: &Tensor) -> Tensor {
///         self.blocks.forward(&self.tokens.forward(x), &AttentionMask::causal())
///     }
/// }
///
/// let block = || TransformerEncoderLayer::new(8, 2).batch_first(true).dropout(0.0);
/// let gpt = Gpt { tokens: Embedding::new(10, 8), blocks: TransformerEncoder::new(2, block) };
/// let all = gpt.forward(&tensor(&[[3, 1, 4, 1]])); // (1, 4, 8)
///
/// let mut cache = KvCache::new();
/// cache.forward(&gpt, &tensor(&[[3, 1, 4]])); // (1, 3, 8)
/// let last = cache.forward(&gpt, &tensor(&[[1]])); // (1, 1, 8): the model computes one step
/// let difference = (last - all.narrow(1, 3, 1)).abs().max_all().item();
/// assert!(difference < 1e-5 && cache.steps() == 4);
/// ```
#[derive(Default)]
pub struct KvCache {
    shared: Erased<SharedCache>,
}

impl KvCache {
    /// Creates an empty cache.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(KvCache::new().steps(), 0);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the model's output for the new steps of the sequence, and adds their keys and values. No operation is
    /// recorded for gradients.
    ///
    /// # Panics
    /// If the model panics, or cannot continue a sequence, because it has no attention layer, or has an attention layer
    /// whose output depends on more than the earlier steps.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = attempt(|| KvCache::new().forward(&Embedding::new(10, 8), &tensor(&[[3]]))).unwrap_err();
    /// assert!(error.to_string().starts_with("KvCache: "));
    /// ```
    #[track_caller]
    pub fn forward(&mut self, model: &dyn Layer, input: &Tensor) -> Tensor {
        self.continued(model, input).or_raise()
    }

    /// Returns the output as [`forward`](Self::forward) does, or an error if the model cannot continue a sequence.
    #[doc(hidden)]
    pub fn continued(&mut self, model: &dyn Layer, input: &Tensor) -> Result<Tensor> {
        tensor::lock(&self.shared).begin();
        let shared = (*self.shared).clone();
        let output = tensor::with_cache(shared, || no_grad(|| model.forward(input)));
        match tensor::lock(&self.shared).end() {
            None => Ok(output),
            Some(reason) => refuse!(
                "KvCache: the model cannot continue a sequence: {reason}";
                "Call the model with all steps; a KvCache needs layers with causal attention"),
        }
    }

    /// Returns the number of steps that the model has seen.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut cache = KvCache::new();
    /// cache.forward(&GroupedQueryAttention::new(8, 2, 1), &randn((1, 5, 8)));
    /// assert_eq!(cache.steps(), 5);
    /// ```
    pub fn steps(&self) -> usize {
        tensor::lock(&self.shared).steps()
    }

    /// Returns the number of bytes of the keys and values, and of the memory that is reserved for further ones.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut cache = KvCache::new();
    /// cache.forward(&GroupedQueryAttention::new(8, 2, 1), &randn((1, 5, 8)));
    /// assert_eq!(cache.bytes(), 2 * 4 * 64 * 4); // keys and values, 4 features, 64 steps, f32
    /// ```
    pub fn bytes(&self) -> usize {
        tensor::lock(&self.shared).bytes()
    }

    /// Forgets all steps but the first ones.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (mut cache, attention, x) = (KvCache::new(), GroupedQueryAttention::new(8, 2, 1), randn((1, 5, 8)));
    /// let y = cache.forward(&attention, &x); // (1, 5, 8)
    /// cache.truncate(4);
    /// let last = cache.forward(&attention, &x.narrow(1, 4, 1)); // (1, 1, 8)
    /// assert!((last - y.narrow(1, 4, 1)).abs().max_all().item() < 1e-6);
    /// ```
    pub fn truncate(&mut self, steps: usize) {
        tensor::lock(&self.shared).truncate(steps);
    }

    /// Forgets all steps, so that another sequence can begin.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut cache = KvCache::new();
    /// cache.forward(&GroupedQueryAttention::new(8, 2, 1), &randn((1, 5, 8)));
    /// cache.clear();
    /// assert_eq!(cache.steps(), 0);
    /// ```
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Replaces the batch by some of its sequences, in another order or several times, as beam search does.
    ///
    /// # Panics
    /// If an index is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut cache = KvCache::new();
    /// let attention = GroupedQueryAttention::new(8, 2, 1);
    /// cache.forward(&attention, &randn((1, 5, 8)));
    /// cache.select(&[0, 0, 0]);
    /// assert_eq!(cache.forward(&attention, &randn((3, 1, 8))).dims(), [3, 1, 8]);
    /// ```
    #[track_caller]
    pub fn select(&mut self, sequences: &[u32]) {
        tensor::lock(&self.shared).select(sequences).or_raise();
    }
}

impl fmt::Debug for KvCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KvCache({} steps, {} bytes)", self.steps(), self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::*;
    use crate::ops::AttentionMask;
    use crate::tensor::{randn, zeros};
    use taper_macros::Parameters;

    /// A stack with sines of the positions.
    #[derive(Parameters)]
    struct Stack {
        positions: PositionalEncoding,
        blocks: TransformerEncoder,
        is_causal: bool,
    }

    impl Stack {
        fn new(batch_first: bool) -> Self {
            let block = || {
                let layer = TransformerEncoderLayer::new(8, 2).dim_feedforward(16);
                layer.batch_first(batch_first).dropout(0.0)
            };
            Self {
                positions: PositionalEncoding::new().batch_first(batch_first),
                blocks: TransformerEncoder::new(2, block),
                is_causal: true,
            }
        }
    }

    impl Layer for Stack {
        fn forward(&self, x: &Tensor) -> Tensor {
            let mask = match self.is_causal {
                true => AttentionMask::causal(),
                false => AttentionMask::none(),
            };
            self.blocks.forward(&self.positions.forward(x), &mask)
        }
    }

    #[test]
    fn both_orders_of_batch_and_steps_continue_a_sequence() {
        for batch_first in [false, true] {
            let stack = Stack::new(batch_first);
            let dim = usize::from(batch_first);
            let shape = if batch_first { (3, 90, 8) } else { (90, 3, 8) };
            let x = randn(shape);
            let whole = stack.forward(&x);
            let (mut cache, mut first) = (KvCache::new(), 0);
            for count in [4, 1, 1, 80, 3, 1] {
                let y = cache.forward(&stack, &x.narrow(dim, first, count));
                let difference = y - whole.narrow(dim, first, count);
                assert!(
                    difference.abs().max_all().item() < 1e-5,
                    "{batch_first} {first}"
                );
                first += count;
            }
            assert_eq!(cache.steps(), 90);
        }
    }

    #[test]
    fn what_cannot_be_continued_is_refused() {
        let (mut stack, x) = (Stack::new(true), randn((1, 4, 8)));
        let message = |error: crate::error::Error| error.to_string();
        let mut cache = KvCache::new();
        cache.forward(&stack, &x);
        let other = attempt(|| cache.forward(&Stack::new(true), &x)).unwrap_err();
        assert!(message(other).contains("called in another order"));
        let wider = attempt(|| cache.forward(&stack, &zeros((2, 1, 8)))).unwrap_err();
        assert!(message(wider).contains("it holds 1 sequences of f32, and the input has 2"));
        // A call that fails adds no steps.
        assert_eq!(cache.steps(), 4);
        stack.is_causal = false;
        let both = attempt(|| cache.forward(&stack, &x)).unwrap_err();
        assert!(message(both).contains("its mask is not only causal"));
        let none = attempt(|| KvCache::new().forward(&Linear::new(8, 8), &x)).unwrap_err();
        assert!(message(none).contains("no layer with causal attention"));
    }

    #[test]
    fn weights_of_attention_are_those_of_all_steps() {
        #[derive(Parameters)]
        struct Weights(MultiheadAttention);
        impl Layer for Weights {
            fn forward(&self, x: &Tensor) -> Tensor {
                self.0
                    .forward_with_weights(x, x, x, &AttentionMask::causal())
                    .0
            }
        }
        let model = Weights(MultiheadAttention::new(8, 2).batch_first(true));
        let x = randn((2, 6, 8));
        let whole = model.forward(&x);
        let mut cache = KvCache::new();
        cache.forward(&model, &x.narrow(1, 0, 4));
        let difference = cache.forward(&model, &x.narrow(1, 4, 2)) - whole.narrow(1, 4, 2);
        assert!(difference.abs().max_all().item() < 1e-6);
    }
}
