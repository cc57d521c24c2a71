//! The part of a tensor that indices choose.

use crate::error::{self, problem, refuse};
use crate::ops::{self, broadcast::common_shape};
use crate::tensor::{Index, Operand, Raw, Tensor};
use candle_core::{DType, Device, Result};
use std::ops::Bound;
use taper_macros::raises;

/// Returns the part of a tensor that the indices choose.
#[raises]
pub(crate) fn select(x: &Tensor, indices: Vec<Index>) -> Result<Tensor> {
    chosen("i", x, &indices)
}

/// Returns the tensor with values in place of the part that the indices choose.
#[raises]
pub(crate) fn put(x: &Tensor, indices: Vec<Index>, values: Operand) -> Result<Tensor> {
    let places = Tensor::from_raw(Raw::arange(0, x.elem_count() as i64, &Device::Cpu)?);
    let on_cpu = |index: &Index| match index {
        Index::Each(each) => Index::Each(each.to_device(&Device::Cpu)),
        index => index.clone(),
    };
    let indices: Vec<Index> = indices.iter().map(on_cpu).collect();
    let places = chosen("index_put", &places.reshape(x.shape()), &indices)?;
    let values = ops::written("index_put", x, values)?;
    refuse!(if common_shape(values.dims(), places.dims()).as_deref() != Some(places.dims());
        shape("index_put", values.dims());
        ("values that can be broadcast to {:?}", places.dims()),
        "Pass values for the part that x.i(…) returns for these indices");
    let values = values.broadcast_as(places.shape());
    let places: Vec<usize> = { places.to_vec::<i64>().into_iter() }
        .map(|place| place as usize)
        .collect();
    ops::replaced(x, &places, &values)
}

fn chosen(caller: &str, x: &Tensor, indices: &[Index]) -> Result<Tensor> {
    let indices = spelled_out(caller, x, indices)?;
    let (mut part, mut dim) = (x.clone(), 0);
    let mut each = vec![];
    for (of, index) in indices.iter().enumerate() {
        if matches!(index, Index::New) {
            part = part.unsqueeze(dim);
            dim += 1;
            continue;
        }
        let size = part.dims()[dim];
        match index {
            Index::At(at) => {
                let start = within(caller, *at, size, size, of)?;
                part = part.narrow(dim, start, 1).squeeze(dim);
                continue;
            }
            Index::Range(from, to) => {
                let (start, end) = bounds(caller, *from, *to, size, of)?;
                part = part.narrow(dim, start, end.saturating_sub(start));
            }
            Index::Stepped { first, last, step } => {
                let to = last.map_or(Bound::Unbounded, Bound::Included);
                let (start, end) = bounds(caller, Bound::Included(*first), to, size, of)?;
                let places = (start..end).step_by(*step).map(|place| place as u32);
                let places: Vec<u32> = places.collect();
                let places = Raw::from_vec(places.clone(), places.len(), x.device())?;
                part = ops::index_select(&part, &places.into(), dim);
            }
            Index::Each(indices) => each.push((dim, from_start(caller, indices, size, of)?)),
            Index::Rest | Index::New => (),
        }
        dim += 1;
    }
    match &each[..] {
        [] => Ok(part),
        [(dim, indices)] if indices.rank() == 1 => Ok(ops::index_select(&part, indices, *dim)),
        _ => paired(caller, &part, &each),
    }
}

/// Returns one index for each dimension that is indexed: a mask becomes the indices where it is not 0, and
/// [`Index::Rest`] the ranges of the dimensions that are left.
fn spelled_out(caller: &str, x: &Tensor, indices: &[Index]) -> Result<Vec<Index>> {
    let dims_of = |index: &Index| match index {
        Index::New | Index::Rest => 0,
        Index::Each(mask) if mask.dtype() == DType::U8 => mask.rank(),
        _ => 1,
    };
    let rest = indices
        .iter()
        .filter(|index| matches!(index, Index::Rest))
        .count();
    let count: usize = indices.iter().map(dims_of).sum();
    refuse!(if count > x.rank() || rest > 1; shape(caller, x.dims());
        "at least {count} dimensions, for {count} indices",
        "Pass at most one index for each dimension, and one Ellipsis");
    let mut all = vec![];
    let mut dim = 0;
    for index in indices {
        match index {
            Index::Rest => {
                let all_of_rest =
                    vec![Index::Range(Bound::Unbounded, Bound::Unbounded); x.rank() - count];
                dim += all_of_rest.len();
                all.extend(all_of_rest);
                continue;
            }
            Index::Each(mask) if mask.dtype() == DType::U8 => {
                let sizes = &x.dims()[dim..dim + mask.rank()];
                refuse!(if mask.dims() != sizes; shape(caller, mask.dims());
                    "a mask of shape {sizes:?}",
                    "Compare the tensor itself: x.i(&x.gt(0.0)); convert indices with to_dtype(DType::I64)");
                let places = mask.nonzero();
                all.extend(
                    (0..mask.rank()).map(|i| Index::Each(places.narrow(1, i, 1).squeeze(1))),
                );
            }
            index => all.push(index.clone()),
        }
        dim += dims_of(index);
    }
    Ok(all)
}

