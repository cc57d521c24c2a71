//! Multi-head attention.

mod inputs;
mod projections;

pub(super) use inputs::AttentionInputs;

use crate::error::raise;
use crate::layer;
use crate::nn::layers::Linear;
use crate::nn::summary::{record_output, record_part};
use crate::nn::{Init, Layer, Mode, Parameter, check};
use crate::ops::AttentionMask;
use crate::tensor::{Tensor, zeros};

layer! {
    /// Multi-head attention: queries, keys and values are projected, each head attends with its part of the
    /// features, and the outputs of all heads are projected together.
    ///
    /// `in_proj_weight` has the shape `(3 embed_dim, embed_dim)`: the projections of queries, keys and values.
    /// Names and initial values are those of PyTorch. From Vaswani et al., 2017, and d2l's chapter *Multi-Head
    /// Attention*.
    ///
    /// # Shapes
    /// Queries `(queries, batch, embed_dim)`, keys and values `(keys, batch, embed_dim)`, to
    /// `(queries, batch, embed_dim)`; with [`batch_first`](Self::batch_first), the batch comes first. It may be missing. In
    /// `seq!` the layer computes self-attention: the input is query, key and value.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = MultiheadAttention::new(8, 2).batch_first(true);
    /// let x = randn((4, 10, 8)); // (batch, steps, features)
    /// let y = attention.forward(&x, &x, &x, &AttentionMask::causal()); // (4, 10, 8)
    /// assert_eq!(y.dims(), [4, 10, 8]);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if one of its arguments is 0, or `num_heads` does not divide `embed_dim`.
    #[describe(
        embed_dim = self.embed_dim(),
        num_heads = self.num_heads,
        dropout = self.dropout,
        batch_first = self.batch_first
    )]
    pub struct MultiheadAttention(embed_dim: usize, num_heads: usize) {
        let sizes = [("embed_dim", embed_dim), ("num_heads", num_heads)];
        check::positive("MultiheadAttention", &sizes);
        raise!(if !embed_dim.is_multiple_of(num_heads);
            "MultiheadAttention: {num_heads} heads cannot share {embed_dim} features";
            "Choose an embed_dim that num_heads divides");
        let rows = embed_dim.saturating_mul(3);
        // Its weight is drawn first.
        let out_proj = Linear::new(embed_dim, embed_dim);
        out_proj.clear_bias();
        in_proj_weight = Parameter::new(&Init::XavierUniform.tensor((rows, embed_dim))),
        in_proj_bias: Option<Parameter> = Some(Parameter::new(&zeros(rows))),
        bias_k: Option<Parameter> = None,
        bias_v: Option<Parameter> = None,
        out_proj: Linear,
        num_heads: usize,
        dropout: f64 = 0.0,
        /// Sets whether the layer takes and returns `(batch, steps, features)` instead of `(steps, batch, features)`;
        /// `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let attention = MultiheadAttention::new(8, 2).batch_first(true);
        /// let (q, k) = (randn((4, 3, 8)), randn((4, 5, 8)));
        /// assert_eq!(attention.forward(&q, &k, &k, &AttentionMask::none()).dims(), [4, 3, 8]);
        /// ```
        set batch_first: bool = false,
        zero_attn: bool = false,
        mode = Mode::new(),
    }
    /// Computes self-attention.
    fn forward(&self, input: &Tensor) -> Tensor {
        self.forward(input, input, input, &AttentionMask::none())
    }
}

impl MultiheadAttention {
    setters! {
        /// Sets the probability with which each weight of the attention is dropped in training mode; 0 by
        /// default.
        ///
        /// # Panics
        /// If `p` is not between 0 and 1.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let attention = MultiheadAttention::new(8, 2).dropout(0.1);
        /// assert!(attention.describe().contains("dropout=0.1"));
        /// ```
        #[track_caller]
        pub fn dropout(self, p: f64): self.set_dropout(p);
    }

    #[track_caller]
    pub(super) fn set_dropout(&mut self, p: f64) {
        check::probability("MultiheadAttention", "dropout", p);
        self.dropout = p;
    }

    pub(super) fn set_batch_first(&mut self, batch_first: bool) {
        self.batch_first = batch_first;
    }

    setters! {
        /// Sets whether the projections have biases, as by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(MultiheadAttention::new(8, 2).bias(false).num_parameters(), 4 * 8 * 8);
        /// ```
        #[track_caller]
        pub fn bias(self, bias: bool): self.set_bias(bias);
    }

