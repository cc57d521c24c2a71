//! Attention with the weights of all pairs of queries and keys in memory.

use super::mask::{AttentionMask, hidden};
use super::nonfinite::Cleaned;
use crate::error::refuse;
use crate::ops::arithmetic::{Arithmetic, arithmetic, arithmetic_number};
use crate::ops::{check, contiguous_raw, dropout_as, matmul_as, softmax_as};
use crate::tensor::Raw;
use candle_core::{D, DType, Result};
use std::fmt::Display;

/// Returns the weighted mean of the values, for which each weight is dropped with probability `p`, and the
/// weights before dropout.
#[doc(hidden)]
pub fn attention(
    caller: &dyn Display,
    [query, key, value]: [&Raw; 3],
    mask: &AttentionMask,
    p: f64,
) -> Result<(Raw, Raw)> {
    check_inputs(caller, query, key, value)?;
    if check::is_half(query) {
        let single = [query, key, value].map(|x| x.to_dtype(DType::F32));
        let [query_, key, value] = single;
        let (y, weights) = attention(caller, [&query_?, &key?, &value?], mask, p)?;
        return Ok((y.to_dtype(query.dtype())?, weights.to_dtype(query.dtype())?));
    }
    if query.elem_count() == 0 || value.elem_count() == 0 {
        let shape = |last: usize| [&query.dims()[..query.rank() - 1], &[last]].concat();
        let zeros = |last| Raw::zeros(shape(last), query.dtype(), query.device());
        return Ok((zeros(value.dim(D::Minus1)?)?, zeros(key.dim(D::Minus2)?)?));
    }
    let [query, key, value] = [query, key, value].map(contiguous_raw);
    let (query, key, value) = (query?, key?, value?);
    let shape = [&query.dims()[..query.rank() - 1], &[key.dim(D::Minus2)?]].concat();
    let added = mask.added_to(caller, &shape.into(), &query)?;
    let inputs = [&query, &key, &value];
    let cleaned = match &added {
        Some(added) => Cleaned::of(inputs, mask, added)?,
        None => None,
    };
    match &cleaned {
        Some(cleaned) => {
            let inputs = cleaned.inputs.each_ref();
            cleaned.restored(weighted(caller, inputs, mask, added.as_ref(), p)?)
        }
        None => weighted(caller, inputs, mask, added.as_ref(), p),
    }
}

/// Computes [`attention`] of contiguous inputs, with the values that the mask adds to the scores.
fn weighted(
    caller: &dyn Display,
    [query, key, value]: [&Raw; 3],
    mask: &AttentionMask,
    added: Option<&Raw>,
    p: f64,
) -> Result<(Raw, Raw)> {
    let features = query.dim(D::Minus1)?;
    let scale = 1.0 / (features as f64).sqrt();
    let query = arithmetic_number(Arithmetic::Mul, query, scale.into(), false)?;
    let scores = matmul_as(caller, &query, &key.transpose(D::Minus2, D::Minus1)?)?;
    let scores = match added {
        Some(added) => arithmetic(Arithmetic::Add, &scores, added)?,
        None => scores,
    };
    let mut weights = softmax_as(caller, &scores, D::Minus1.into())?; // (…, queries, keys)
    if let Some(added) = added.filter(|_| mask.may_hide_all()) {
        // The weights of a query that may attend to no key are 0.
        let alive = added
            .max_keepdim(D::Minus1)?
            .gt(0.5 * hidden(added.dtype()))?;
        let alive = alive.to_dtype(weights.dtype())?;
        weights = arithmetic(Arithmetic::Mul, &weights, &alive)?;
    }
    let kept = dropout_as(caller, &weights, p)?;
    Ok((matmul_as(caller, &kept, value)?, weights))
}

pub(super) fn check_inputs(
    caller: &dyn Display,
    query: &Raw,
    key: &Raw,
    value: &Raw,
) -> Result<()> {
    let (q, k, v) = (query.dims(), key.dims(), value.dims());
    let rank = q.len();
    let fits = rank >= 2
        && [k.len(), v.len()] == [rank; 2]
        && q[..rank - 2] == k[..rank - 2]
        && k[..rank - 1] == v[..rank - 1]
        && q[rank - 1] == k[rank - 1];
    refuse!(if !fits;
        "{caller} cannot take a query, key and value of shapes {q:?}, {k:?} and {v:?}";
        "Expected (…, queries, features), (…, keys, features) and (…, keys, size), \
             with the same leading dimensions");
    check::same_place(caller, key, query)?;
    check::same_place(caller, value, query)?;
    check::floating(caller, query)
}
