//! The transposed convolution: the map from the gradient of a convolution's output to that of its input.
//!
//! So its forward pass is the backward pass of [`conv2d`](super::conv2d), and its backward pass the
//! forward pass; `weight` is the weight of that convolution.

use super::cpu::forward;
use super::spec::Conv2dSpec;
use super::{conv2d_with_candle, plus_bias, spread};
use crate::error::refuse;
use crate::ops::dispatch::run;
use crate::ops::engine::dispatch_dtype;
use crate::ops::tape::foreign;
use crate::ops::{Pair, check, profile};
use crate::tensor::Raw;
use candle_core::Result;
use std::fmt::Display;

/// Returns the transposed convolution of the images `x` `(batch, in, height, width)` with `weight`
/// `(in, out / groups, rows, columns)`, plus `bias` `(out,)`: `(batch, out, height', width')` with
/// `height' = (height - 1) stride - 2 padding + dilation (rows - 1) + output_padding + 1`.
///
/// # Errors
/// If the shapes, types or devices do not fit, the stride or the dilation is 0, or `output_padding` is
/// not less than the stride.
#[doc(hidden)]
pub fn conv_transpose2d(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    spec: Conv2dSpec,
    output_padding: Pair,
) -> Result<Raw> {
    if x.rank() == 3 {
        let x = x.unsqueeze(0)?;
        return conv_transpose2d(caller, &x, weight, bias, spec, output_padding)?.squeeze(0);
    }
    let to = output_shape(caller, x, weight, spec, output_padding)?;
    // A longer stride than the padded output has no effect, but would need memory.
    let padding = spec.padding.both();
    let most = [0, 1].map(|i| to[2 + i] + 2 * padding[i]);
    let stride = spec.stride.both();
    let spec = spec.stride([0, 1].map(|i| stride[i].min(most[i])));
    if x.elem_count() == 0 {
        return Raw::zeros(&to[..], x.dtype(), x.device());
    }
    let inputs: Vec<&Raw> = [x, weight].into_iter().chain(bias).collect();
    let geometry = spec.geometry(to.into(), weight.dims4()?);
    profile::count(geometry.multiply_adds());
    run(
        &inputs,
        |inputs| dispatch_dtype!(inputs[0], forward(inputs, geometry, true)),
        |inputs| {
            with_candle(
                inputs[0],
                inputs[1],
                inputs.get(2).copied(),
                spec,
                output_padding,
            )
        },
    )
}

/// Checks the inputs, and returns the shape of the output.
fn output_shape(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    spec: Conv2dSpec,
    output_padding: Pair,
) -> Result<[usize; 4]> {
    let (batch, _, height, width) = check::images(caller, x)?;
    let (in_channels, per_group, rows, columns) = weight.dims4()?;
    check::channels(caller, x, in_channels)?;
    check::same_place(caller, x, weight)?;
    let settings = [
        ("stride", spec.stride.least()),
        ("dilation", spec.dilation.least()),
    ];
    check::positive(caller, &settings)?;
    let (added, stride) = (output_padding.both(), spec.stride.both());
    refuse!(if (0..2).any(|i| added[i] >= stride[i]);
        ("{caller}: output_padding is {output_padding}, the stride {}", spec.stride);
        "Choose an output_padding that is less than the stride");
    let extent = spec.extent([rows, columns]);
    let size = |i: usize, size: usize| {
        let last = size.checked_sub(1)?.checked_mul(stride[i])?;
        let full = last.checked_add(extent[i])?.checked_add(added[i])?;
        full.checked_sub(spec.padding.both()[i].checked_mul(2)?)
    };
    match (size(0, height), size(1, width)) {
        (Some(height @ 1..), Some(width @ 1..)) => {
            let shape = [batch, per_group * spec.groups, height, width];
            check::output(caller, &shape.map(|size| size.max(1)), x)?;
            Ok(shape)
        }
        _ => refuse!(
            "{caller}: the output for an input of size {height}×{width} would be empty or too large";
            "Choose less padding, or smaller settings"),
    }
}

