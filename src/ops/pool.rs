//! Two-dimensional pooling: the maximum or the mean of each patch of an image.

mod average;
mod candle;
mod max;
mod plane;

pub(crate) use plane::Pool2dSpec;

use super::check;
use super::engine::autograd::has_kernel;
use super::engine::dispatch_dtype;
use average::avg_pool;
use candle_core::{Device, Result, Tensor};
use max::max_pool;
use plane::Plane;
use std::fmt::Display;

/// Returns the maximum of each patch of the images `(batch, channels, height, width)`. Of equal
/// elements, the first gets the gradient.
///
/// # Errors
/// If the settings are invalid, or `x` are no images that are large enough.
pub(crate) fn max_pool2d(caller: &dyn Display, x: &Tensor, spec: Pool2dSpec) -> Result<Tensor> {
    spec.check(caller, x)?;
    match suits_kernel(x) {
        true => dispatch_dtype!(x, max_pool(x, Plane::new(x, spec)?)),
        false => candle::max_pool2d(x, spec),
    }
}

/// Returns the mean of each patch of the images `(batch, channels, height, width)`. Padding counts as
/// zeros.
///
/// # Errors
/// As for [`max_pool2d`].
pub(crate) fn avg_pool2d(caller: &dyn Display, x: &Tensor, spec: Pool2dSpec) -> Result<Tensor> {
    spec.check(caller, x)?;
    match suits_kernel(x) {
        true => dispatch_dtype!(x, avg_pool(x, Plane::new(x, spec)?)),
        false => candle::avg_pool2d(x, spec),
    }
}

/// The kernel of max pooling stores indices as `u32`.
fn suits_kernel(x: &Tensor) -> bool {
    has_kernel(&[x]) && x.elem_count() > 0 && x.elem_count() < u32::MAX as usize
}

/// Returns the means of `size × size` patches that cover the images `(batch, channels, height, width)`.
/// Neighbouring patches share rows and columns where `size` does not divide the height or width.
///
/// # Errors
/// If `size` is 0, or `x` are not images of at least one pixel.
pub(crate) fn adaptive_avg_pool2d(caller: &dyn Display, x: &Tensor, size: usize) -> Result<Tensor> {
    check::positive(caller, &[("size", size)])?;
    let (n, c, h, w) = check::images(caller, x)?;
    if h == 0 || w == 0 {
        let expected = "Its height and width must be at least 1";
        return Err(check::wrong_shape(caller, x, expected));
    }
    if h == w && h.is_multiple_of(size) {
        return avg_pool2d(caller, x, Pool2dSpec::new(h / size));
    }
    let rows = x
        .reshape((n * c * h, w))?
        .matmul(&averaging_matrix(size, w, x)?.t()?)?; // (n·c·h, size)
    let columns = rows
        .reshape((n * c, h, size))?
        .transpose(1, 2)?
        .contiguous()?;
    let columns = columns.reshape((n * c * size, h))?;
    let y = columns.matmul(&averaging_matrix(size, h, x)?.t()?)?; // (n·c·size, size), transposed
    let y = y.reshape((n, c, size, size))?.transpose(2, 3)?;
    y.contiguous()
}

/// Returns the matrix `(size, length)` whose rows average the patches of a line.
fn averaging_matrix(size: usize, length: usize, x: &Tensor) -> Result<Tensor> {
    let mut rows = vec![0f64; size * length];
    for i in 0..size {
        let (from, to) = (i * length / size, ((i + 1) * length).div_ceil(size));
        rows[i * length..][from..to].fill(1.0 / (to - from) as f64);
    }
    // Converted on the CPU: not every device has double precision.
    let rows = Tensor::from_vec(rows, (size, length), &Device::Cpu)?;
    rows.to_dtype(x.dtype())?.to_device(x.device())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::randn;
    use candle_core::DType;

    type Pool = fn(&dyn Display, &Tensor, Pool2dSpec) -> Result<Tensor>;
    type WithCandle = fn(&Tensor, Pool2dSpec) -> Result<Tensor>;

    #[test]
    fn the_kernels_agree_with_candle() {
        let operations: [(&str, Pool, WithCandle); 2] = [
            ("max_pool2d", max_pool2d, candle::max_pool2d),
            ("avg_pool2d", avg_pool2d, candle::avg_pool2d),
        ];
        for (name, pool, with_candle) in operations {
            compare(name, 80, |case| {
                let kernel = case.between(1, 5);
                let spec = Pool2dSpec {
                    kernel,
                    stride: case.between(1, 5),
                    padding: case.between(0, kernel / 2),
                };
                let least = kernel.saturating_sub(2 * spec.padding).max(1);
                let (height, width) = (case.between(least, 40), case.between(least, 40));
                let shape = (case.between(1, 4), case.between(1, 5), height, width);
                let mut x = randn(shape, &Device::Cpu);
                if case.one_of(&[true, false]) {
                    x = (x.unwrap() * 2.0).and_then(|x| x.round()); // many equal elements
                }
                let inputs = vec![case.input(x)];
                let kernel = move |x: &[Tensor]| pool(&name, &x[0], spec);
                let candle = move |x: &[Tensor]| with_candle(&x[0], spec);
                Some((inputs, Box::new(kernel), Box::new(candle)))
            });
        }
    }

    #[test]
    fn adaptive_means_of_doubles_are_doubles() {
        let x = Tensor::ones((1, 1, 5, 4), DType::F64, &Device::Cpu).unwrap();
        let y = adaptive_avg_pool2d(&"adaptive_avg_pool2d", &x, 3).unwrap();
        for mean in y.flatten_all().unwrap().to_vec1::<f64>().unwrap() {
            assert!((mean - 1.0).abs() < 1e-15, "{mean}");
        }
    }
}