    /// Removes the biases, or adds biases of zeros.
    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool) {
        if bias != self.in_proj_bias.is_some() {
            let rows = self.in_proj_weight.size(0).unwrap_or_default();
            self.in_proj_bias = bias.then(|| Parameter::new(&zeros(rows)));
            self.out_proj.set_bias(bias);
            self.out_proj.clear_bias();
        }
    }

    /// Sets whether a key and a value that are parameters, `bias_k` and `bias_v`, follow the keys and values of the
    /// inputs; `false` by default. Every query may attend to them.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = MultiheadAttention::new(8, 2).add_bias_kv(true);
    /// let x = randn((3, 1, 8)); // (steps, batch, features)
    /// let (_, weights) = attention.forward_with_weights(&x, &x, &x, &AttentionMask::none());
    /// assert_eq!(weights.dims(), [1, 2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn add_bias_kv(mut self, add_bias_kv: bool) -> Self {
        let features = self.embed_dim().unwrap_or_default();
        let new = || Parameter::new(&Init::XavierNormal.tensor((1, 1, features)));
        (self.bias_k, self.bias_v) = (add_bias_kv.then(new), add_bias_kv.then(new));
        self
    }

    setters! {
        /// Sets whether a key and a value of zeros follow the keys and values of the inputs; `false` by default. Every
        /// query may attend to them.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let attention = MultiheadAttention::new(8, 2).add_zero_attn(true);
        /// let x = randn((3, 1, 8)); // (steps, batch, features)
        /// let (_, weights) = attention.forward_with_weights(&x, &x, &x, &AttentionMask::none());
        /// assert_eq!(weights.dims(), [1, 2, 3, 4]);
        /// ```
        pub fn add_zero_attn(self, add_zero_attn: bool): self.zero_attn = add_zero_attn;
    }

    fn embed_dim(&self) -> Option<usize> {
        self.in_proj_weight.size(1)
    }

    /// Returns the beginning of error messages: one line, unlike the description.
    fn name(&self) -> String {
        let embed_dim = self.embed_dim().unwrap_or_default();
        format!(
            "MultiheadAttention(embed_dim={embed_dim}, num_heads={})",
            self.num_heads
        )
    }

    /// Returns an output for each query: the projected values, weighted by the attention to their keys.
    ///
    /// # Panics
    /// If the shapes of the inputs or the mask do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = MultiheadAttention::new(8, 2);
    /// let (q, k) = (randn((3, 4, 8)), randn((5, 4, 8))); // (steps, batch, features)
    /// let mask = AttentionMask::none().lengths(&tensor(&[5, 1, 2, 3]), 5);
    /// let y = attention.forward(&q, &k, &k, &mask); // (3, 4, 8)
    /// assert_eq!(y.dims(), [3, 4, 8]);
    /// ```
    #[track_caller]
    pub fn forward(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        mask: &AttentionMask,
    ) -> Tensor {
        if let Some([query, key, value]) = self.as_batch([query, key, value]) {
            return self
                .forward(&query, &key, &value, mask)
                .squeeze(self.batch_dim());
        }
        let inputs = self.without_hidden([query, key, value], mask);
        let inputs = self.attention_inputs(inputs.each_ref(), mask);
        if self.probability() == 0.0
            && let Some(y) = inputs.by_kernel()
        {
            // The faster kernel, which does not return the weights.
            return self.output(&y);
        }
        self.attend(&inputs).0
    }

    /// Returns the output for each query, and the attention weights of each head:
    /// `(batch, heads, queries, keys)`, without a batch `(heads, queries, keys)`.
    ///
    /// # Panics
    /// If the shapes of the inputs or the mask do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = MultiheadAttention::new(8, 2).batch_first(true);
    /// let x = randn((1, 3, 8));
    /// let (_, weights) = attention.forward_with_weights(&x, &x, &x, &AttentionMask::causal());
    /// assert_eq!(weights.dims(), [1, 2, 3, 3]);
    /// assert_eq!(weights.i((0, 0, 0)).to_vec1::<f32>(), [1.0, 0.0, 0.0]);
    /// ```
    #[track_caller]
    pub fn forward_with_weights(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        mask: &AttentionMask,
    ) -> (Tensor, Tensor) {
        if let Some([query, key, value]) = self.as_batch([query, key, value]) {
            let (y, weights) = self.forward_with_weights(&query, &key, &value, mask);
            return (y.squeeze(self.batch_dim()), weights.squeeze(0));
        }
        let inputs = self.without_hidden([query, key, value], mask);
        self.attend(&self.attention_inputs(inputs.each_ref(), mask))
    }

    /// Returns the probability with which weights are dropped in the current mode.
    fn probability(&self) -> f64 {
        match self.mode.is_training() {
            true => self.dropout,
            false => 0.0,
        }
    }

    #[track_caller]
    fn attend(&self, inputs: &AttentionInputs) -> (Tensor, Tensor) {
        let (y, weights) = inputs.by_weights(&self.name(), self.probability());
        (self.output(&y), weights)
    }

    #[track_caller]
    fn output(&self, heads: &Tensor) -> Tensor {
        record_part(self);
        record_output(self, self.out_proj.forward(heads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::tests::message_of;
    use crate::tensor::randn;

    const CPU: candle_core::Device = candle_core::Device::Cpu;

    #[test]
    fn wrong_inputs_are_explained() {
        let attention = MultiheadAttention::new(4, 2);
        let message = |q: &[usize], k: &[usize]| {
            let (q, k) = (zeros(q), zeros(k));
            message_of(|| attention.forward(&q, &k, &k, &AttentionMask::none()))
        };
        assert_eq!(
            message(&[3, 2, 5], &[3, 2, 4]),
            "MultiheadAttention(embed_dim=4, num_heads=2) \
             cannot take an input of shape [3, 2, 5]\nExpected (steps, batch, 4)"
        );
        assert!(message(&[3, 2, 4], &[3, 1, 4]).contains("cannot take a query, key and value"));
        for (features, heads) in [(0, 1), (4, 0)] {
            let message = message_of(|| MultiheadAttention::new(features, heads));
            assert_eq!(message.lines().count(), 2, "{message}");
        }
    }

    #[test]
    fn the_order_of_batch_and_steps_changes_nothing_else() {
        let attention = MultiheadAttention::new(6, 3);
        let x = randn((4, 2, 6)); // (steps, batch, features)
        let y = attention.forward(&x, &x, &x, &AttentionMask::causal());
        let (attention, x) = (attention.batch_first(true), x.transpose(0, 1));
        let copy = x.copy_to(&CPU); // projected apart
        let z = attention.forward(&x, &copy, &x, &AttentionMask::causal());
        let difference = (y.transpose(0, 1) - z).abs().max_all();
        assert!(difference.item() < 1e-6);
    }
}
