//! Pooling with Candle's operations.

use super::plane::Pool2dSpec;
use crate::ops::pair::Pair;
use candle_core::{D, Device, Result, Tensor};

pub(super) fn max_pool2d(x: &Tensor, spec: Pool2dSpec) -> Result<Tensor> {
    let patches = patches(x, spec, f64::NEG_INFINITY)?;
    let largest = patches.detach().argmax_keepdim(D::Minus1)?;
    patches.gather(&largest, D::Minus1)?.squeeze(D::Minus1)
}

pub(super) fn avg_pool2d(x: &Tensor, spec: Pool2dSpec) -> Result<Tensor> {
    patches(x, spec, 0.0)?.mean(D::Minus1)
}

/// Returns the elements of each patch: `(batch, channels, out_height, out_width, elements)`. The padding
/// has the value `filler`.
fn patches(x: &Tensor, spec: Pool2dSpec, filler: f64) -> Result<Tensor> {
    let (n, c, h, w) = x.dims4()?;
    let [out_h, out_w] = spec.output_size([h, w]);
    let (h, w) = (h + 2 * spec.padding.height, w + 2 * spec.padding.width);
    let x = padded(x, spec.padding, filler)?;
    let (rows, columns) = (spec.kernel.height, spec.kernel.width);
    if spec.stride == spec.kernel {
        // Patches that do not overlap need no copies of their elements.
        let x = x
            .narrow(2, 0, out_h * rows)?
            .narrow(3, 0, out_w * columns)?;
        let x = x
            .contiguous()?
            .reshape(&[n, c, out_h, rows, out_w, columns][..])?;
        let x = x.permute(vec![0, 1, 2, 4, 3, 5])?.contiguous()?;
        return x.reshape((n, c, out_h, out_w, rows * columns));
    }
    let indices = patch_indices(spec, w, (out_h, out_w), x.device())?;
    let x = x.reshape((n * c, h * w))?.index_select(&indices, 1)?;
    x.reshape((n, c, out_h, out_w, rows * columns))
}

/// Returns the indices of the elements of each patch in a flat image of this width.
fn patch_indices(
    Pool2dSpec { kernel, stride, .. }: Pool2dSpec,
    width: usize,
    (out_h, out_w): (usize, usize),
    device: &Device,
) -> Result<Tensor> {
    let mut indices = Vec::with_capacity(out_h * out_w * kernel.product());
    for top in (0..out_h).map(|i| i * stride.height) {
        for left in (0..out_w).map(|i| i * stride.width) {
            for row in top..top + kernel.height {
                let columns = left..left + kernel.width;
                indices.extend(columns.map(|column| (row * width + column) as u32));
            }
        }
    }
    let count = indices.len();
    Tensor::from_vec(indices, count, device)
}

fn padded(x: &Tensor, padding: Pair, filler: f64) -> Result<Tensor> {
    let mut x = x.clone();
    for (dim, padding) in [(2, padding.height), (3, padding.width)] {
        if padding == 0 {
            continue;
        }
        let mut shape = x.dims().to_vec();
        shape[dim] = padding;
        let edge = (Tensor::zeros(shape, x.dtype(), x.device())? + filler)?;
        x = Tensor::cat(&[&edge, &x, &edge], dim)?;
    }
    Ok(x)
}
