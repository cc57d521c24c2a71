//! Padding with the values of the input itself.

use super::taps::{AxisGather, resampled};
use super::{Conv2dSpec, cat_as, check};
use crate::error::{problem, refuse};
use crate::tensor::{Number, Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;
use taper_macros::raises;

/// The values with which a convolution pads its input.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = Conv1d::new(1, 1, 1).padding(1).padding_mode(PaddingMode::Circular).bias(false);
/// layer.parameter("weight").set(&ones((1, 1, 1)));
/// let y = layer.forward(&tensor(&[[[1.0, 2.0, 3.0]]])); // (1, 1, 5)
/// assert_eq!(y.to_vec::<f32>(), [3.0, 1.0, 2.0, 3.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The input mirrored at its first and last element, which are not repeated.
    Reflect,
    /// Copies of the first and the last element.
    Replicate,
    /// The elements at the other end of the input.
    Circular,
}

impl PaddingMode {
    /// Returns the index of the element at a position from `-padding` to `size + padding`.
    fn index(self, position: isize, size: isize) -> isize {
        match self {
            Self::Zeros | Self::Replicate => position.clamp(0, size - 1),
            Self::Circular => position.rem_euclid(size),
            Self::Reflect => {
                let last = size - 1;
                last - (last - position.abs()).abs()
            }
        }
    }

    /// Returns the largest padding that is allowed for a dimension of this size.
    fn most(self, size: usize) -> usize {
        match self {
            Self::Reflect => size.saturating_sub(1),
            Self::Circular => size,
            Self::Zeros | Self::Replicate if size > 0 => usize::MAX,
            Self::Zeros | Self::Replicate => 0,
        }
    }
}

impl Tensor {
    methods! {
        /// Returns the tensor with elements added around it. `padding` has two values for each dimension, from the last one
        /// on, as in PyTorch: `&[left, right, top, bottom]`. A negative number removes elements.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[1.0, 2.0, 3.0]); // (3,)
        /// let y = x.pad(&[1, 2], PaddingMode::Reflect); // (6,)
        /// assert_eq!(y.to_vec1::<f32>(), [2.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
        /// ```
        ///
        /// # Panics
        /// If there are not two values for each of some dimensions, or the padding is larger than the mode allows.
        pub fn pad(&self, padding: &[i64], mode: PaddingMode) -> Tensor = padded_by(self, padding, mode, Number::Int(0));

        /// Returns the tensor with a number added around it, where [`pad`](Self::pad) adds elements.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = tensor(&[1.0, 2.0]).pad_with(&[1, 0], 7.0); // (3,)
        /// assert_eq!(y.to_vec1::<f32>(), [7.0, 1.0, 2.0]);
        /// ```
        ///
        /// # Panics
        /// As [`pad`](Self::pad).
        pub fn pad_with(&self, padding: &[i64], value: impl Into<Number>) -> Tensor
            = padded_by(self, padding, PaddingMode::Zeros, value.into());
    }
}

#[raises]
fn padded_by(x: &Tensor, padding: &[i64], mode: PaddingMode, value: Number) -> Result<Tensor> {
    let (pairs, odd) = padding.as_chunks::<2>();
    refuse!(if !odd.is_empty() || pairs.len() > x.rank();
        argument("pad", format_args!("{} values", padding.len()));
        ("two values for each of at most {} dimensions", x.rank()),
        "Pass &[left, right] for the last dimension, &[left, right, top, bottom] for the last two");
    let (mut y, mut added) = (x.clone(), vec![]);
    for (i, [before, after]) in pairs.iter().enumerate() {
        let dim = x.rank() - 1 - i;
        let removed = [before, after]
            .map(|n| usize::try_from((*n).min(0).unsigned_abs()).unwrap_or(usize::MAX));
        let [start, end] = removed;
        let size = y.dims()[dim];
        let Some(left) = size.checked_sub(start.saturating_add(end)) else {
            return Err(too_much("pad", mode, size, 0, start.saturating_add(end)));
        };
        y = y.narrow(dim, start, left);
        added.push([before, after].map(|n| usize::try_from(*n).unwrap_or(0)));
    }
    if mode != PaddingMode::Zeros {
        return with_edges(&"pad", y.raw(), &added, mode).map(Tensor::from_raw);
    }
    for (i, added) in added.into_iter().enumerate() {
        y = with_number(&"pad", &y, x.rank() - 1 - i, added, value)?;
    }
    Ok(y)
}

/// Returns the tensor with a number added at both ends of a dimension.
pub(super) fn with_number(
    caller: &dyn Display,
    x: &Tensor,
    dim: usize,
    added: [usize; 2],
    value: Number,
) -> Result<Tensor> {
    if added == [0, 0] {
        return Ok(x.clone());
    }
    check_output(caller, x.raw(), dim, added)?;
    let part = |count: usize| {
        let mut shape = x.dims().to_vec();
        shape[dim] = count;
        // One row of the output, which is read again and again.
        let row = [&vec![1; dim], &shape[dim..]].concat();
        let row = Raw::full(value.to_f64(), row, x.device())?.to_dtype(x.dtype())?;
        row.broadcast_as(shape)
    };
    let mut parts = vec![x.raw().clone()];
    if added[0] > 0 {
        parts.insert(0, part(added[0])?);
    }
    if added[1] > 0 {
        parts.push(part(added[1])?);
    }
    cat_as(caller, &parts.iter().collect::<Vec<_>>(), dim.into()).map(Tensor::from_raw)
}

