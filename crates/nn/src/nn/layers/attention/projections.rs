//! The projections of queries, keys and values.

use super::{AttentionInputs, MultiheadAttention};
use crate::error::{OrRaise, raise};
use crate::nn::{Parameter, check};
use crate::ops::{self, AttentionMask};
use crate::tensor::{Raw, Tensor, has_cache, refuse_cache};
use candle_core::Result;

impl MultiheadAttention {
    /// Returns the projections and the mask as [`with_further_keys`](Self::with_further_keys) does. If the model
    /// continues a sequence, the keys and values are those of all steps.
    #[track_caller]
    pub(super) fn attention_inputs(
        &self,
        inputs: [&Tensor; 3],
        mask: &AttentionMask,
    ) -> AttentionInputs {
        // The keys of another sequence, such as the output of an encoder, are the same for each step.
        let attends_to_itself = inputs[1..]
            .iter()
            .all(|x| x.raw().id() == inputs[0].raw().id());
        let further = self.bias_k.is_some() || self.zero_attn;
        let is_only_causal = !further && mask.is_only_causal();
        let (projections, mask) = self.with_further_keys(inputs, mask);
        let inputs = AttentionInputs::new(projections, mask, self.num_heads, self.batch_first);
        if !has_cache() || !attends_to_itself {
            return inputs;
        }
        if !is_only_causal {
            refuse_cache(&|| format!("{}: its mask is not only causal", self.name()));
            return inputs;
        }
        inputs.with_past(self.in_proj_weight.address())
    }

    /// Returns the projections with the further keys and values of `bias_kv` and `zero_attn`, and a mask that shows
    /// them.
    #[track_caller]
    pub(super) fn with_further_keys(
        &self,
        inputs: [&Tensor; 3],
        mask: &AttentionMask,
    ) -> (Vec<Tensor>, AttentionMask) {
        let mut projections = self.projections(inputs);
        let further = usize::from(self.bias_k.is_some()) + usize::from(self.zero_attn);
        if further == 0 {
            return (projections, mask.clone());
        }
        let steps = 1 - self.batch_dim();
        if let [all] = &projections[..] {
            projections = all.chunk(3, -1);
        }
        let [queries, keys] = [0, 1].map(|i| projections[i].dim(steps));
        for (x, bias) in projections[1..]
            .iter_mut()
            .zip([&self.bias_k, &self.bias_v])
        {
            let row = x.narrow(steps, 0, 1);
            if let Some(bias) = bias {
                *x = Tensor::cat(&[x.clone(), bias.tensor().broadcast_as(row.shape())], steps);
            }
            if self.zero_attn {
                *x = Tensor::cat(&[x.clone(), row.zeros_like()], steps);
            }
        }
        let mask = mask
            .with_further_keys(queries, keys, further, projections[0].device())
            .or_raise();
        (projections, mask)
    }

    /// Returns the inputs without NaN and infinite elements of the steps that the mask hides from all queries.
    #[track_caller]
    pub(super) fn without_hidden(
        &self,
        [query, key, value]: [&Tensor; 3],
        mask: &AttentionMask,
    ) -> [Tensor; 3] {
        let x = self.visible(key, query, mask);
        // The same tensor stays the same: it is projected once.
        let same = |a: &Tensor, b: &Tensor| a.raw().id() == b.raw().id();
        let query = if same(query, key) { &x } else { query }.clone();
        let value = match same(value, key) {
            true => x.clone(),
            false => self.visible(value, &query, mask),
        };
        [query, x, value]
    }

    /// Returns keys or values as [`without_hidden`](Self::without_hidden) does.
    #[track_caller]
    pub(crate) fn visible(&self, x: &Tensor, query: &Tensor, mask: &AttentionMask) -> Tensor {
        if x.rank() == 2 && query.rank() == 2 {
            let [x, query] = [x, query].map(|x| x.unsqueeze(self.batch_dim()));
            return self.visible(&x, &query, mask).squeeze(self.batch_dim());
        }
        if x.rank() != 3 || query.rank() != 3 {
            return x.clone(); // refused later
        }
        let sizes = [self.num_heads, query.dim(1 - self.batch_dim())];
        let found = mask.without_hidden(&self.name(), x.raw(), self.batch_dim(), sizes);
        found.or_raise().map_or_else(|| x.clone(), Tensor::from)
    }

    pub(super) fn batch_dim(&self) -> usize {
        usize::from(!self.batch_first)
    }

    /// Returns the inputs with a batch of one, if they have none.
    pub(super) fn as_batch(&self, inputs: [&Tensor; 3]) -> Option<[Tensor; 3]> {
        let [query, key, value] = inputs;
        if inputs.iter().any(|x| x.rank() != 2) {
            return None;
        }
        let x = query.unsqueeze(self.batch_dim());
        // The same tensor stays the same: it is projected once.
        let other =
            |y: &Tensor, like: &Tensor, batch: &Tensor| match y.raw().id() == like.raw().id() {
                true => batch.clone(),
                false => y.unsqueeze(self.batch_dim()),
            };
        let y = other(key, query, &x);
        let z = other(value, key, &y);
        Some([x, y, z])
    }

    /// Returns the projections of query, key and value. Inputs that are the same tensor are projected
    /// together, to one tensor.
    #[track_caller]
    pub(super) fn projections(&self, inputs: [&Tensor; 3]) -> Vec<Tensor> {
        let weight = self.in_proj_weight.tensor();
        let bias = self.in_proj_bias.as_ref().map(Parameter::tensor);
        let features = weight.dim(1);
        for input in inputs {
            self.check(input, features);
        }
        let [query, key, value] = inputs.map(Tensor::raw);
        let all_same = query.id() == key.id() && key.id() == value.id();
        let parts: &[_] = match all_same {
            true => &[(query, 0, 3)],
            false => &[(query, 0, 1), (key, 1, 1), (value, 2, 1)],
        };
        let project = |&(x, first, count): &(&Raw, usize, usize)| {
            let rows = |of: &Tensor| of.narrow(0, first * features, count * features);
            let (weight, bias) = (rows(&weight), bias.as_ref().map(rows));
            let bias = bias.as_ref().map(Tensor::raw);
            ops::linear_as(&self.name(), x, weight.raw(), bias).map(Tensor::from)
        };
        let projections = parts.iter().map(project);
        projections.collect::<Result<_>>().or_raise()
    }

    #[track_caller]
    fn check(&self, x: &Tensor, features: usize) {
        if x.rank() != 3 || x.dims()[2] != features {
            let order = check::order(self.batch_first);
            let wanted = format!("Expected ({order}, {features})");
            raise(ops::check::wrong_shape(&self.name(), x.raw(), wanted).into())
        }
    }
}
