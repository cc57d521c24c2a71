//! Self-attention with grouped queries.

use crate::error::{OrRaise, raise};
use crate::nn::layer::boxed_here;
use crate::nn::layers::attention::AttentionInputs;
use crate::nn::layers::{Linear, RotaryEmbedding};
use crate::nn::summary::{record_output, record_part};
use crate::nn::{Layer, Parameters, ParametersExt, check};
use crate::ops::{self, Angles, AttentionMask};
use crate::tensor::Tensor;

/// Causal self-attention in which several heads of queries share a head of keys and values, as in Llama, Mistral and
/// Qwen: each step attends to itself and the earlier ones.
///
/// The parts are four linear layers without biases, `q_proj`, `k_proj`, `v_proj` and `o_proj`, the names of Hugging
/// Face. With a [`KvCache`](crate::nn::KvCache) it computes only the new steps; fewer heads of keys and values make the
/// cache smaller. From Ainslie et al., 2023.
///
/// # Shapes
/// `(batch, steps, embed_dim)`; the output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let attention = GroupedQueryAttention::new(8, 4, 2).rope(RotaryEmbedding::new(2));
/// let y = attention.forward(&randn((3, 10, 8))); // (3, 10, 8)
/// assert_eq!(y.dims(), [3, 10, 8]);
/// assert_eq!(attention.parameter("k_proj.weight").shape().dims(), [4, 8]); // 2 heads of 2 features
/// ```
#[derive(Parameters)]
#[describe(
    embed_dim = self.embed_dim(),
    num_heads = self.num_heads,
    num_kv_heads = self.num_kv_heads,
    window = self.window
)]
pub struct GroupedQueryAttention {
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
    rope: Option<RotaryEmbedding>,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    window: Option<usize>,
}

impl GroupedQueryAttention {
    /// Creates a layer for this many features, heads of queries, and heads of keys and values, on the default device.
    ///
    /// # Panics
    /// If one of them is 0, `num_heads` does not divide `embed_dim`, or `num_kv_heads` does not divide `num_heads`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(GroupedQueryAttention::new(8, 4, 2).num_parameters(), 2 * 8 * 8 + 2 * 4 * 8);
    /// assert!(attempt(|| GroupedQueryAttention::new(8, 4, 3)).is_err());
    /// ```
    #[track_caller]
    pub fn new(embed_dim: usize, num_heads: usize, num_kv_heads: usize) -> Self {
        let sizes = [
            ("embed_dim", embed_dim),
            ("num_heads", num_heads),
            ("num_kv_heads", num_kv_heads),
        ];
        check::positive("GroupedQueryAttention", &sizes);
        raise!(if !embed_dim.is_multiple_of(num_heads);
            "GroupedQueryAttention: {num_heads} heads cannot share {embed_dim} features";
            "Choose an embed_dim that num_heads divides, or with_head_dim");
        Self::with_head_dim(embed_dim, num_heads, num_kv_heads, embed_dim / num_heads)
    }

    /// Creates a layer whose heads have `head_dim` features, which need not be `embed_dim / num_heads`.
    ///
    /// # Panics
    /// If a size is 0, or `num_kv_heads` does not divide `num_heads`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = GroupedQueryAttention::with_head_dim(8, 4, 2, 16);
    /// assert_eq!(attention.parameter("q_proj.weight").shape().dims(), [64, 8]);
    /// ```
    #[track_caller]
    pub fn with_head_dim(
        embed_dim: usize,
        num_heads: usize,
        num_kv_heads: usize,
        head_dim: usize,
    ) -> Self {
        check::positive(
            "GroupedQueryAttention",
            &[("num_kv_heads", num_kv_heads), ("head_dim", head_dim)],
        );
        raise!(if !num_heads.is_multiple_of(num_kv_heads);
            "GroupedQueryAttention: {num_heads} heads of queries cannot share {num_kv_heads} heads of keys";
            "Choose a num_kv_heads that divides num_heads");
        let linear = |inputs, outputs| Linear::new(inputs, outputs).bias(false);
        let (width, shared) = (num_heads * head_dim, num_kv_heads * head_dim);
        Self {
            q_proj: linear(embed_dim, width),
            k_proj: linear(embed_dim, shared),
            v_proj: linear(embed_dim, shared),
            o_proj: linear(width, embed_dim),
            rope: None,
            num_heads,
            num_kv_heads,
            head_dim,
            window: None,
        }
    }

    setters! {
        /// Turns queries and keys by their positions.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let attention = GroupedQueryAttention::new(8, 2, 1).rope(RotaryEmbedding::new(4).base(5e5));
        /// assert_eq!(attention.forward(&zeros((1, 3, 8))).dims(), [1, 3, 8]);
        /// ```
        pub fn rope(self, rope: RotaryEmbedding): self.rope = Some(rope);

        /// Lets each step attend only to the last `size` steps up to itself.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let attention = GroupedQueryAttention::new(8, 2, 1).window(4);
        /// assert!(attention.describe().contains("window=4"));
        /// ```
        pub fn window(self, size: usize): self.window = Some(size);
    }

