//! The convolutions of sequences, computed as convolutions of images of height 1.

use super::{Conv2dSpec, PaddingMode, Pair, check, conv_transpose2d, conv2d_as, padded};
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;

functions! {
    /// Returns the convolution of sequences with a kernel for each output channel, plus a bias.
    ///
    /// Only the width of each setting is used: `Conv2dSpec::new().padding(1)` pads both ends of a sequence.
    ///
    /// # Shapes
    /// `x` is `(batch, in, length)`, `weight` is `(out, in / groups, kernel)`, `bias` is `(out,)`; the output is
    /// `(batch, out, length')`, where `length'` is computed like the width of [`conv2d`](super::conv2d). The batch may be
    /// missing.
    ///
    /// # Panics
    /// As for [`conv2d`](super::conv2d).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[[1.0, 4.0, 9.0, 16.0]]]); // (1, 1, 4)
    /// let difference = tensor(&[[[-1.0, 1.0]]]); // (1, 1, 2)
    /// let y = conv1d(&x, &difference, None, Conv2dSpec::new()); // (1, 1, 3)
    /// assert_eq!(y.to_vec::<f32>(), [3.0, 5.0, 7.0]);
    /// ```
    pub fn conv1d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, settings: Conv2dSpec) =>
        padded_first(x.raw(), weight.raw(), bias.map(Tensor::raw), settings);
}

fn padded_first(x: &Raw, weight: &Raw, bias: Option<&Raw>, settings: Conv2dSpec) -> Result<Raw> {
    let spec = Conv2dSpec {
        stride: (1, settings.stride.width).into(),
        padding: (0, settings.padding.width).into(),
        dilation: (1, settings.dilation.width).into(),
        ..settings
    };
    let (x, spec) = padded(&"conv1d", x, weight, spec, PaddingMode::Zeros)?;
    conv1d_as(&"conv1d", &x, weight, bias, spec)
}

/// Computes [`conv1d`], with errors that begin with the name of the caller. The settings are those of images of
/// height 1, from [`padded`].
#[doc(hidden)]
pub fn conv1d_as(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    spec: Conv2dSpec,
) -> Result<Raw> {
    if x.rank() == 2 {
        return conv1d_as(caller, &x.unsqueeze(0)?, weight, bias, spec)?.squeeze(0);
    }
    if weight.rank() != 3 {
        let expected = "Expected a weight (out, in / groups, kernel)";
        return Err(check::wrong_weight(caller, weight, expected));
    }
    let (.., length) = check::sequences(caller, x)?;
    check::channels(caller, x, weight.dim(1)?.saturating_mul(spec.groups))?;
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
#[doc(hidden)]
pub fn conv_transpose1d(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    spec: Conv2dSpec,
    output_padding: Pair,
) -> Result<Raw> {
    if x.rank() == 2 {
        let x = x.unsqueeze(0)?;
        return conv_transpose1d(caller, &x, weight, bias, spec, output_padding)?.squeeze(0);
    }
    check::sequences(caller, x)?;
    check::channels(caller, x, weight.dim(0)?)?;
    let (x, weight) = (x.unsqueeze(2)?, weight.unsqueeze(2)?);
    conv_transpose2d(caller, &x, &weight, bias, spec, output_padding)?.squeeze(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::zeros;

    #[test]
    fn an_empty_kernel_is_refused() {
        let x = zeros((1, 2, 5));
        let weight = zeros((1, 2, 0));
        let message = attempt(|| conv1d(&x, &weight, None, Conv2dSpec::new())).unwrap_err();
        assert_eq!(
            message.to_string(),
            "conv1d: kernel is 0\nGive kernel a value of at least 1"
        );
    }
}
