//! What all layers of attention share: the heads, the cache of earlier steps, and the choice of the kernel.

use crate::error::OrRaise;
use crate::ops::{self, AttentionMask, Heads};
use crate::tensor::{Raw, Tensor, remember};
use std::fmt::Display;

/// The projections of queries, keys and values, and how they attend.
pub(crate) struct AttentionInputs {
    /// One tensor of all three, or three tensors: `(batch, steps, heads · features)`, or with the steps first.
    pub(super) parts: Vec<Tensor>,
    pub(super) mask: AttentionMask,
    heads: Heads,
}

impl AttentionInputs {
    pub(crate) fn new(
        parts: Vec<Tensor>,
        mask: AttentionMask,
        count: usize,
        batch_first: bool,
    ) -> Self {
        let heads = Heads {
            count,
            batch_first,
            keys: None,
        };
        Self { parts, mask, heads }
    }

    /// Returns the dimension of the steps.
    fn steps(&self) -> usize {
        usize::from(self.heads.batch_first)
    }

    /// Replaces the keys and values by those of all steps, if the model continues a sequence. `layer` is the address of
    /// a parameter, which identifies the layer.
    #[track_caller]
    pub(crate) fn with_past(mut self, layer: usize) -> Self {
        if let [all] = &self.parts[..] {
            self.parts = all.chunk(3, -1);
        }
        let new = [self.parts[1].raw(), self.parts[2].raw()];
        if let Some(past) = remember(layer, self.steps(), new).or_raise() {
            let [keys, values] = past.buffers.map(Tensor::from);
            self.parts = vec![self.parts[0].contiguous(), keys, values];
            self.mask = self.mask.after(past.past);
            self.heads.keys = Some(past.len);
        }
        self
    }

    /// Returns the output of all heads; `None` if there is no kernel for these inputs.
    #[track_caller]
    pub(crate) fn by_kernel(&self) -> Option<Tensor> {
        let parts: Vec<&Raw> = self.parts.iter().map(Tensor::raw).collect();
        let y = ops::attention_of_heads(&parts, &self.heads, &self.mask);
        y.or_raise().map(Tensor::from)
    }

    /// Returns the output of all heads, and the weights of all pairs, which are dropped with probability `p`.
    #[track_caller]
    pub(crate) fn by_weights(&self, name: &dyn Display, p: f64) -> (Tensor, Tensor) {
        let inputs = self.split(); // (batch, heads, steps, features)
        let inputs = inputs.each_ref().map(Tensor::raw);
        let (y, weights) = ops::attention(name, inputs, &self.mask, p).or_raise();
        let y = Tensor::from(y);
        let y = match self.heads.batch_first {
            true => y.transpose(1, 2),        // (batch, steps, heads, features)
            false => y.permute([2, 0, 1, 3]), // (steps, batch, heads, features)
        };
        (y.flatten_from(2), weights.into())
    }

    /// Splits queries, keys and values into heads.
    #[track_caller]
    fn split(&self) -> [Tensor; 3] {
        let count = self.heads.count;
        if let [all] = &self.parts[..] {
            let all = self.heads_of(all, all.dim(2) / 3 / count);
            return [0, 1, 2].map(|i| all.narrow(1, i * count, count));
        }
        let features = self.parts[0].dim(2) / count;
        [0, 1, 2].map(|i| {
            let x = match self.heads.keys {
                // Without the memory of the cache for further steps.
                Some(keys) if i > 0 => self.parts[i].narrow(self.steps(), 0, keys),
                _ => self.parts[i].clone(),
            };
            let x = self.heads_of(&x, features);
            let (batch, heads, steps, _) = x.dims4();
            match heads == count {
                true => x,
                // A head of keys is that of several heads of queries.
                false => {
                    let shape = (batch, heads, count / heads, steps, features);
                    x.unsqueeze(2).broadcast_as(shape).flatten(1, 2)
                }
            }
        })
    }

    /// Returns `(batch, heads, steps, features)`.
    #[track_caller]
    fn heads_of(&self, x: &Tensor, features: usize) -> Tensor {
        let (a, b, all) = x.dims3();
        let x = x.reshape((a, b, all / features, features));
        match self.heads.batch_first {
            true => x.transpose(1, 2),
            false => x.permute([1, 2, 0, 3]),
        }
    }
}
