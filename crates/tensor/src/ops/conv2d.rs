//! Two-dimensional convolution.
//!
//! On the CPU, kernels compute it and its gradients (`taper_compute::conv2d`), which [`cpu`] brings to the tape. On a GPU,
//! products of matrices do ([`device`]). [`spec`] has the settings and their check.

mod cpu;
mod device;
mod spec;
mod transpose;

pub use spec::Conv2dSpec;
pub use transpose::conv_transpose2d;

use super::batch_norm::RunningStats;
use super::check;
use super::dispatch::run;
use super::engine::autograd::{are_tracked, has_kernel};
use super::engine::dispatch_dtype;
use super::{PaddingMode, padded, profile};
use crate::device::{Windows, lacks_cudnn, suits_kernels};
use crate::ops::tape::foreign;
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Result};
use cpu::{finished, forward};
use std::fmt::Display;

functions! {
    /// Returns the convolution of images with a kernel for each output channel, plus a bias.
    ///
    /// # Shapes
    /// `x` is `(batch, in, height, width)`, `weight` is `(out, in / groups, rows, columns)`, `bias` is
    /// `(out,)`; the output is `(batch, out, height', width')`; the batch may be missing. Here,
    /// `height' = (height + 2 padding - dilation (rows - 1) - 1) / stride + 1`, rounded down.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit, or the number of output channels, the stride, the dilation or the
    /// number of groups is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 9.0).reshape((1, 1, 3, 3));
    /// let edges = tensor(&[[[[-1.0, 1.0]]]]); // (1, 1, 1, 2)
    /// let y = conv2d(&x, &edges, None, Conv2dSpec::new()); // (1, 1, 3, 2)
    /// assert_eq!(y.to_vec::<f32>(), [1.0; 6]);
    /// ```
    pub fn conv2d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, settings: Conv2dSpec) =>
        padded_first(x.raw(), weight.raw(), bias.map(Tensor::raw), settings);
}

fn padded_first(x: &Raw, weight: &Raw, bias: Option<&Raw>, spec: Conv2dSpec) -> Result<Raw> {
    let (x, spec) = padded(&"conv2d", x, weight, spec, PaddingMode::Zeros)?;
    conv2d_as(&"conv2d", &x, weight, bias, spec)
}

/// Computes [`conv2d`] with settings of [`padded`], with errors that begin with the name of the caller.
#[doc(hidden)]
pub fn conv2d_as(
    caller: &dyn Display,
    x: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    spec: Conv2dSpec,
) -> Result<Raw> {
    if x.rank() == 3 {
        return conv2d_as(caller, &x.unsqueeze(0)?, weight, bias, spec)?.squeeze(0);
    }
    let spec = spec.check(caller, x, weight)?;
    check::bias(caller, bias, weight)?;
    if x.elem_count() == 0 {
        let [height, width] = windows(x, weight, spec)?.output;
        let shape = (x.dim(0)?, weight.dim(0)?, height, width);
        let y = Raw::zeros(shape, x.dtype(), x.device())?;
        return plus_bias(y, bias);
    }
    let inputs: Vec<&Raw> = [x, weight].into_iter().chain(bias).collect();
    let geometry = spec.geometry(x.dims4()?, weight.dims4()?);
    profile::count(geometry.multiply_adds());
    run(
        &inputs,
        |inputs| dispatch_dtype!(inputs[0], forward(inputs, geometry, false)),
        |inputs| conv2d_with_candle(inputs[0], inputs[1], inputs.get(2).copied(), spec),
    )
}

/// Computes [`conv2d`], then a batch normalisation, then [`relu`](super::relu), in one pass and with the bits of three.
/// Returns `None` where the three have to be computed one after the other: on a GPU, for gradients, and for inputs that are
/// refused.
#[doc(hidden)]
pub fn conv2d_finished(
    x: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    (spec, mode): (Conv2dSpec, PaddingMode),
    norm: Option<RunningStats<'_>>,
    relu: bool,
) -> Option<Raw> {
    let of_norm = norm.map(|norm| norm.tensors());
    let all: Vec<&Raw> = { [x, weight].into_iter().chain(bias) }
        .chain(of_norm.into_iter().flatten())
        .collect();
    if !has_kernel(&all) || are_tracked(&all) || x.rank() != 4 || x.elem_count() == 0 {
        return None;
    }
    let (x, spec) = &padded(&"", x, weight, spec, mode).ok()?;
    let inputs: Vec<&Raw> = [x, weight].into_iter().chain(bias).collect();
    let spec = spec.check(&"", x, weight).ok()?;
    check::bias(&"", bias, weight).ok()?;
    let channels = weight.dims()[0];
    let fits = |values: &&Raw| values.dims() == [channels];
    if !of_norm.iter().flatten().all(fits) {
        return None;
    }
    profile::begin();
    let geometry = spec.geometry(x.dims4().ok()?, weight.dims4().ok()?);
    profile::count(geometry.multiply_adds());
    let compute = || dispatch_dtype!(x, finished(&inputs, geometry, norm, relu));
    compute().ok()
}