/// Returns the tensor with elements of its own added at both ends of dimensions, from the last one on.
fn with_edges(
    caller: &dyn Display,
    x: &Raw,
    added: &[[usize; 2]],
    mode: PaddingMode,
) -> Result<Raw> {
    if x.rank() < 2 {
        let added = added.iter().chain([&[0, 0]]).take(1);
        let added = added.copied().collect::<Vec<_>>();
        return match x.rank() {
            0 => Ok(x.clone()),
            _ => with_edges(caller, &x.unsqueeze(0)?, &added, mode)?.squeeze(0),
        };
    }
    let last = x.rank() - 1;
    let edges = |x: &Raw, dim: usize| match added.get(last - dim) {
        Some(added) => edges(caller, x, dim, *added, mode),
        None => Ok(AxisGather::same(x.dims()[dim])),
    };
    let (rows, columns) = (edges(x, last - 1)?, edges(x, last)?);
    let mut shape = [&x.dims()[..last - 1], &[rows.len(), columns.len()]].concat();
    shape.iter_mut().for_each(|size| *size = 1.max(*size));
    check::output(caller, &shape, x)?;
    let mut x = resampled(x, [rows, columns])?;
    for i in 2..added.len() {
        let taps = edges(&x, last - i)?;
        let mut shape = x.dims().to_vec();
        let (outer, inner) = (&shape[..last - i], shape[last - i + 1..].iter().product());
        let rows = x.reshape((outer.iter().product::<usize>(), shape[last - i], inner))?;
        let rows = resampled(&rows, [taps, AxisGather::same(inner)])?;
        shape[last - i] = rows.dim(1)?;
        x = rows.reshape(shape)?;
    }
    Ok(x)
}

/// Returns where the elements along a dimension come from.
fn edges(
    caller: &dyn Display,
    x: &Raw,
    dim: usize,
    added: [usize; 2],
    mode: PaddingMode,
) -> Result<AxisGather> {
    let (size, [before, after]) = (x.dims()[dim], added);
    let (most, padding) = (mode.most(size), before.max(after));
    if padding == 0 {
        return Ok(AxisGather::same(size));
    }
    if padding > most {
        return Err(too_much(caller, mode, size, most, padding));
    }
    check_output(caller, x, dim, added)?;
    let (end, before) = ((size + after) as isize, before as isize);
    let places = (-before..end).map(|position| mode.index(position, size as isize) as u32);
    Ok(AxisGather::new(size, places.collect()))
}

fn check_output(caller: &dyn Display, x: &Raw, dim: usize, added: [usize; 2]) -> Result<()> {
    // Checked for an empty batch too, because the indices need memory.
    let mut shape: Vec<usize> = x.dims().iter().map(|size| *size.max(&1)).collect();
    shape[dim] = added[0]
        .saturating_add(added[1])
        .saturating_add(x.dims()[dim]);
    check::output(caller, &shape, x)
}

fn too_much(
    caller: impl Display,
    mode: PaddingMode,
    size: usize,
    most: usize,
    found: usize,
) -> candle_core::Error {
    let name = format!("{mode:?}").to_lowercase();
    problem!(argument(caller, format_args!("a padding of {found}"));
        "a padding of at most {most} for a size of {size} in mode {name:?}",
        "Choose less padding, or PaddingMode::Zeros")
    .into()
}

/// Returns the images or sequences, padded as a convolution with this weight needs them, and the settings with the padding
/// that is left: the convolution itself pads with zeros, by as many at the end as at the start.
///
/// # Errors
/// If the padding is larger than the input allows.
#[doc(hidden)]
pub fn padded(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    spec: Conv2dSpec,
    mode: PaddingMode,
) -> Result<(Raw, Conv2dSpec)> {
    let kernel = match *weight.dims() {
        [_, _, columns] => [1, columns],
        [_, _, rows, columns] => [rows, columns],
        _ => [1, 1],
    };
    let [rows, columns] = spec.added(caller, kernel)?;
    if mode != PaddingMode::Zeros {
        return Ok((
            with_edges(caller, x, &[columns, rows], mode)?,
            spec.padding(0),
        ));
    }
    let mut x = Tensor::from_raw(x.clone());
    for (dim, [before, after]) in { (0..x.rank()).rev() }.zip([columns, rows]) {
        x = with_number(caller, &x, dim, [0, after - before], 0.into())?;
    }
    Ok((x.raw().clone(), spec.padding((rows[0], columns[0]))))
}