/// Returns indices that count from the start, as `i64`; on the CPU, all are in the dimension.
fn from_start(caller: &str, indices: &Tensor, size: usize, dim: usize) -> Result<Tensor> {
    refuse!(if !indices.dtype().is_int(); dtype(caller, indices.dtype());
        "integers or a mask as indices", "Convert them: indices.to_dtype(DType::I64)");
    let indices = indices.to_dtype(DType::I64);
    if indices.device().is_cpu() {
        let values = indices.to_vec::<i64>();
        let is_wrong = |at: &i64| !(-(size as i64)..size as i64).contains(at);
        if let Some(at) = values.iter().copied().find(|at| is_wrong(at)) {
            return Err(out_of_range(caller, at, size, dim));
        }
        if values.iter().all(|at| *at >= 0) {
            return Ok(indices);
        }
    }
    Ok(indices.lt(0).where_cond(&indices + size, &indices))
}

/// Returns the elements at indices of several dimensions that belong together, as in NumPy: the shapes of the indices are
/// broadcast to one, which replaces these dimensions, or comes first if other dimensions are between them.
fn paired(caller: &str, x: &Tensor, each: &[(usize, Tensor)]) -> Result<Tensor> {
    let mut shape = vec![];
    for (_, indices) in each {
        shape = common_shape(&shape, indices.dims()).ok_or_else(|| {
            problem!(shape(caller, indices.dims());
                "indices that can be broadcast with {shape:?}",
                "Pass an index for each element, or add dimensions with unsqueeze(dim)")
        })?;
    }
    let dims: Vec<usize> = each.iter().map(|(dim, _)| *dim).collect();
    let others: Vec<usize> = (0..x.rank()).filter(|dim| !dims.contains(dim)).collect();
    let sizes: Vec<usize> = others.iter().map(|dim| x.dims()[*dim]).collect();
    let count: usize = dims.iter().map(|dim| x.dims()[*dim]).product();
    let mut positions = Tensor::from_raw(Raw::zeros(&shape[..], DType::I64, x.device())?);
    for (dim, indices) in each {
        positions = positions * x.dims()[*dim] + indices;
    }
    let parts = x.permute([&dims[..], &others].concat());
    let parts = parts.reshape([&[count][..], &sizes].concat());
    let chosen = ops::index_select(&parts, &positions.flatten_all(), 0);
    let chosen = chosen.reshape([&shape[..], &sizes].concat());
    let before = match dims.windows(2).all(|pair| pair[1] == pair[0] + 1) {
        true => dims[0],
        false => 0,
    };
    let rank = shape.len();
    let order = (rank..rank + before)
        .chain(0..rank)
        .chain(rank + before..chosen.rank());
    Ok(chosen.permute(order.collect::<Vec<_>>()))
}

/// Returns an index below `end`, counted from the start; a negative one is counted from the end of a dimension of this size.
fn within(caller: &str, at: i64, size: usize, end: usize, dim: usize) -> Result<usize> {
    let from_start = match at < 0 {
        true => at.saturating_add(size as i64),
        false => at,
    };
    match (0..end as i64).contains(&from_start) {
        true => Ok(from_start as usize),
        false => Err(out_of_range(caller, at, size, dim)),
    }
}

/// Returns the start and the end of a range in a dimension.
fn bounds(
    caller: &str,
    from: Bound<i64>,
    to: Bound<i64>,
    size: usize,
    dim: usize,
) -> Result<(usize, usize)> {
    let element = |at: i64| within(caller, at, size, size, dim);
    let place = |at: i64| within(caller, at, size, size + 1, dim);
    let start = match from {
        Bound::Included(at) => place(at)?,
        Bound::Excluded(at) => element(at)? + 1,
        Bound::Unbounded => 0,
    };
    let end = match to {
        Bound::Included(at) => element(at)? + 1,
        Bound::Excluded(at) => place(at)?,
        Bound::Unbounded => size,
    };
    Ok((start, end))
}

