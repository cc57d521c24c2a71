//! NaN and infinite elements of what a mask hides. A weight of 0 does not keep them from the output and the gradients,
//! because 0 · NaN is NaN.

use super::mask::{AttentionMask, hidden};
use crate::ops::all_finite;
use crate::ops::arithmetic::{Arithmetic, arithmetic};
use crate::ops::select::chosen;
use crate::tensor::{Raw, Tensor};
use candle_core::{D, Result, Shape};
use std::fmt::Display;

/// Queries, keys and values without such elements.
pub(super) struct Cleaned {
    pub(super) inputs: [Raw; 3],
    /// What is added to the outputs and to the weights: NaN or an infinite value for each query that attends to such
    /// an element or has one itself, else 0. It is a constant, so a query that does not count has no gradient.
    added: Option<[Raw; 2]>,
}

impl Cleaned {
    /// Returns the inputs with zeros in place of NaN and infinite elements, for a mask that adds these values to the
    /// scores; `None` if all elements are finite.
    ///
    /// On a GPU, to look at the elements would wait for the device: there, keys and values are zeros if they are hidden
    /// from all queries, and those that are hidden from some queries only are not changed.
    pub(super) fn of(inputs: [&Raw; 3], mask: &AttentionMask, added: &Raw) -> Result<Option<Self>> {
        if !inputs[0].device().is_cpu() {
            let [query, key, value] = inputs;
            return match mask.hides_keys() {
                true => {
                    let hidden = hidden_from_all(added)?;
                    let inputs = [
                        query.clone(),
                        zeroed(key, &hidden)?,
                        zeroed(value, &hidden)?,
                    ];
                    let added = None;
                    Ok(Some(Self { inputs, added }))
                }
                false => Ok(None),
            };
        }
        for x in inputs {
            if !all_finite(x)? {
                return Ok(Some(Self::on_cpu(inputs.map(Tensor::from_raw_ref), added)));
            }
        }
        Ok(None)
    }

    fn on_cpu([query, key, value]: [&Tensor; 3], added: &Raw) -> Self {
        let dtype = query.dtype();
        let shape = [&query.dims()[..query.rank() - 1], &[key.dim(-2)]].concat();
        let visible = Tensor::from_raw_ref(added).detach();
        let visible = visible.gt(0.5 * hidden(dtype)).broadcast_as(shape);
        let visible = visible.to_dtype(dtype).contiguous(); // (…, queries, keys)
        let wrong = |x: &Tensor| x.detach().isfinite().eq(0).to_dtype(dtype);
        let [of_query, of_key] = [query, key].map(|x| wrong(x).max_keepdim(-1)); // (…, steps, 1)
        let seen = visible.matmul(&of_key) + &of_query * visible.sum_keepdim(-1); // (…, queries, 1)
        let marked = |seen: Tensor, value: f64| seen.zeros_like().masked_fill(&seen.gt(0.0), value);
        let weights = marked(seen, f64::NAN);
        let mut outputs = weights.clone();
        let values = value.detach();
        for (is_found, found) in [
            (values.isnan(), f64::NAN),
            (values.eq(f64::INFINITY), f64::INFINITY),
            (values.eq(f64::NEG_INFINITY), f64::NEG_INFINITY),
        ] {
            outputs += marked(visible.matmul(&is_found.to_dtype(dtype)), found);
        }
        let inputs = [
            query.masked_fill(&of_query, 0.0),
            key.masked_fill(&of_key, 0.0),
            value.masked_fill(&wrong(value), 0.0),
        ];
        Self {
            inputs: inputs.map(Raw::from),
            added: Some([outputs, weights].map(Raw::from)),
        }
    }

    /// Returns the outputs and the weights of the queries as they follow from the elements that were replaced.
    pub(super) fn restored(&self, found: (Raw, Raw)) -> Result<(Raw, Raw)> {
        let Some([of_outputs, of_weights]) = &self.added else {
            return Ok(found);
        };
        let sum = |x: &Raw, added: &Raw| arithmetic(Arithmetic::Add, x, added);
        Ok((sum(&found.0, of_outputs)?, sum(&found.1, of_weights)?))
    }
}

impl AttentionMask {
    /// Returns whether a mask may hide a key from all queries.
    fn hides_keys(&self) -> bool {
        self.scores.is_some() || self.keys.is_some()
    }

    /// Returns the input of a layer, `(batch, steps, features)` or `(steps, batch, features)`, with zeros in place of NaN
    /// and infinite elements of the steps that are hidden, as keys, from all `queries`: the gradients of the weights
    /// by which a layer multiplies its input would be NaN. Returns `None` if there is nothing to replace.
    #[doc(hidden)]
    pub fn without_hidden(
        &self,
        caller: &dyn Display,
        x: &Raw,
        batch_dim: usize,
        [heads, queries]: [usize; 2],
    ) -> Result<Option<Raw>> {
        let on_cpu = x.device().is_cpu();
        if !self.hides_keys() || x.elem_count() == 0 || on_cpu && all_finite(x)? {
            return Ok(None);
        }
        let scores = Shape::from((x.dim(batch_dim)?, heads, queries, x.dim(1 - batch_dim)?));
        let Some(added) = self.added_to(caller, &scores, x)? else {
            return Ok(None);
        };
        let added = added.detach();
        let missing = vec![1; 4 - added.rank()];
        let added = added.reshape([&missing, added.dims()].concat())?;
        let hidden = hidden_from_all(&added.max_keepdim(1)?)?.squeeze(1)?; // (batch, steps, 1)
        let hidden = match batch_dim {
            0 => hidden,
            _ => hidden.transpose(0, 1)?,
        };
        let wrong = Tensor::from_raw_ref(x).detach().isfinite().eq(0);
        zeroed(x, &hidden.mul(wrong.raw())?).map(Some)
    }
}

/// Returns 1 for each key that is hidden from all queries, as `u8` `(…, keys, 1)`, from the values that are added to the
/// scores.
fn hidden_from_all(added: &Raw) -> Result<Raw> {
    let added = match added.rank() {
        1 => added.detach().unsqueeze(0)?,
        _ => added.detach(),
    };
    let highest = added.max_keepdim(D::Minus2)?;
    let half = 0.5 * hidden(added.dtype());
    highest
        .le(half)?
        .transpose(D::Minus2, D::Minus1)?
        .contiguous()
}

/// Returns a tensor with zeros where a mask of `u8`, which is broadcast, is 1.
fn zeroed(x: &Raw, hidden: &Raw) -> Result<Raw> {
    let zero = Raw::zeros((), x.dtype(), x.device())?;
    chosen(hidden, &zero, x, x.dims())
}