fn conv2d_with_candle(x: &Raw, weight: &Raw, bias: Option<&Raw>, spec: Conv2dSpec) -> Result<Raw> {
    if suits_kernels(x.device(), x.dtype()) {
        let windows = windows(x, weight, spec)?;
        return device::convolve(x, weight, bias, windows, spec.groups);
    }
    if lacks_cudnn(x.device()) {
        let [x32, weight] = [x, weight].map(|values| values.to_dtype(DType::F32));
        let y = conv2d_with_candle(&x32?, &weight?, None, spec)?;
        return plus_bias(y.to_dtype(x.dtype())?, bias);
    }
    let (weight, spec) = with_equal_dilations(weight, spec)?;
    let x = padded_and_cropped(x, &weight, spec)?;
    let (stride, dilation) = (spec.stride, spec.dilation.height);
    let convolve = |stride: usize| {
        foreign(&[&x, &weight], &mut |x| {
            x[0].conv2d(&x[1], 0, stride, dilation, spec.groups)
        })
    };
    let y = match stride.height == stride.width {
        true => convolve(stride.height)?,
        // Candle has one stride for height and width.
        false => {
            let y = convolve(1)?;
            every(&every(&y, 2, stride.height)?, 3, stride.width)?
        }
    };
    plus_bias(y, bias)
}

/// Returns the windows of the weight over the images.
fn windows(x: &Raw, weight: &Raw, spec: Conv2dSpec) -> Result<Windows> {
    let (batch, channels, height, width) = x.dims4()?;
    let window = spec.window([weight.dim(2)?, weight.dim(3)?]);
    Ok(window.over(batch * channels, [height, width], false))
}

/// Adds the bias of each channel `(channels,)` to images `(batch, channels, height, width)`.
fn plus_bias(y: Raw, bias: Option<&Raw>) -> Result<Raw> {
    match bias {
        Some(bias) => y.add(&bias.reshape((1, (), 1, 1))?),
        None => Ok(y),
    }
}

/// Returns every `step`-th element of a dimension.
fn every(x: &Raw, dim: usize, step: usize) -> Result<Raw> {
    let indices: Vec<u32> = (0..x.dim(dim)? as u32).step_by(step).collect();
    x.index_select(&Raw::new(indices, x.device())?, dim)
}

/// Returns the weight with zeros between its elements, and dilation 1, if the dilations differ: Candle has
/// one dilation for height and width.
fn with_equal_dilations(weight: &Raw, spec: Conv2dSpec) -> Result<(Raw, Conv2dSpec)> {
    let mut weight = weight.clone();
    if spec.dilation.height == spec.dilation.width {
        return Ok((weight, spec));
    }
    for (dim, dilation) in [(2, spec.dilation.height), (3, spec.dilation.width)] {
        weight = spread(&weight, dim, dilation)?;
    }
    Ok((weight.contiguous()?, spec.dilation(1)))
}

/// Returns a tensor with `step - 1` zeros between neighbours in a dimension.
fn spread(x: &Raw, dim: usize, step: usize) -> Result<Raw> {
    let size = x.dim(dim)?;
    let spread = x.unsqueeze(dim + 1)?.pad_with_zeros(dim + 1, 0, step - 1)?;
    let spread = spread.flatten(dim, dim + 1)?;
    spread.narrow(dim, 0, (size - 1) * step + 1)
}

/// Returns the input with its padding, but without the rows and columns at its end that the kernel does
/// not reach: Candle's gradient of a convolution is wrong if there are any.
fn padded_and_cropped(x: &Raw, weight: &Raw, spec: Conv2dSpec) -> Result<Raw> {
    let mut x = x.clone();
    let windows = windows(&x, weight, spec)?;
    for (i, dim) in [2, 3].into_iter().enumerate() {
        let (used, padding) = (windows.ends()[i], windows.padding[i]);
        x = x.pad_with_zeros(dim, padding, padding)?;
        if used < x.dim(dim)? {
            x = x.narrow(dim, 0, used)?;
        }
    }
    x.contiguous()
}

#[cfg(test)]
mod tests;
