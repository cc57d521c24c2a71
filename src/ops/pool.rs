//! Two-dimensional pooling: the maximum or the mean of each patch of an image.

mod average;
mod candle;
mod max;
mod output_size;
mod patches;
mod plane;

pub use output_size::OutputSize;
pub use plane::Pool2dSpec;

use super::cat::cat_as;
use super::check;
use super::engine::autograd::has_kernel;
use super::engine::dispatch_dtype;
use super::reduce::mean_as;
use crate::error::{OrRaise, refuse};
use crate::tensor::{Raw, Tensor};
use average::avg_pool;
use candle_core::{DType, Result};
use max::max_pool;
use plane::Plane;
use std::fmt::Display;

functions! {
    /// Returns the maximum of each patch. Of equal elements, the first gets the gradient.
    ///
    /// # Shapes
    /// `(batch, channels, height, width)` to `(batch, channels, height', width')`, where
    /// `height' = (height + 2 padding - dilation (kernel - 1) - 1) / stride + 1`, rounded down, or up in `ceil_mode`. The
    /// batch may be missing.
    ///
    /// # Panics
    /// If the settings are invalid, or `x` does not have three or four dimensions, or its images are too small.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0).reshape((1, 1, 4, 4));
    /// let y = max_pool2d(&x, Pool2dSpec::new(2)); // (1, 1, 2, 2)
    /// assert_eq!(y.to_vec::<f32>(), [5.0, 7.0, 13.0, 15.0]);
    /// ```
    pub fn max_pool2d(x: &Tensor, settings: Pool2dSpec) => max_pool2d_as(&"max_pool2d", x.raw(), settings);

    /// Returns the mean of each patch. Padding counts as zeros, but not what lies behind it in `ceil_mode`.
    ///
    /// # Shapes
    /// Those of [`max_pool2d`].
    ///
    /// # Panics
    /// As for [`max_pool2d`], and if there is a dilation, or `x` is a tensor of integers.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0).reshape((1, 1, 4, 4));
    /// let y = avg_pool2d(&x, Pool2dSpec::new(2)); // (1, 1, 2, 2)
    /// assert_eq!(y.to_vec::<f32>(), [2.5, 4.5, 10.5, 12.5]);
    /// ```
    pub fn avg_pool2d(x: &Tensor, settings: Pool2dSpec) => avg_pool2d_as(&"avg_pool2d", x.raw(), settings);

    /// Returns images of the given `size`, in which each pixel is the mean of a patch; the patches cover the
    /// input. Neighbouring patches overlap where `size` does not divide the height or width.
    ///
    /// # Shapes
    /// `(batch, channels, height, width)` to `(batch, channels, size, size)`, or to the two sizes of a pair, where `None`
    /// keeps the size of the input. The batch may be missing.
    ///
    /// # Panics
    /// If `size` is 0, `x` is not a batch of images with at least one pixel each, or `x` is a tensor of
    /// integers.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0).reshape((1, 1, 4, 4));
    /// let y = adaptive_avg_pool2d(&x, (1, 2)); // (1, 1, 1, 2)
    /// assert_eq!(y.to_vec::<f32>(), [6.5, 8.5]);
    /// ```
    pub fn adaptive_avg_pool2d(x: &Tensor, size: impl Into<OutputSize>) = adaptive_avg_pool2d_to(x, size.into());
}

/// Computes [`max_pool2d`]; errors begin with the name of the caller.
pub(crate) fn max_pool2d_as(caller: &dyn Display, x: &Raw, spec: Pool2dSpec) -> Result<Raw> {
    if x.rank() == 3 {
        return max_pool2d_as(caller, &x.unsqueeze(0)?, spec)?.squeeze(0);
    }
    let spec = spec.check(caller, x)?;
    if x.elem_count() == 0 {
        return empty(x, spec);
    }
    if spec.dilation != 1.into() {
        return Ok(patches::max_pool2d(x, spec)?.0);
    }
    let x = &patches::extended(x, spec, f64::NEG_INFINITY)?;
    let spec = Pool2dSpec {
        ceil_mode: false,
        ..spec
    };
    match suits_kernel(x) {
        true => dispatch_dtype!(x, max_pool(x, Plane::new(x, spec)?)),
        false => candle::max_pool2d(x, spec),
    }
}

/// Returns the maximum of each patch, and its index in its channel of the image, row by row, as `u32`.
///
/// # Shapes
/// Those of [`max_pool2d`], for both.
///
/// # Panics
/// As for [`max_pool2d`].
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[[1.0, 2.0], [4.0, 3.0]]]); // (1, 2, 2)
/// let (y, indices) = max_pool2d_with_indices(&x, Pool2dSpec::new(2)); // (1, 1, 1)
/// assert_eq!((y.item(), indices.item()), (4.0, 2.0));
/// ```
#[inline]
#[track_caller]
pub fn max_pool2d_with_indices(x: &Tensor, settings: Pool2dSpec) -> (Tensor, Tensor) {
    let (y, indices) = maxima_and_indices(x.raw(), settings).or_raise();
    (y.into(), indices.into())
}

