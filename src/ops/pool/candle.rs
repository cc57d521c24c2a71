//! Pooling on a GPU, by kernels over [`Windows`] or with Candle's operations.
//!
//! With Candle's, the elements at one position of all patches are a view of the images,
//! `(batch, channels, out_height, out_width)`. Their maximum or mean is taken view by view, forward and
//! backward, with as many threads as the output has elements. An `index_select` of the patches would be
//! shorter, but a GPU would compute its gradient with only one thread for each image, and its indices
//! would be uploaded in every step.

use super::plane::Pool2dSpec;
use crate::device::{Windows, indices_of_maxima, of_picked, of_sums, picked, suits_kernels, sums};
use crate::ops::pair::Pair;
use crate::ops::tape::first_order;
use crate::tensor::Raw;
use candle_core::Result;

/// Returns the maxima. Of equal elements, the first gets the gradient; NaN counts as larger than all
/// other values.
pub(super) fn max_pool2d(x: &Raw, spec: Pool2dSpec) -> Result<Raw> {
    if suits_kernels(x.device(), x.dtype()) {
        let windows = windows(x, spec)?;
        let indices = indices_of_maxima(&windows, x)?;
        let y = picked(&windows, x, &indices)?;
        let shape = x.dims().to_vec();
        return Ok(first_order(y, &[x], "max_pool2d", move |g| {
            of_picked(&windows, g, &indices, &shape)
        }));
    }
    reduce(&views(x, spec, f64::NEG_INFINITY)?, |max, x| {
        let (new, old) = (x.detach(), max.detach());
        let larger = (new.gt(&old)? + new.ne(&new)?)?;
        larger.where_cond(x, max)
    })
}

pub(super) fn avg_pool2d(x: &Raw, spec: Pool2dSpec) -> Result<Raw> {
    if suits_kernels(x.device(), x.dtype()) {
        let windows = windows(x, spec)?;
        let shape = x.dims().to_vec();
        let y = (sums(&windows, x)? / spec.kernel.product() as f64)?;
        return Ok(first_order(y, &[x], "avg_pool2d", move |g| {
            of_sums(&windows, &(g / spec.kernel.product() as f64)?, &shape)
        }));
    }
    let views = views(x, spec, 0.0)?;
    reduce(&views, |sum, x| sum + x)? / views.len() as f64
}

fn windows(x: &Raw, spec: Pool2dSpec) -> Result<Windows> {
    let (batch, channels, height, width) = x.dims4()?;
    let size = [height, width];
    Ok(Windows {
        planes: batch * channels,
        size,
        kernel: spec.kernel.both(),
        output: spec.output_size(size),
        stride: spec.stride.both(),
        dilation: spec.dilation.both(),
        padding: spec.padding.both(),
    })
}

fn reduce(views: &[Raw], f: impl Fn(&Raw, &Raw) -> Result<Raw>) -> Result<Raw> {
    let (first, rest) = views.split_first().expect("a patch has elements");
    rest.iter().try_fold(first.clone(), |sum, x| f(&sum, x))
}

/// Returns a view for each position in the patches, row by row: the elements there, of all patches. The
/// padding has the value `filler`.
///
/// Elements whose row and column have the same remainders modulo the stride form a phase of the images.
/// In a phase, the elements of neighbouring patches are next to each other, so a view is a part of a
/// phase.
pub(super) fn views(x: &Raw, spec: Pool2dSpec, filler: f64) -> Result<Vec<Raw>> {
    let (n, c, h, w) = x.dims4()?;
    let [out_h, out_w] = spec.output_size([h, w]);
    let x = padded(x, spec.padding, filler)?;
    let ([rows, columns], [tall, broad]) = (spec.kernel.both(), spec.extent().both());
    // A single patch needs no stride, which may be longer than the image.
    let step = |outputs: usize, stride: usize, extent: usize| match outputs {
        1 => extent,
        _ => stride,
    };
    let down = step(out_h, spec.stride.height, tall);
    let right = step(out_w, spec.stride.width, broad);
    let (high, wide) = (out_h + (tall - 1) / down, out_w + (broad - 1) / right);
    let x = sized(&sized(&x, 2, high * down, filler)?, 3, wide * right, filler)?;
    let x = x.reshape(&[n, c, high, down, wide, right][..])?;
    let phase = |i: usize| {
        let (row, column) = (i / right.min(broad), i % right.min(broad));
        let x = x.narrow(3, row, 1)?.narrow(5, column, 1)?;
        x.contiguous()?.reshape((n, c, high, wide))
    };
    let phases = (0..down.min(tall) * right.min(broad)).map(phase);
    let phases: Vec<Raw> = phases.collect::<Result<_>>()?;
    let view = |i: usize| {
        let row = i / columns * spec.dilation.height;
        let column = i % columns * spec.dilation.width;
        let phase = &phases[row % down * right.min(broad) + column % right];
        let view = phase.narrow(2, row / down, out_h)?;
        view.narrow(3, column / right, out_w)?.contiguous()
    };
    (0..rows * columns).map(view).collect()
}

/// Cuts a dimension, or appends `filler`, so that it has this size.
pub(super) fn sized(x: &Raw, dim: usize, size: usize, filler: f64) -> Result<Raw> {
    match x.dim(dim)? {
        has if has >= size => x.narrow(dim, 0, size)?.contiguous(),
        has => Raw::cat(&[x, &edge(x, dim, size - has, filler)?], dim),
    }
}

fn padded(x: &Raw, padding: Pair, filler: f64) -> Result<Raw> {
    let mut x = x.clone();
    for (dim, padding) in [(2, padding.height), (3, padding.width)] {
        if padding > 0 {
            let edge = edge(&x, dim, padding, filler)?;
            x = Raw::cat(&[&edge, &x, &edge], dim)?;
        }
    }
    Ok(x)
}

/// Returns a tensor of the value `filler`, with the shape of `x` except for the size of `dim`.
fn edge(x: &Raw, dim: usize, size: usize, filler: f64) -> Result<Raw> {
    let mut shape = x.dims().to_vec();
    shape[dim] = size;
    let zeros = Raw::zeros(shape, x.dtype(), x.device())?;
    match filler == 0.0 {
        true => Ok(zeros), // integers too
        false => zeros + filler,
    }
}
