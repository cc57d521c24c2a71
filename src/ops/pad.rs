//! Padding with the values of the input itself.

use super::select::selected;
use super::{Conv2dSpec, check};
use crate::error;
use crate::tensor::Raw;
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
    let mut x = x.clone();
    if mode == PaddingMode::Zeros {
        return Ok((x, spec));
    }
    let last = x.rank() - 1;
    for (dim, padding) in [(last - 1, spec.padding.height), (last, spec.padding.width)] {
        let size = x.dims()[dim];
        if padding == 0 {
            continue;
        }
        if padding > mode.most(size) {
            let (name, most) = (format!("{mode:?}").to_lowercase(), mode.most(size));
            return Err(error::argument(
                caller,
                format_args!("a padding of at most {most} for a size of {size} in mode {name:?}"),
                format_args!("a padding of {padding}"),
                "Choose less padding, or PaddingMode::Zeros",
            )
            .into());
        }
        // Checked for an empty batch too, because the indices need memory.
        let mut shape: Vec<usize> = x.dims().iter().map(|size| *size.max(&1)).collect();
        shape[dim] = padding.saturating_mul(2).saturating_add(size);
        check::output(caller, &shape, &x)?;
        let (size, padding) = (size as isize, padding as isize);
        let indices = (-padding..size + padding).map(|position| mode.index(position, size) as u32);
        let indices = Raw::from_iter(indices, x.device())?;
        x = selected(&x, &indices, dim.into())?;
    }
    Ok((x, spec.padding(0)))
}
