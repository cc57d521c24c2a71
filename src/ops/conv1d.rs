//! The convolution of sequences: the convolution of images of height 1.

use super::{Conv2dSpec, Pair, check, conv2d_as};
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
    // The rows of the images have the height 1.
    let of_rows = |setting: Pair, height| Pair { height, ..setting };
    let spec = Conv2dSpec {
        stride: of_rows(spec.stride, 1),
        padding: of_rows(spec.padding, 0),
        dilation: of_rows(spec.dilation, 1),
        ..spec
    };
    let least = spec.extent([1, kernel])[1].saturating_sub(spec.padding.width.saturating_mul(2));
    if length < least {
        let expected =
            format!("Its length must be at least {least}; or give the layer more padding");
        return Err(check::wrong_shape(caller, x, expected));
    }
    conv2d_as(caller, &x.unsqueeze(2)?, &weight.unsqueeze(2)?, bias, spec)?.squeeze(2)
}
