//! Scaled dot-product attention and its masks.

mod fused;
mod mask;
mod nonfinite;
mod pairs;

use super::contiguous_raw;
use super::engine::autograd::has_kernel;
use crate::tensor::{Raw, Tensor};
use candle_core::{D, Result, Shape};
use fused::{HeadStrides, Inputs, Sizes, fused};
use pairs::check_inputs;
use std::fmt::Display;

pub use mask::AttentionMask;
pub use mask::valid_steps;
pub use pairs::attention;

functions! {
    /// Returns the mean of `value` `(…, keys, size)` with the weights `softmax(query · keyᵀ / √features)`,
    /// for queries `(…, queries, features)` and keys `(…, keys, features)`: `(…, queries, size)`.
    ///
    /// From Vaswani et al., 2017, and d2l's chapter *Attention Scoring Functions*.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (batch, heads, steps, features) = (2, 4, 5, 8);
    /// let q = randn((batch, heads, steps, features));
    /// let (k, v) = (randn((batch, heads, 3, features)), ones((batch, heads, 3, 1)));
    /// let y = scaled_dot_product_attention(&q, &k, &v, &AttentionMask::none()); // (2, 4, 5, 1)
    /// let mean = y.mean_all().item();
    /// assert!((mean - 1.0).abs() < 1e-6); // a mean of ones
    /// ```
    pub fn scaled_dot_product_attention(query: &Tensor, key: &Tensor, value: &Tensor, mask: &AttentionMask) =>
        without_dropout(
            &"scaled_dot_product_attention",
            [query.raw(), key.raw(), value.raw()],
            mask,
        );
}

/// Computes [`scaled_dot_product_attention`]; errors begin with the name of the caller.
fn without_dropout(caller: &dyn Display, inputs: [&Raw; 3], mask: &AttentionMask) -> Result<Raw> {
    let [query, key, value] = inputs;
    if let Some([query, key, value]) = broadcast(inputs)? {
        return without_dropout(caller, [&query, &key, &value], mask);
    }
    check_inputs(caller, query, key, value)?;
    let same = query.dims().last() == value.dims().last();
    let steps = query.rank() - 2;
    let attend = mask.reach.fits(query.dims()[steps], key.dims()[steps]);
    if !(same && attend && can_fuse(inputs, mask)) {
        return Ok(attention(caller, inputs, mask, 0.0)?.0);
    }
    let [q, k, v] = inputs.map(contiguous_raw);
    let (q, k, v) = (q?, k?, v?);
    let (queries, keys) = (q.dim(D::Minus2)?, k.dim(D::Minus2)?);
    let features = q.dim(D::Minus1)?;
    let place = |steps: usize| HeadStrides {
        start: 0,
        batch: steps * features,
        head: 0,
        step: features,
    };
    let sizes = Sizes {
        batch: q.elem_count() / (queries * features),
        heads: 1,
        group: 1,
        queries,
        keys,
        features,
        reach: mask.reach,
    };
    let places = [place(queries), place(keys), place(keys)];
    let tensors = &[&q, &k, &v];
    let inputs = Inputs { tensors, places };
    match fused(inputs, sizes, q.shape().clone(), place(queries))? {
        Some(y) => Ok(y),
        None => Ok(attention(caller, tensors.map(|x| x), mask, 0.0)?.0),
    }
}

/// Returns inputs whose leading dimensions differ with the same ones, if they can be broadcast.
fn broadcast(inputs: [&Raw; 3]) -> Result<Option<[Raw; 3]>> {
    let leading = |x: &Raw| Shape::from(x.dims()[..x.rank().saturating_sub(2)].to_vec());
    let [query, key, value] = inputs.map(leading);
    if query == key && key == value || inputs.iter().any(|x| x.rank() < 2) {
        return Ok(None);
    }
    let common = query.broadcast_shape_binary_op(&key, "attention");
    let common = common.and_then(|common| common.broadcast_shape_binary_op(&value, "attention"));
    let Ok(common) = common else {
        return Ok(None);
    };
    let whole = |x: &Raw| x.broadcast_as([common.dims(), &x.dims()[x.rank() - 2..]].concat());
    let [query, key, value] = inputs.map(whole);
    Ok(Some([query?, key?, value?]))
}

/// Returns whether the kernel in `fused` can compute with these tensors: they are not empty, and the mask depends on
/// the positions alone.
fn can_fuse(inputs: [&Raw; 3], mask: &AttentionMask) -> bool {
    let empty = inputs.iter().any(|x| x.elem_count() == 0);
    has_kernel(&inputs) && !empty && mask.scores.is_none() && mask.keys.is_none()
}

/// The heads of projections `(batch, steps, …)` or `(steps, batch, …)`.
#[doc(hidden)]
pub struct Heads {
    pub count: usize,
    pub batch_first: bool,
    /// How many steps of the keys and values count; the memory of a cache has room for more.
    pub keys: Option<usize>,
}