fn out_of_range(caller: &str, at: i64, size: usize, dim: usize) -> candle_core::Error {
    let advice = match size {
        0 => format!("Dimension {dim} is empty"),
        size => format!(
            "Dimension {dim} has the indices 0 to {}, or -{size} to -1 from the end",
            size - 1
        ),
    };
    error::index(caller, "index", at, size, advice).into()
}

/// Returns a view of `len` indices of a dimension.
pub(crate) fn narrowed(x: &Raw, dim: usize, start: usize, len: usize) -> Result<Raw> {
    let size = x.dims()[dim];
    refuse!(if start.checked_add(len).is_none_or(|end| end > size);
        argument("narrow", format_args!("{len} from {start} on"));
        ("indices below {size}, the size of dimension {dim} of {:?}", x.dims()),
        "Choose a smaller start or length");
    x.narrow(dim, start, len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{Ellipsis, NewAxis, arange, tensor};

    /// Returns the integers from 0 to 11 as `(3, 4)`.
    fn matrix() -> Tensor {
        arange(0, 12).reshape((3, 4))
    }

    #[test]
    fn an_index_removes_its_dimension_and_a_range_keeps_it() {
        let x = matrix();
        assert_eq!(x.i((1, 2)).item(), 6.0);
        assert_eq!(x.i((-1, -4)).item(), 8.0);
        assert_eq!(x.i((.., 1)).to_vec1::<i64>(), [1, 5, 9]);
        assert_eq!(x.i((1..2, -2..)).to_vec2::<i64>(), [[6, 7]]);
        assert_eq!(x.i((..-2, ..=1)).to_vec2::<i64>(), [[0, 1]]);
        let last = -2;
        assert_eq!(x.i((2usize, 1..=last)).to_vec1::<i64>(), [9, 10]);
        assert_eq!(x.i((3.., ..0)).dims(), [0, 0]);
        let each = tensor(&[2, 0]);
        assert_eq!(x.i((&each, 3)).to_vec1::<i64>(), [11, 3]);
    }

    #[test]
    fn tensors_of_indices_belong_together() {
        let x = arange(0, 24).reshape((2, 3, 4)); // (2, 3, 4)
        let (a, b) = (tensor(&[[0], [1]]), tensor(&[2, -1])); // (2, 1) and (2,)
        // Of adjacent dimensions, they are in their place.
        assert_eq!(x.i((.., &a, &b)).dims(), [2, 2, 2]);
        assert_eq!(x.i((1, &a, &b)).to_vec2::<i64>(), [[14, 15], [18, 19]]);
        // Or else they come first.
        assert_eq!(
            x.i((&b.clamp(0, 1), .., &b)).to_vec2::<i64>(),
            [[14, 18, 22], [3, 7, 11]]
        );
        let mask = x.gt(20);
        assert_eq!(x.i(&mask).to_vec1::<i64>(), [21, 22, 23]);
        assert_eq!(
            x.i((Ellipsis, &tensor(&[1, 0, 0, 1]).eq(1))).dims(),
            [2, 3, 2]
        );
        assert_eq!(x.i((NewAxis, 0, Ellipsis, NewAxis)).dims(), [1, 3, 4, 1]);
        assert_eq!(x.index_put(&mask, 0).sum_all().item(), 276.0 - 66.0);
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let x = matrix();
        let refusal = |index: &[Index]| {
            let error = attempt(|| select(&x, index.to_vec()))
                .unwrap_err()
                .to_string();
            assert_eq!(error.lines().count(), 2, "{error}");
            error.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(
            refusal(&[(..).into(), (-5).into()]),
            "i: index -5 is out of range: there are 4, counted from 0"
        );
        assert_eq!(
            refusal(&[(..4).into()]),
            "i: index 4 is out of range: there are 3, counted from 0"
        );
        assert_eq!(
            refusal(&[(..=3).into()]),
            "i: index 3 is out of range: there are 3, counted from 0"
        );
        assert_eq!(
            refusal(&[0.into(), 0.into(), 0.into()]),
            "i: expected at least 3 dimensions, for 3 indices, found shape [3, 4]"
        );
        assert!(refusal(&[usize::MAX.into()]).starts_with("i: index "));
    }
}