fn maxima_and_indices(x: &Raw, spec: Pool2dSpec) -> Result<(Raw, Raw)> {
    let caller = &"max_pool2d_with_indices";
    if x.rank() == 3 {
        let (y, indices) = maxima_and_indices(&x.unsqueeze(0)?, spec)?;
        return Ok((y.squeeze(0)?, indices.squeeze(0)?));
    }
    let spec = spec.check(caller, x)?;
    match x.elem_count() {
        0 => Ok((empty(x, spec)?, empty(x, spec)?.to_dtype(DType::U32)?)),
        _ => patches::max_pool2d(x, spec),
    }
}

/// Computes [`avg_pool2d`]; errors begin with the name of the caller.
pub(crate) fn avg_pool2d_as(caller: &dyn Display, x: &Raw, spec: Pool2dSpec) -> Result<Raw> {
    check::floating(caller, x)?;
    if x.rank() == 3 {
        return avg_pool2d_as(caller, &x.unsqueeze(0)?, spec)?.squeeze(0);
    }
    refuse!(if spec.dilation != 1.into(); argument(caller, spec.dilation);
        "a dilation of 1", "Leave out .dilation(…): only max pooling has it");
    let spec = spec.check(caller, x)?;
    if x.elem_count() == 0 {
        return empty(x, spec);
    }
    if check::is_half(x) {
        return check::in_single([x], |[x]| avg_pool2d_as(caller, &x, spec));
    }
    let correction = patches::correction(x, spec)?;
    let x = &patches::extended(x, spec, 0.0)?;
    let spec = Pool2dSpec {
        ceil_mode: false,
        ..spec
    };
    let y = match suits_kernel(x) {
        true => dispatch_dtype!(x, avg_pool(x, Plane::new(x, spec)?)),
        false => candle::avg_pool2d(x, spec),
    }?;
    match correction {
        Some(correction) => y.broadcast_mul(&correction),
        None => Ok(y),
    }
}

/// Returns the output for images without elements.
fn empty(x: &Raw, spec: Pool2dSpec) -> Result<Raw> {
    let shape = Plane::new(x, spec)?.output_shape(x)?;
    Raw::zeros(shape, x.dtype(), x.device())
}

/// Returns whether the kernels can compute with `x`; that of max pooling stores indices as `u32`.
fn suits_kernel(x: &Raw) -> bool {
    has_kernel(&[x]) && x.elem_count() < u32::MAX as usize
}

#[track_caller]
fn adaptive_avg_pool2d_to(x: &Tensor, size: OutputSize) -> Tensor {
    adaptive_avg_pool2d_as(&"adaptive_avg_pool2d", x.raw(), size)
        .or_raise()
        .into()
}

/// Computes [`adaptive_avg_pool2d`]; errors begin with the name of the caller.
pub(crate) fn adaptive_avg_pool2d_as(
    caller: &dyn Display,
    x: &Raw,
    size: OutputSize,
) -> Result<Raw> {
    check::floating(caller, x)?;
    check::positive(caller, &[("size", size.least())])?;
    if x.rank() == 3 {
        return adaptive_avg_pool2d_as(caller, &x.unsqueeze(0)?, size)?.squeeze(0);
    }
    let (n, c, h, w) = check::images(caller, x)?;
    if h == 0 || w == 0 {
        let expected = "Its height and width must be at least 1";
        return Err(check::wrong_shape(caller, x, expected));
    }
    let size = size.of(h, w);
    check::output(caller, &[n, c, size.height, size.width], x)?;
    if x.elem_count() == 0 {
        return Raw::zeros((n, c, size.height, size.width), x.dtype(), x.device());
    }
    if check::is_half(x) {
        return check::in_single([x], |[x]| adaptive_avg_pool2d_as(caller, &x, size.into()));
    }
    if size.product() == 1 {
        // Without the bookkeeping of patches for each plane, which would take longer than small planes themselves.
        return mean_as(caller, x, &[2, 3], true);
    }
    if h.is_multiple_of(size.height) && w.is_multiple_of(size.width) {
        let kernel = (h / size.height, w / size.width);
        return avg_pool2d_as(caller, x, Pool2dSpec::new(kernel));
    }
    means_of_lines(&means_of_lines(x, 3, size.width)?, 2, size.height)
}

