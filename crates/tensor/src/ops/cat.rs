//! Tensors joined along a dimension.

use super::check;
use super::engine::autograd::{Upstream, are_tracked, can_move, recorded};
use super::engine::strided::in_order;
use super::engine::{CpuView, with_elements};
use crate::error::{OrRaise, refuse};
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::{Device, Result};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::ops::Range;
use taper_compute::strided::even_step;
use taper_compute::write::vec_by_chunks;

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
        refuse!(
            "{caller} needs at least one tensor";
            "Pass the tensors in an array: cat(&[&a, &b], 0)");
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
        filled if can_move(first) => joined(filled, dim),
        filled => Raw::cat(filled, dim),
    }
}

/// Checks that two tensors differ in the size of one dimension only.
fn fits(caller: &dyn Display, first: &Raw, other: &Raw, dim: usize) -> Result<()> {
    let (a, b) = (first.dims(), other.dims());
    let others_equal = a.len() == b.len() && a[..dim] == b[..dim] && a[dim + 1..] == b[dim + 1..];
    refuse!(if !others_equal;
        "{caller} cannot join the shapes {a:?} and {b:?} along dimension {dim}";
        "All dimensions except {dim} must be equal");
    let (type_a, type_b) = (first.dtype(), other.dtype());
    refuse!(if type_a != type_b;
        ("{caller} cannot join {} and {}", type_a.as_str(), type_b.as_str());
        "Convert one of them: x.to_dtype(DType::{type_a:?})");
    check::same_device(&format_args!("{caller}'s first tensor"), other, first)
}

/// Joins any number of tensors. If gradients flow to more inputs than a node can have, groups of them are joined
/// first.
fn joined(tensors: &[&Raw], dim: usize) -> Result<Raw> {
    if !are_tracked(tensors) || tensors.len() <= INPUTS {
        return forward(tensors, dim);
    }
    let parts = tensors.chunks(tensors.len().div_ceil(INPUTS));
    let parts = parts
        .map(|part| joined(part, dim))
        .collect::<Result<Vec<_>>>()?;
    joined(&parts.iter().collect::<Vec<_>>(), dim)
}

fn forward(tensors: &[&Raw], dim: usize) -> Result<Raw> {
    let rows = { tensors.iter().map(|x| Rows::of(x, dim)) }.collect::<Result<Vec<_>>>()?;
    let views = rows.iter().map(|rows| CpuView::of_strided(&rows.x));
    let views = views.collect::<Result<Vec<_>>>()?;
    let sizes: Vec<usize> = tensors.iter().map(|x| x.dims()[dim]).collect();
    let mut shape = tensors[0].dims().to_vec();
    shape[dim] = sizes.iter().sum();
    let y = with_elements!(views[0], |first| {
        let (mut parts, mut end) = (vec![], 0);
        for (rows, view) in rows.iter().zip(&views) {
            end += rows.length;
            parts.push(Part {
                rows,
                values: if parts.is_empty() {
                    first
                } else {
                    view.as_slice()?
                },
                end,
            });
        }
        let count = shape.iter().product();
        // SAFETY: `join` writes all of its chunk.
        let y = unsafe { vec_by_chunks(count, CHUNK, |first, y| join(&parts, end, first, y)) };
        Raw::from_vec(y, shape, &Device::Cpu)
    })?;
    let inputs = &tensors[..tensors.len().min(INPUTS)];
    Ok(recorded(inputs, y, || {
        move |up: &Upstream<'_>| {
            up.each(|i| {
                let part = up.gradient.narrow(dim, sizes[..i].iter().sum(), sizes[i])?;
                // The gradient of a sum is one element that is read again and again, and so is each part.
                match part.stride().iter().all(|step| *step == 0) {
                    true => Ok(part),
                    false => part.contiguous(),
                }
            })
        }
    }))
}

/// An input: row `i` of the output contains `length` of its elements, which begin `i * step` after the first.
struct Rows {
    x: Raw,
    length: usize,
    step: usize,
}

impl Rows {
    /// Copies the elements if those of a row are not adjacent.
    fn of(x: &Raw, dim: usize) -> Result<Self> {
        let step = |dims: Range<usize>| even_step(&x.dims()[dims.clone()], &x.stride()[dims]);
        let length = x.dims()[dim..].iter().product();
        let (x, step) = match (step(0..dim), step(dim..x.rank())) {
            (Some(step), Some(1)) => (x.detach(), step),
            _ => (in_order(x)?, length),
        };
        Ok(Rows { x, length, step })
    }
}

/// The elements of an input. The last of those in a row of the output is before index `end`.
struct Part<'a, T> {
    rows: &'a Rows,
    values: &'a [T],
    end: usize,
}

/// Writes the elements of the output from index `first` on. They may be many short pieces, for which checks would take long.
fn join<T: Copy>(parts: &[Part<T>], row: usize, first: usize, mut y: &mut [MaybeUninit<T>]) {
    let (mut index, offset) = (first / row, first % row);
    let mut part = parts.partition_point(|part| part.end <= offset);
    let mut skipped = offset + parts[part].rows.length - parts[part].end;
    while !y.is_empty() {
        let Part { rows, values, .. } = parts[part];
        let count = (rows.length - skipped).min(y.len());
        let (now, rest) = y.split_at_mut(count);
        now.write_copy_of_slice(&values[index * rows.step + skipped..][..count]);
        (y, skipped, part) = (rest, 0, part + 1);
        if part == parts.len() {
            (part, index) = (0, index + 1);
        }
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
