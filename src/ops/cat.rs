//! Tensors joined along a dimension.

use super::check;
use super::engine::autograd::{Backward, Downstream, Upstream, are_tracked, has_kernel, record};
use super::engine::simd::Element;
use super::engine::strided::in_order;
use super::engine::{CpuView, dispatch_dtype, vec_by_chunks};
use crate::error::{OrRaise, explain};
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;
use std::mem::MaybeUninit;

/// The elements that one task copies.
const CHUNK: usize = 1 << 15;
/// The inputs that a node of the graph can have.
const INPUTS: usize = 3;

/// Returns the tensors joined along a dimension.
///
/// # Shapes
/// All dimensions except `dim` are equal. The output's size of `dim` is the sum of the inputs' sizes.
///
/// # Panics
/// If there is no tensor or no such dimension, or the other dimensions, the types or the devices of the
/// tensors differ.
///
/// ```
/// use taper::prelude::*;
///
/// let a = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
/// let b = tensor(&[[5.0], [6.0]]); // (2, 1)
/// assert_eq!(cat(&[&a, &b], 1).to_vec2::<f32>(), [[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]]);
/// assert_eq!(cat(&[&a, &a, &a], 0).dims(), [6, 2]);
/// ```
#[inline]
#[track_caller]
pub fn cat<T: AsRef<Tensor>>(tensors: &[T], dim: impl Into<Axis>) -> Tensor {
    let tensors: Vec<&Tensor> = tensors.iter().map(AsRef::as_ref).collect();
    cat_along(&tensors, dim.into())
}

#[track_caller]
fn cat_along(tensors: &[&Tensor], dim: Axis) -> Tensor {
    let tensors: Vec<&Raw> = tensors.iter().map(|x| x.raw()).collect();
    cat_as(&"cat", &tensors, dim).or_raise().into()
}

/// Computes [`cat`]; errors begin with the name of the caller.
pub(crate) fn cat_as(caller: &dyn Display, tensors: &[&Raw], dim: Axis) -> Result<Raw> {
    let Some(first) = tensors.first() else {
        return Err(explain(
            format!("{caller} needs at least one tensor"),
            "Pass the tensors in an array: cat(&[&a, &b], 0)",
        )
        .into());
    };
    let dim = dim.of(caller, first)?;
    for other in &tensors[1..] {
        fits(caller, first, other, dim)?;
    }
    let sizes = tensors.iter().map(|x| x.dims()[dim]);
    let mut shape = first.dims().to_vec();
    shape[dim] = sizes.fold(0, usize::saturating_add);
    check::output(caller, &shape, first)?;
    // An input without elements adds nothing, and a single input is the output.
    let filled: Vec<&Raw> = (tensors.iter().copied())
        .filter(|x| x.elem_count() > 0)
        .collect();
    match filled.as_slice() {
        [] => Raw::cat(tensors, dim),
        [one] => Ok((*one).clone()),
        filled if has_kernel(filled) => joined(filled, dim),
        filled => Raw::cat(filled, dim),
    }
}

/// Checks that two tensors differ in the size of one dimension only.
fn fits(caller: &dyn Display, first: &Raw, other: &Raw, dim: usize) -> Result<()> {
    let (a, b) = (first.dims(), other.dims());
    let others_equal = a.len() == b.len() && a[..dim] == b[..dim] && a[dim + 1..] == b[dim + 1..];
    if !others_equal {
        return Err(explain(
            format!("{caller} cannot join the shapes {a:?} and {b:?} along dimension {dim}"),
            format!("All dimensions except {dim} must be equal"),
        )
        .into());
    }
    let (type_a, type_b) = (first.dtype(), other.dtype());
    if type_a != type_b {
        return Err(explain(
            format!(
                "{caller} cannot join {} and {}",
                type_a.as_str(),
                type_b.as_str()
            ),
            format!("Convert one of them: x.to_dtype(DType::{type_a:?})"),
        )
        .into());
    }
    check::same_device(&format_args!("{caller}'s first tensor"), other, first)
}

/// Joins any number of tensors. If gradients flow to more inputs than a node can have, groups of them are joined
/// first.
fn joined(tensors: &[&Raw], dim: usize) -> Result<Raw> {
    if !are_tracked(tensors) || tensors.len() <= INPUTS {
        return dispatch_dtype!(tensors[0], forward(tensors, dim));
    }
    let parts = tensors.chunks(tensors.len().div_ceil(INPUTS));
    let parts = parts
        .map(|part| joined(part, dim))
        .collect::<Result<Vec<_>>>()?;
    joined(&parts.iter().collect::<Vec<_>>(), dim)
}

fn forward<T: Element>(tensors: &[&Raw], dim: usize) -> Result<Raw> {
    let inputs = (tensors.iter().map(|x| in_order(x))).collect::<Result<Vec<_>>>()?;
    let views = (inputs.iter().map(CpuView::of)).collect::<Result<Vec<_>>>()?;
    let (mut parts, mut row) = (vec![], 0);
    for (view, x) in views.iter().zip(tensors) {
        let values = view.as_slice::<T>()?;
        let length = x.dims()[dim..].iter().product();
        parts.push(Part {
            values,
            length,
            end: row + length,
        });
        row += length;
    }
    let count = parts.iter().map(|part| part.values.len()).sum();
    // SAFETY: `join` writes all of its chunk.
    let y = unsafe { vec_by_chunks(count, CHUNK, |first, y| join(&parts, row, first, y)) };
    drop(parts);
    drop(views);
    let sizes: Vec<usize> = tensors.iter().map(|x| x.dims()[dim]).collect();
    let mut shape = tensors[0].dims().to_vec();
    shape[dim] = sizes.iter().sum();
    let node = &tensors[..tensors.len().min(INPUTS)];
    record(node, y, shape, || Back { dim, sizes })
}