/// Returns the means of `size` ranges that cover a dimension. A value affects only the means of the
/// ranges that contain it: in a product with a matrix, NaN times 0 would spread one NaN to all means.
fn means_of_lines(x: &Raw, dim: usize, size: usize) -> Result<Raw> {
    let length = x.dim(dim)?;
    let means = (0..size).map(|i| {
        let (from, to) = (i * length / size, ((i + 1) * length).div_ceil(size));
        mean_as(
            &"adaptive_avg_pool2d",
            &x.narrow(dim, from, to - from)?,
            &[dim],
            true,
        )
    });
    let means = means.collect::<Result<Vec<_>>>()?;
    cat_as(
        &"adaptive_avg_pool2d",
        &means.iter().collect::<Vec<_>>(),
        dim.into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::pair::Pair;
    use crate::ops::testing::{compare, variable};
    use crate::tensor::{ones, randn, zeros};

    type Pool = fn(&dyn Display, &Raw, Pool2dSpec) -> Result<Raw>;
    type WithCandle = fn(&Raw, Pool2dSpec) -> Result<Raw>;

    #[test]
    fn the_kernels_agree_with_candle() {
        let operations: [(&str, Pool, WithCandle); 2] = [
            ("max_pool2d", max_pool2d_as, candle::max_pool2d),
            ("avg_pool2d", avg_pool2d_as, candle::avg_pool2d),
        ];
        for (name, pool, with_candle) in operations {
            compare(name, 80, |case| {
                let kernel = Pair::from([case.between(1, 5), case.between(1, 5)]);
                let spec = Pool2dSpec::new(kernel).stride([case.between(1, 5), case.between(1, 5)]);
                let spec = spec.padding(kernel.map(|kernel| kernel / 2));
                let spec = spec.padding(case.one_of(&[spec.padding, 0.into()]));
                let [height, width] = [0, 1].map(|i| {
                    let padding = spec.padding.both()[i];
                    case.between(kernel.both()[i].saturating_sub(2 * padding).max(1), 40)
                });
                let shape = (case.between(1, 4), case.between(1, 5), height, width);
                let mut x = randn(shape);
                if case.one_of(&[true, false]) {
                    x *= 2.0;
                    x = x.round(); // many equal elements
                }
                let inputs = vec![case.input(x)];
                let kernel = move |x: &[Raw]| pool(&"", &x[0], spec);
                let candle = move |x: &[Raw]| with_candle(&x[0], spec);
                Some((inputs, Box::new(kernel), Box::new(candle)))
            });
        }
    }

    /// Without gradients, another kernel computes the maxima.
    #[test]
    fn maxima_are_the_same_with_and_without_gradients() {
        for (kernel, stride, padding) in [(2, 2, 0), (3, 2, 1), (3, 1, 1), (4, 3, 2), (2, 5, 0)] {
            for shape in [(2, 3, 8, 8), (1, 2, 33, 17), (1, 1, 5, 40)] {
                let x = randn(shape);
                let doubled: Tensor = &x * 2.0;
                let x = doubled.round() / x.relu(); // many equal elements, infinities and NaN
                let spec = Pool2dSpec::new(kernel).stride(stride).padding(padding);
                let tracked = max_pool2d(&variable(&x), spec);
                let bits = |y: &Tensor| -> Vec<u32> {
                    y.to_vec::<f32>().into_iter().map(f32::to_bits).collect()
                };
                assert_eq!(bits(&max_pool2d(&x, spec)), bits(&tracked), "{spec:?}");
            }
        }
    }

    #[test]
    fn a_nan_stays_in_its_own_patches() {
        let mut values = vec![1.0; 35];
        values[0] = f64::NAN;
        let x = variable(&Tensor::from_vec(values, (1, 1, 5, 7)));
        let y = adaptive_avg_pool2d(&x, 3).to_vec::<f64>();
        let nan: Vec<bool> = y.iter().map(|y| y.is_nan()).collect();
        assert_eq!(nan, std::array::from_fn::<_, 9, _>(|i| i == 0));
    }

    #[test]
    fn impossible_settings_are_errors() {
        let x = zeros((1, 1, 4, 4));
        let (large, largest) = (1 << 33, usize::MAX);
        for result in [
            attempt(|| avg_pool2d(&x, Pool2dSpec::new(large).padding(large / 2))),
            attempt(|| max_pool2d(&x, Pool2dSpec::new(largest))),
            attempt(|| max_pool2d(&x, Pool2dSpec::new(largest).padding(largest / 2))),
            attempt(|| avg_pool2d(&x, Pool2dSpec::new(2).padding(largest))),
            attempt(|| adaptive_avg_pool2d(&x, 1 << 40)),
            attempt(|| adaptive_avg_pool2d(&x, (largest, 1))),
            attempt(|| avg_pool2d(&x.to_dtype(DType::I64), Pool2dSpec::new(2))),
        ] {
            assert_eq!(result.unwrap_err().to_string().lines().count(), 2);
        }
        for pool in [max_pool2d, avg_pool2d] {
            let y = pool(&x, Pool2dSpec::new(2).stride(largest));
            assert_eq!(y.dims(), [1, 1, 1, 1]);
            let empty = x.narrow(0, 0, 0);
            let y = pool(&empty, Pool2dSpec::new(2));
            assert_eq!(y.dims(), [0, 1, 2, 2]);
        }
    }

    #[test]
    fn adaptive_means_of_doubles_are_doubles() {
        let x = ones((1, 1, 5, 4)).to_dtype(DType::F64);
        for mean in adaptive_avg_pool2d(&x, 3).to_vec::<f64>() {
            assert!((mean - 1.0).abs() < 1e-15, "{mean}");
        }
    }
}
