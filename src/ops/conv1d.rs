//! The convolution of sequences: the convolution of images of height 1.

use super::{Conv2dSpec, check, conv2d};
use candle_core::{Result, Tensor};
use std::fmt::Display;

/// Returns the convolution of the sequences `x` `(batch, in, length)` with `weight`
/// `(out, in / groups, kernel)`, plus `bias` `(out,)`.
///
/// # Errors
/// If the shapes, types or devices do not fit, or a setting is 0.
pub(crate) fn conv1d(
    caller: &dyn Display,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    spec: Conv2dSpec,
) -> Result<Tensor> {
    let (_, channels, length) = check::sequences(caller, x)?;
    let (_, per_group, kernel) = weight.dims3()?;
    let expected = per_group * spec.groups;
    if channels != expected {
        let expected = format!("Its second dimension, the channels, must be {expected}");
        return Err(check::wrong_shape(caller, x, expected));
    }
    let least = spec.extent(kernel).saturating_sub(2 * spec.padding);
    if length < least {
        let expected =
            format!("Its length must be at least {least}; or give the layer more padding");
        return Err(check::wrong_shape(caller, x, expected));
    }
    // Padded here, because the padding of images has rows as well.
    let x = match spec.padding {
        0 => x.clone(),
        padding => x.pad_with_zeros(2, padding, padding)?,
    };
    let spec = Conv2dSpec { padding: 0, ..spec };
    conv2d(caller, &x.unsqueeze(2)?, &weight.unsqueeze(2)?, bias, spec)?.squeeze(2)
}
