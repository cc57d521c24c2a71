//! Two-dimensional convolution, without a matrix of patches (im2col).
//!
//! - [`convolve`] computes the sums from rows in scratch memory, which have the [`layout`] in which each
//!   element of the convolution's kernel is one fixed offset.
//! - The gradient of the input is the convolution of the output's gradient with the rotated weights: the
//!   same code with another [`geometry`].
//! - [`weight_gradient`] correlates the input with the output's gradient.

mod convolve;
mod cpu;
mod geometry;
mod layout;
mod transpose;
mod weight_gradient;

pub(crate) use geometry::Conv2dSpec;
pub(crate) use transpose::conv_transpose2d;

use super::engine::autograd::has_kernel;
use super::engine::dispatch_dtype;
use candle_core::{Result, Tensor};
use cpu::forward;
use std::fmt::Display;

/// Returns the convolution of the images `x` `(batch, in, height, width)` with `weight`
/// `(out, in / groups, rows, columns)`, plus `bias` `(out,)`.
///
/// # Errors
/// If the shapes, types or devices do not fit, or a setting is 0.
pub(crate) fn conv2d(
    caller: &dyn Display,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    spec: Conv2dSpec,
) -> Result<Tensor> {
    spec.check(caller, x, weight)?;
    let inputs: Vec<&Tensor> = [x, weight].into_iter().chain(bias).collect();
    match has_kernel(&inputs) && x.elem_count() > 0 {
        true => dispatch_dtype!(x, forward(&inputs, spec)),
        false => conv2d_with_candle(x, weight, bias, spec),
    }
}

fn conv2d_with_candle(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    spec: Conv2dSpec,
) -> Result<Tensor> {
    let x = padded_and_cropped(x, weight, spec)?;
    let y = x.conv2d(weight, 0, spec.stride, spec.dilation, spec.groups)?;
    match bias {
        Some(bias) => y.broadcast_add(&bias.reshape((1, (), 1, 1))?),
        None => Ok(y),
    }
}

/// Returns the input with its padding, but without the rows and columns at its end that the kernel does
/// not reach: Candle's gradient of a convolution is wrong if there are any.
fn padded_and_cropped(x: &Tensor, weight: &Tensor, spec: Conv2dSpec) -> Result<Tensor> {
    let mut x = x.clone();
    for dim in [2, 3] {
        let (size, kernel) = (x.dim(dim)?, weight.dim(dim)?);
        let used = (spec.output_size(size, kernel) - 1) * spec.stride + spec.extent(kernel);
        x = x.pad_with_zeros(dim, spec.padding, spec.padding)?;
        if used < x.dim(dim)? {
            x = x.narrow(dim, 0, used)?;
        }
    }
    x.contiguous()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Case, compare};
    use crate::tensor::{rand, randn};
    use candle_core::Device;

    const CPU: Device = Device::Cpu;

    /// Returns random settings, the shape of the weight, and the channels, height and width of the images.
    fn random(case: &mut Case) -> Option<(Conv2dSpec, [usize; 4], [usize; 3])> {
        let groups = case.one_of(&[1, 1, 1, 2, 3]);
        // With these, each method for the gradients of weights is used at each length of vectors.
        let out_channels = groups * case.one_of(&[1, 2, 3, 5, 8, 11, 16, 35, 52]);
        let kernel = case.between(1, 5);
        let spec = Conv2dSpec {
            stride: case.one_of(&[1, 1, 2, 3]),
            padding: case.between(0, 4),
            dilation: case.one_of(&[1, 1, 2, 3]),
            groups,
        };
        let in_channels = case.one_of(&[1, 2, 3, 4, 7, 12]);
        let (height, width) = (case.between(1, 40), case.between(1, 40));
        let fits = height.min(width) + 2 * spec.padding >= spec.extent(kernel);
        let weight = [out_channels, in_channels, kernel, kernel];
        fits.then_some((spec, weight, [groups * in_channels, height, width]))
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("conv2d", 120, |case| {
            let (spec, weight, [channels, height, width]) = random(case)?;
            let batch = case.one_of(&[1, 2, 5, 20]);
            let x = case.input(randn((batch, channels, height, width), &CPU));
            let mut inputs = vec![x, case.input(rand(&weight[..], &CPU))];
            if case.one_of(&[true, false]) {
                inputs.push(case.input(randn(weight[0], &CPU)));
            }
            let kernel = move |x: &[Tensor]| conv2d(&"conv2d", &x[0], &x[1], x.get(2), spec);
            let candle = move |x: &[Tensor]| conv2d_with_candle(&x[0], &x[1], x.get(2), spec);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