/// An input: each row of the output contains `length` of its elements, the last of them before index `end`.
struct Part<'a, T> {
    values: &'a [T],
    length: usize,
    end: usize,
}

/// Writes the elements of the output from index `first` on.
fn join<T: Element>(parts: &[Part<T>], row: usize, first: usize, mut y: &mut [MaybeUninit<T>]) {
    let (mut index, offset) = (first / row, first % row);
    let mut part = parts.partition_point(|part| part.end <= offset);
    let mut skipped = offset + parts[part].length - parts[part].end;
    while !y.is_empty() {
        let Part { values, length, .. } = parts[part];
        let count = (length - skipped).min(y.len());
        let (now, rest) = y.split_at_mut(count);
        now.write_copy_of_slice(&values[index * length + skipped..][..count]);
        (y, skipped, part) = (rest, 0, part + 1);
        if part == parts.len() {
            (part, index) = (0, index + 1);
        }
    }
}

struct Back {
    dim: usize,
    sizes: Vec<usize>,
}

impl Backward for Back {
    fn takes_views(&self) -> bool {
        true
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (gradient, wanted) = (upstream.gradient, upstream.wanted);
        let (mut parts, mut start) = ([None, None, None], 0);
        for (i, &size) in self.sizes.iter().enumerate().take(INPUTS) {
            if wanted[i] {
                let part = gradient.narrow(self.dim, start, size)?;
                // The gradient of a sum is one element that is read again and again, and so is each part.
                let is_one = part.stride().iter().all(|step| *step == 0);
                parts[i] = Some(if is_one { part } else { in_order(&part)? });
            }
            start += size;
        }
        Ok(parts)
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (mut parts, mut start) = ([None, None, None], 0);
        for (i, &size) in self.sizes.iter().enumerate().take(INPUTS) {
            if upstream.wanted[i] {
                parts[i] = Some(upstream.g().narrow(self.dim, start, size).into());
            }
            start += size;
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::testing::{compare, variable};
    use crate::tensor::{arange, rand};
    use candle_core::DType;

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("cat", 40, |case| {
            let mut shape = [case.between(1, 40), case.between(1, 70), case.between(1, 9)];
            let (dim, count) = (case.between(0, 2), case.between(2, 8));
            let inputs = (0..count).map(|_| {
                shape[dim] = case.between(1, 30);
                case.input(rand(shape.as_slice()))
            });
            Some((
                inputs.collect(),
                Box::new(move |x| cat_as(&"", &x.iter().collect::<Vec<_>>(), dim.into())),
                Box::new(move |x| Raw::cat(x, dim)),
            ))
        });
    }

    /// The gradient of a sum is one element, read again and again.
    #[test]
    fn the_gradients_of_a_sum_are_ones() {
        let [x, y] = [(2, 3), (2, 4)].map(|shape| variable(&rand(shape)));
        let gradients = cat(&[&x, &y], 1).sum_all().backward();
        for x in [&x, &y] {
            let gradient = gradients.of(x);
            assert_eq!(gradient.dims(), x.dims());
            assert_eq!(gradient.to_vec::<f32>(), vec![1.0; x.elem_count()]);
        }
        let twice = cat(&[&x, &x.sqr(), &x], 0).sum_all().backward().of(&x);
        assert_eq!(twice.to_vec::<f32>(), (&x * 2 + 2).to_vec::<f32>());
    }

    #[test]
    fn integers_empty_tensors_and_one_tensor_are_joined() {
        let x = arange(0.0, 4.0).to_dtype(DType::U32);
        assert_eq!(cat(&[&x, &x], 0).to_vec1::<u32>(), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(cat(&[&x], 0).raw().id(), x.raw().id());
        let empty = x.narrow(0, 0, 0);
        assert_eq!(cat(&[&empty, &x, &empty], 0).dims(), [4]);
        let none = rand((0, 2));
        assert_eq!(cat(&[&none, &none], 1).dims(), [0, 4]);
    }

    #[test]
    fn tensors_that_do_not_fit_are_errors() {
        let x = rand((2, 3));
        let message = |tensors: &[&Tensor], dim: usize| {
            let error = attempt(|| cat(tensors, dim)).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            message(&[&x, &x.t()], 1),
            "cat cannot join the shapes [2, 3] and [3, 2] along dimension 1\n\
             All dimensions except 1 must be equal"
        );
        assert_eq!(
            message(&[&x, &x.to_dtype(DType::F64)], 0),
            "cat cannot join f32 and f64\n\
             Convert one of them: x.to_dtype(DType::F32)"
        );
        assert!(message(&[], 0).starts_with("cat needs at least one tensor\n"));
        assert!(message(&[&x], 2).ends_with("\nIts dimensions are 0 to 1"));
    }
}