fn with_candle(
    x: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    spec: Conv2dSpec,
    output_padding: Pair,
) -> Result<Raw> {
    let settings = [spec.stride, spec.padding, spec.dilation, output_padding];
    if settings
        .iter()
        .any(|setting| setting.height != setting.width)
    {
        return by_convolution(x, weight, bias, spec, output_padding);
    }
    let [stride, padding, dilation, added] = settings.map(|setting| setting.height);
    let (xs, weights) = (x.chunk(spec.groups, 1)?, weight.chunk(spec.groups, 0)?);
    let parts = xs.iter().zip(&weights).map(|(x, weight)| {
        let (x, weight) = (x.contiguous()?, weight.contiguous()?);
        foreign(&[&x, &weight], &mut |x| {
            x[0].conv_transpose2d(&x[1], padding, added, stride, dilation)
        })
    });
    let y = Raw::cat(&parts.collect::<Result<Vec<_>>>()?, 1)?;
    plus_bias(y, bias)
}

/// Returns the transposed convolution, computed as a convolution of the input, with zeros between its pixels,
/// with the rotated weight. This supports different settings for height and width, for which Candle has one.
fn by_convolution(
    x: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    spec: Conv2dSpec,
    output_padding: Pair,
) -> Result<Raw> {
    let extent = spec.extent([weight.dim(2)?, weight.dim(3)?]);
    let (mut x, mut weight) = (x.clone(), weight.clone());
    for (i, dim) in [2, 3].into_iter().enumerate() {
        let (reach, padding) = (extent[i] - 1, spec.padding.both()[i]);
        let added = reach + output_padding.both()[i];
        let removed = [padding.saturating_sub(reach), padding.saturating_sub(added)];
        x = spread(&x, dim, spec.stride.both()[i])?;
        x = x.pad_with_zeros(
            dim,
            reach.saturating_sub(padding),
            added.saturating_sub(padding),
        )?;
        x = x.narrow(dim, removed[0], x.dim(dim)? - removed[0] - removed[1])?;
        let from_the_end: Vec<u32> = (0..weight.dim(dim)? as u32).rev().collect();
        weight = weight
            .contiguous()?
            .index_select(&Raw::new(from_the_end, weight.device())?, dim)?;
    }
    let groups = weight.chunk(spec.groups, 0)?;
    let swapped = groups.iter().map(|weight| weight.transpose(0, 1));
    let weight = Raw::cat(&swapped.collect::<Result<Vec<_>>>()?, 0)?.contiguous()?;
    let spec = Conv2dSpec::new()
        .dilation(spec.dilation)
        .groups(spec.groups);
    conv2d_with_candle(&x.contiguous()?, &weight, bias, spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{rand, randn};

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("conv_transpose2d", 100, |case| {
            let groups = case.one_of(&[1, 1, 2, 3]);
            let mut stride = Pair::from(case.one_of(&[1, 2, 3]));
            let mut kernel = Pair::from(case.between(1, 4));
            let mut spec = Conv2dSpec::new()
                .padding(case.between(0, 2))
                .dilation(case.one_of(&[1, 1, 2]))
                .groups(groups);
            let mut output_padding = Pair::from(case.between(0, stride.width - 1));
            if case.one_of(&[true, false]) {
                (stride.height, kernel.height) = (case.between(1, 3), case.between(1, 4));
                (spec.padding.height, spec.dilation.height) =
                    (case.between(0, 2), case.between(1, 2));
                output_padding.height = case.between(0, stride.height - 1);
            }
            let spec = spec.stride(stride);
            let (ins, outs) = (groups * case.between(1, 5), case.between(1, 7));
            let size = (case.between(3, 17), case.between(3, 17));
            let x = randn((case.between(1, 3), ins, size.0, size.1));
            let mut inputs = vec![
                case.input(x),
                case.input(rand((ins, outs, kernel.height, kernel.width))),
            ];
            if case.one_of(&[true, false]) {
                inputs.push(case.input(randn(outs * groups)));
            }
            output_shape(&"", &inputs[0], &inputs[1], spec, output_padding).ok()?;
            let kernel = move |x: &[Raw]| {
                conv_transpose2d(&"", &x[0], &x[1], x.get(2), spec, output_padding)
            };
            let candle = move |x: &[Raw]| with_candle(&x[0], &x[1], x.get(2), spec, output_padding);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }

    #[test]
    fn a_long_stride_between_no_pixels_needs_no_memory() {
        let x = Raw::from(randn((2, 1, 1, 1)));
        let weight = Raw::from(rand((1, 1, 2, 3)));
        let spec = Conv2dSpec::new().stride(1 << 40);
        let y = conv_transpose2d(&"", &x, &weight, None, spec, 0.into()).unwrap();
        assert_eq!(y.dims(), [2, 1, 2, 3]);
    }
}
