//! Pooling with Candle's operations.

use super::plane::Pool2dSpec;
use candle_core::{D, Device, Result, Tensor};

pub(super) fn max_pool2d(x: &Tensor, spec: Pool2dSpec) -> Result<Tensor> {
    let patches = patches(x, spec, f64::NEG_INFINITY)?;
    let largest = patches.detach().argmax_keepdim(D::Minus1)?;
    patches.gather(&largest, D::Minus1)?.squeeze(D::Minus1)
}

pub(super) fn avg_pool2d(x: &Tensor, spec: Pool2dSpec) -> Result<Tensor> {
    patches(x, spec, 0.0)?.mean(D::Minus1)
}

/// Returns the elements of each patch: `(batch, channels, out_height, out_width, kernel²)`. The padding
/// has the value `filler`.
fn patches(x: &Tensor, spec: Pool2dSpec, filler: f64) -> Result<Tensor> {
    let Pool2dSpec {
        kernel,
        stride,
        padding,
    } = spec;
    let (n, c, h, w) = x.dims4()?;
    let (out_h, out_w) = (spec.output_size(h), spec.output_size(w));
    let (h, w) = (h + 2 * padding, w + 2 * padding);
    let x = padded(x, padding, filler)?;
    if stride == kernel {
        // Patches that do not overlap need no copies of their elements.
        let x = x
            .narrow(2, 0, out_h * kernel)?
            .narrow(3, 0, out_w * kernel)?;
        let x = x
            .contiguous()?
            .reshape(&[n, c, out_h, kernel, out_w, kernel][..])?;
        let x = x.permute(vec![0, 1, 2, 4, 3, 5])?.contiguous()?;
        return x.reshape((n, c, out_h, out_w, kernel * kernel));
    }
    let indices = patch_indices(spec, w, (out_h, out_w), x.device())?;
    let x = x.reshape((n * c, h * w))?.index_select(&indices, 1)?;
    x.reshape((n, c, out_h, out_w, kernel * kernel))
}

/// Returns the indices of the elements of each patch in a flat image of this width.
fn patch_indices(
    Pool2dSpec { kernel, stride, .. }: Pool2dSpec,
    width: usize,
    (out_h, out_w): (usize, usize),
    device: &Device,
) -> Result<Tensor> {
    let mut indices = Vec::with_capacity(out_h * out_w * kernel * kernel);
    for top in (0..out_h).map(|i| i * stride) {
        for left in (0..out_w).map(|i| i * stride) {
            for row in top..top + kernel {
                indices.extend((left..left + kernel).map(|column| (row * width + column) as u32));
            }
        }
    }
    let count = indices.len();
    Tensor::from_vec(indices, count, device)
}

fn padded(x: &Tensor, padding: usize, filler: f64) -> Result<Tensor> {
    if padding == 0 {
        return Ok(x.clone());
    }
    let mut x = x.clone();
    for dim in [2, 3] {
        let mut shape = x.dims().to_vec();
        shape[dim] = padding;
        let edge = (Tensor::zeros(shape, x.dtype(), x.device())? + filler)?;
        x = Tensor::cat(&[&edge, &x, &edge], dim)?;
    }
    Ok(x)
}