    /// Sets whether the projections of queries, keys and values have biases, as in Qwen 2; `false` by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = GroupedQueryAttention::new(8, 2, 1).qkv_bias(true);
    /// assert_eq!(attention.parameter("k_proj.bias").shape().dims(), [4]);
    /// ```
    #[track_caller]
    pub fn qkv_bias(mut self, bias: bool) -> Self {
        for part in [&mut self.q_proj, &mut self.k_proj, &mut self.v_proj] {
            part.set_bias(bias);
        }
        self
    }

    fn embed_dim(&self) -> Option<usize> {
        self.q_proj.parameter("weight").size(1)
    }

    /// Turns the heads of a projection by their positions.
    #[track_caller]
    fn turned(&self, x: Tensor, angles: &Angles) -> Tensor {
        let (batch, steps, width) = x.dims3();
        let heads = x.reshape((batch, steps, width / self.head_dim, self.head_dim));
        let y = ops::rotate_as(&check::name(self), heads.raw(), angles).or_raise();
        Tensor::from(y).reshape((batch, steps, width))
    }

    /// Returns the queries, keys and values of an input.
    #[track_caller]
    fn inputs(&self, x: &Tensor, mask: AttentionMask) -> AttentionInputs {
        let parts = [&self.q_proj, &self.k_proj, &self.v_proj];
        let [mut q, mut k, v] = parts.map(|part| part.forward(x)); // (batch, steps, heads · features)
        if let Some(rope) = &self.rope {
            let angles = rope.angles(x.dim(1));
            q = self.turned(q, &angles);
            k = self.turned(k, &angles);
        }
        AttentionInputs::new(vec![q, k, v], mask, self.num_heads, true)
    }
}

impl Layer for GroupedQueryAttention {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        check::sequences(self, input);
        let mask = match self.window {
            Some(size) => AttentionMask::window(size),
            None => AttentionMask::causal(),
        };
        let address = self.k_proj.parameter("weight").address();
        let inputs = self.inputs(input, mask).with_past(address);
        let y = match inputs.by_kernel() {
            Some(y) => y,
            None => inputs.by_weights(&check::name(self), 0.0).0,
        };
        record_part(self);
        record_output(self, self.o_proj.forward(&y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::KvCache;
    use crate::nn::tests::message_of;
    use crate::tensor::randn;

    #[test]
    fn wrong_inputs_are_explained() {
        let attention = GroupedQueryAttention::new(8, 4, 2);
        let message = message_of(|| attention.forward(&randn((2, 8))));
        assert!(message.starts_with("GroupedQueryAttention("), "{message}");
        for sizes in [[0, 1, 1], [8, 3, 1], [8, 4, 3], [8, 4, 0]] {
            let [embed_dim, heads, shared] = sizes;
            let message = message_of(|| GroupedQueryAttention::new(embed_dim, heads, shared));
            assert_eq!(message.lines().count(), 2, "{message}");
        }
    }

    #[test]
    fn without_a_kernel_it_computes_the_same() {
        for window in [None, Some(3)] {
            let mut attention = GroupedQueryAttention::new(8, 4, 2);
            attention.window = window;
            let x = randn((2, 7, 8));
            let mask = window.map_or(AttentionMask::causal(), AttentionMask::window);
            let (y, _) = attention.inputs(&x, mask).by_weights(&"attention", 0.0);
            let difference = attention.o_proj.forward(&y) - attention.forward(&x);
            assert!(difference.abs().max_all().item() < 1e-6);
        }
    }

    /// All sizes of parts, also beyond the memory that is reserved first.
    #[test]
    fn the_steps_of_a_cache_give_the_outputs_of_the_whole_sequence() {
        for (window, steps) in [(None, 150), (Some(5), 150), (Some(200), 20)] {
            let mut attention = GroupedQueryAttention::new(16, 4, 2).rope(RotaryEmbedding::new(4));
            attention.window = window;
            let x = randn((2, steps, 16));
            let whole = attention.forward(&x);
            let (mut cache, mut first) = (KvCache::new(), 0);
            for count in [1, 7, 1, 2, 70, 1, 1000] {
                let count = count.min(steps - first);
                if count > 0 {
                    let y = cache.forward(&attention, &x.narrow(1, first, count));
                    let difference = y - whole.narrow(1, first, count);
                    assert!(
                        difference.abs().max_all().item() < 1e-5,
                        "{window:?} {first}"
                    );
                    first += count;
                }
            }
            assert_eq!(cache.steps(), steps);
        }
    }
}
