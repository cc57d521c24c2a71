//! Padding with the values of the input itself.

use super::select::selected;
use super::{Conv2dSpec, check};
use crate::error::{self, composed};
use crate::tensor::{Number, Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;

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

#[track_caller]
fn padded_by(x: &Tensor, padding: &[i64], mode: PaddingMode, value: Number) -> Tensor {
    composed(|| {
        let (pairs, odd) = padding.as_chunks::<2>();
        if !odd.is_empty() || pairs.len() > x.rank() {
            return Err(error::argument(
                "pad",
                format_args!("two values for each of at most {} dimensions", x.rank()),
                format_args!("{} values", padding.len()),
                "Pass &[left, right] for the last dimension, &[left, right, top, bottom] for the last two",
            )
            .into());
        }
        let mut y = x.clone();
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
            let added = [before, after].map(|n| usize::try_from(*n).unwrap_or(0));
            y = padded_along(&"pad", &y, dim, added, mode, value)?;
        }
        Ok(y)
    })
}

/// Returns the tensor with elements added at both ends of a dimension.
fn padded_along(
    caller: &dyn Display,
    x: &Tensor,
    dim: usize,
    [before, after]: [usize; 2],
    mode: PaddingMode,
    value: Number,
) -> Result<Tensor> {
    let size = x.dims()[dim];
    // Checked for an empty batch too, because the indices need memory.
    let mut shape: Vec<usize> = x.dims().iter().map(|size| *size.max(&1)).collect();
    shape[dim] = before.saturating_add(after).saturating_add(size);
    let most = mode.most(size);
    match before.max(after) {
        0 => return Ok(x.clone()),
        padding if mode != PaddingMode::Zeros && padding > most => {
            return Err(too_much(caller, mode, size, most, padding));
        }
        _ => (),
    }
    check::output(caller, &shape, x.raw())?;
    if mode == PaddingMode::Zeros {
        let number =
            Tensor::from_raw(Raw::full(value.to_f64(), (), x.device())?).to_dtype(x.dtype());
        let ends = [before, after].map(|count| {
            let mut shape = x.dims().to_vec();
            shape[dim] = count;
            number.broadcast_as(shape)
        });
        return Ok(Tensor::cat(&[&ends[0], x, &ends[1]], dim));
    }
    let (size, before, after) = (size as isize, before as isize, after as isize);
    let indices = (-before..size + after).map(|position| mode.index(position, size) as u32);
    let indices = Raw::from_iter(indices, x.raw().device())?;
    selected(x.raw(), &indices, dim.into()).map(Tensor::from_raw)
}

fn too_much(
    caller: impl Display,
    mode: PaddingMode,
    size: usize,
    most: usize,
    found: usize,
) -> candle_core::Error {
    let name = format!("{mode:?}").to_lowercase();
    error::argument(
        caller,
        format_args!("a padding of at most {most} for a size of {size} in mode {name:?}"),
        format_args!("a padding of {found}"),
        "Choose less padding, or PaddingMode::Zeros",
    )
    .into()
}

/// Returns the padded images or sequences, and the settings without padding. In mode `Zeros`, returns both
/// unchanged: the convolution itself pads with zeros.
///
/// # Errors
/// If the padding is larger than the input allows.
pub(crate) fn padded(
    caller: &dyn Display,
    x: &Raw,
    spec: Conv2dSpec,
    mode: PaddingMode,
) -> Result<(Raw, Conv2dSpec)> {
    let mut x = Tensor::from_raw(x.clone());
    if mode == PaddingMode::Zeros {
        return Ok((x.into(), spec));
    }
    let last = x.rank() - 1;
    for (dim, padding) in [(last - 1, spec.padding.height), (last, spec.padding.width)] {
        x = padded_along(caller, &x, dim, [padding; 2], mode, Number::Int(0))?;
    }
    Ok((x.into(), spec.padding(0)))
}