/// Returns the attention of several heads: `inputs` are the projections of query, key and value, or one
/// tensor with all three. Keys and values may have fewer heads, each of which several heads of queries share. `None` if
/// the kernel cannot compute it.
#[doc(hidden)]
pub fn attention_of_heads(
    inputs: &[&Raw],
    heads: &Heads,
    mask: &AttentionMask,
) -> Result<Option<Raw>> {
    let batch_first = heads.batch_first;
    let (first, last) = (inputs[0], inputs[inputs.len() - 1]);
    let (batch, steps) = if batch_first { (0, 1) } else { (1, 0) };
    let width = first.dim(2)? / if inputs.len() == 1 { 3 } else { 1 };
    let shared = if inputs.len() == 1 {
        width
    } else {
        last.dim(2)?
    };
    let key = inputs[inputs.len() / 2];
    let (queries, keys) = (first.dim(steps)?, heads.keys.unwrap_or(last.dim(steps)?));
    let fits = mask.reach.fits(queries, keys)
        && inputs.iter().all(|x| x.is_contiguous())
        && first.dim(batch)? == last.dim(batch)?
        && key.dims() == last.dims();
    if !(fits && can_fuse([first, key, last], mask)) {
        return Ok(None);
    }
    let features = width / heads.count;
    // The rows of `row` features are ordered by example and step, or by step and example.
    let place = |x: &Raw, start: usize, row: usize| -> Result<HeadStrides> {
        let (of_batch, of_step) = match batch_first {
            true => (x.dim(steps)? * row, row),
            false => (row, x.dim(batch)? * row),
        };
        Ok(HeadStrides {
            start,
            batch: of_batch,
            head: features,
            step: of_step,
        })
    };
    let places = match inputs {
        [all] => [
            place(all, 0, 3 * width)?,
            place(all, width, 3 * width)?,
            place(all, 2 * width, 3 * width)?,
        ],
        _ => [
            place(first, 0, width)?,
            place(last, 0, shared)?,
            place(last, 0, shared)?,
        ],
    };
    let sizes = Sizes {
        batch: first.dim(batch)?,
        heads: heads.count,
        group: width / shared,
        queries,
        keys,
        features,
        reach: mask.reach,
    };
    let mut shape = first.dims().to_vec();
    shape[2] = width;
    let output = place(first, 0, width)?;
    let inputs = Inputs {
        tensors: inputs,
        places,
    };
    fused(inputs, sizes, shape.into(), output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{randn, tensor, zeros};

    #[test]
    fn wrong_inputs_are_explained() {
        let x = |shape: &[usize]| zeros(shape);
        let message = |q: &[usize], k: &[usize], mask: &AttentionMask| {
            let (q, k) = (x(q), x(k));
            let y = attempt(|| scaled_dot_product_attention(&q, &k, &k, mask));
            y.unwrap_err().to_string()
        };
        let none = AttentionMask::none();
        assert_eq!(
            message(&[1, 2, 4], &[1, 3, 5], &none),
            "scaled_dot_product_attention cannot take a query, key and value of shapes [1, 2, 4], [1, 3, 5] and [1, 3, 5]\n\
             Expected (…, queries, features), (…, keys, features) and (…, keys, size), with the same leading dimensions"
        );
        assert!(message(&[3], &[3], &none).contains("cannot take"));
        let mask = none.pairs(&x(&[2, 2]));
        assert!(
            message(&[1, 2, 4], &[1, 3, 4], &mask).contains("a mask of shape [2, 2] does not fit")
        );
        assert!(attempt(|| AttentionMask::none().keys(&x(&[3]))).is_err());
        assert!(attempt(|| AttentionMask::none().lengths(&x(&[3]), 2)).is_err());
    }

    #[test]
    fn masks_add_up() {
        let x = Raw::from(randn((2, 3, 4)));
        let mask = AttentionMask::causal()
            .lengths(&tensor(&[3, 1]), 3)
            .keys(&tensor(&[[1, 0, 1], [1, 1, 1]]));
        let (_, weights) = attention(&"test", [&x, &x, &x], &mask, 0.0).unwrap();
        let seen = Tensor::from(weights).gt(0.0).to_vec3::<u8>();
        assert_eq!(seen[0], [[1, 0, 0], [1, 0, 0], [1, 0, 1]]);
        assert_eq!(seen[1], [[1, 0, 0]; 3]);
    }

    #[test]
    fn an_empty_batch_stays_empty() {
        let x = zeros((0, 3, 4));
        let y = scaled_dot_product_attention(&x, &x, &x, &AttentionMask::causal());
        assert_eq!(y.dims(), [0, 3, 4]);
    }
}
