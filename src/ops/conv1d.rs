//! The convolutions of sequences: those of images of height 1.

use super::{Conv2dSpec, Pair, check, conv_transpose2d, conv2d_as};
use candle_core::{Result, Tensor};
use std::fmt::Display;

/// Returns the convolution of the sequences `x` `(batch, in, length)` with `weight`
/// `(out, in / groups, kernel)`, plus `bias` `(out,)`. The settings are those of images of height 1.
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
    let length = checked(caller, x, weight.dim(1)? * spec.groups)?;
    let extent = spec.extent([1, weight.dim(2)?])[1];
    let least = extent.saturating_sub(spec.padding.width.saturating_mul(2));
    if length < least {
        let expected =
            format!("Its length must be at least {least}; or give the layer more padding");
        return Err(check::wrong_shape(caller, x, expected));
    }
    conv2d_as(caller, &x.unsqueeze(2)?, &weight.unsqueeze(2)?, bias, spec)?.squeeze(2)
}

/// Returns the transposed convolution of the sequences `x` `(batch, in, length)` with `weight`
/// `(in, out / groups, kernel)`, plus `bias` `(out,)`. The settings are those of images of height 1.
///
/// # Errors
/// As for [`conv_transpose2d`].
pub(crate) fn conv_transpose1d(
    caller: &dyn Display,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    spec: Conv2dSpec,
    output_padding: Pair,
) -> Result<Tensor> {
    checked(caller, x, weight.dim(0)?)?;
    let (x, weight) = (x.unsqueeze(2)?, weight.unsqueeze(2)?);
    conv_transpose2d(caller, &x, &weight, bias, spec, output_padding)?.squeeze(2)
}

/// Checks that an input is a batch of sequences with this many channels, and returns their length.
fn checked(caller: &dyn Display, x: &Tensor, expected: usize) -> Result<usize> {
    let (_, channels, length) = check::sequences(caller, x)?;
    match channels == expected {
        true => Ok(length),
        false => {
            let expected = format!("Its second dimension, the channels, must be {expected}");
            Err(check::wrong_shape(caller, x, expected))
        }
    }
}
