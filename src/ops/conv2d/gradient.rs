//! Candle's convolution with Taper's own gradients.
//!
//! Candle computes the gradient of the input in a kernel in which each thread walks all weights of a channel. Here it
//! is a product of two matrices, which cuBLAS computes, and a sum of its columns ([`Columns`]). Judging by the code,
//! this is faster; it has not been measured on a GPU. cuDNN would not help: Candle calls it in the forward pass only.

use crate::device::Columns;
use crate::ops::engine::autograd::second_derivatives;
use crate::tensor::Raw;
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape};

/// Returns the convolution of `x` with `weight` without padding. The kernel must reach each row and column of `x`.
pub(super) fn convolve(
    x: &Raw,
    weight: &Raw,
    stride: usize,
    dilation: usize,
    groups: usize,
) -> Result<Raw> {
    let is_recorded = x.track_op() || weight.track_op();
    if !is_recorded || x.device().is_metal() || second_derivatives() {
        return x.conv2d(weight, 0, stride, dilation, groups);
    }
    let (xs, weights) = (x.chunk(groups, 1)?, weight.chunk(groups, 0)?);
    let parts = xs.iter().zip(&weights).map(|(x, weight)| {
        let y = (x.detach()).conv2d(&weight.detach(), 0, stride, dilation, 1)?;
        x.apply_op3(weight, &y, Convolution { stride, dilation })
    });
    Raw::cat(&parts.collect::<Result<Vec<_>>>()?, 1)
}

/// The node that connects a convolution, its third input, to the convolution's input and weight.
struct Convolution {
    stride: usize,
    dilation: usize,
}

impl Convolution {
    fn input_gradient(&self, x: &Raw, weight: &Raw, gradient: &Raw) -> Result<Raw> {
        let (batch, channels, height, width) = x.dims4()?;
        let (out_channels, _, rows, columns) = weight.dims4()?;
        let (_, _, out_height, out_width) = gradient.dims4()?;
        let weight = weight.reshape((out_channels, channels * rows * columns))?;
        let gradient = gradient.transpose(0, 1)?.contiguous()?;
        let gradient = gradient.reshape((out_channels, batch * out_height * out_width))?;
        weight.t()?.matmul(&gradient)?.apply_op1_no_bwd(&Columns {
            batch,
            channels,
            size: [height, width],
            kernel: [rows, columns],
            output: [out_height, out_width],
            stride: self.stride,
            dilation: self.dilation,
        })
    }

    /// Returns the convolution of the input with the gradient, in both of which batch and channels are swapped.
    fn weight_gradient(&self, x: &Raw, weight: &Raw, gradient: &Raw) -> Result<Raw> {
        let (_, _, rows, columns) = weight.dims4()?;
        let (x, gradient) = (x.transpose(0, 1)?, gradient.transpose(0, 1)?);
        let gradient = x.conv2d(&gradient.contiguous()?, 0, self.dilation, self.stride, 1)?;
        let gradient = gradient.narrow(2, 0, rows)?.narrow(3, 0, columns)?;
        gradient.transpose(0, 1)
    }
}

impl CustomOp3 for Convolution {
    fn name(&self) -> &'static str {
        "convolution"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        y: &CpuStorage,
        layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Ok((y.try_clone(layout)?, layout.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
        y: &CudaStorage,
        layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        Ok((y.try_clone(layout)?, layout.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Raw,
        weight: &Raw,
        _: &Raw,
        _: &Raw,
        gradient: &Raw,
    ) -> Result<(Option<Raw>, Option<Raw>, Option<Raw>)> {
        let (of_x, of_weight) = (x.track_op(), weight.track_op());
        let (x, weight) = (x.detach(), weight.detach());
        let of_x = of_x.then(|| self.input_gradient(&x, &weight, gradient));
        let of_weight = of_weight.then(|| self.weight_gradient(&x, &weight, gradient));
        Ok((of_x.transpose()?, of_weight.transpose()?, None))
    }
}
