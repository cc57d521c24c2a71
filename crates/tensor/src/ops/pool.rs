//! Two-dimensional pooling: the maximum or the mean of each patch of an image.

mod average;
mod device;
mod max;
mod operations;
mod output_size;
mod plane;

pub use output_size::OutputSize;
pub use plane::Pool2dSpec;

use super::cat::cat_as;
use super::check;
use super::engine::autograd::has_kernel;
use super::engine::dispatch_dtype;
use super::reduce::mean_as;
use crate::device::{Windows, suits_kernels};
use crate::error::{OrRaise, refuse};
use crate::tensor::{Raw, Tensor};
use average::avg_pool;
use candle_core::{DType, Result};
use max::max_pool;
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
    pub fn adaptive_avg_pool2d(x: &Tensor, size: impl Into<OutputSize>) =>
        adaptive_avg_pool2d_as(&"adaptive_avg_pool2d", x.raw(), size.into());
}

/// Computes [`max_pool2d`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn max_pool2d_as(caller: &dyn Display, x: &Raw, spec: Pool2dSpec) -> Result<Raw> {
    maxima(caller, x, spec, false).map(|(y, _)| y)
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
    let found = maxima(&"max_pool2d_with_indices", x.raw(), settings, true);
    let (y, indices) = found.or_raise();
    (y.into(), indices.expect("as asked for").into())
}

/// Returns the maxima, and their indices if they are asked for, or found on the way.
fn maxima(
    caller: &dyn Display,
    x: &Raw,
    spec: Pool2dSpec,
    with_indices: bool,
) -> Result<(Raw, Option<Raw>)> {
    if x.rank() == 3 {
        let (y, indices) = maxima(caller, &x.unsqueeze(0)?, spec, with_indices)?;
        return Ok((y.squeeze(0)?, indices.map(|x| x.squeeze(0)).transpose()?));
    }
    let windows = spec.check(caller, x)?;
    if x.elem_count() == 0 {
        let y = Raw::zeros(windows.shape(x)?, x.dtype(), x.device())?;
        return Ok((y.clone(), Some(y.to_dtype(DType::U32)?)));
    }
    if check::is_half(x) {
        let (y, indices) = maxima(caller, &x.to_dtype(DType::F32)?, spec, with_indices)?;
        return Ok((y.to_dtype(x.dtype())?, indices));
    }
    if has_kernel(&[x]) && windows.pixels() < u32::MAX as usize {
        return dispatch_dtype!(x, max_pool(x, windows, with_indices));
    }
    // The device's kernel expects a pixel in each window, which a dilated one may lack.
    let has_all = suits_kernels(x.device(), x.dtype()) && windows.dilation == [1; 2];
    let pool = if has_all {
        device::max_pool2d
    } else {
        operations::max_pool2d
    };
    pool(x, windows).map(|(y, indices)| (y, Some(indices)))
}

/// Computes [`avg_pool2d`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn avg_pool2d_as(caller: &dyn Display, x: &Raw, spec: Pool2dSpec) -> Result<Raw> {
    check::floating(caller, x)?;
    if x.rank() == 3 {
        return avg_pool2d_as(caller, &x.unsqueeze(0)?, spec)?.squeeze(0);
    }
    refuse!(if spec.dilation != 1.into(); argument(caller, spec.dilation);
        "a dilation of 1", "Leave out .dilation(…): only max pooling has it");
    let windows = spec.check(caller, x)?;
    if x.elem_count() == 0 {
        return Raw::zeros(windows.shape(x)?, x.dtype(), x.device());
    }
    if check::is_half(x) {
        return check::in_single([x], |[x]| avg_pool2d_as(caller, &x, spec));
    }
    let y = match has_kernel(&[x]) {
        true => dispatch_dtype!(x, avg_pool(x, windows)),
        false if suits_kernels(x.device(), x.dtype()) => device::avg_pool2d(x, windows),
        false => operations::avg_pool2d(x, windows),
    }?;
    match correction(spec, windows) {
        Some(factors) => {
            let factors = Raw::from_vec(factors, &windows.output[..], x.device())?;
            y.mul(&factors.to_dtype(x.dtype())?)
        }
        None => Ok(y),
    }
}

/// Returns the factor of each mean, if it is another than that of a whole window, padding included.
fn correction(spec: Pool2dSpec, windows: Windows) -> Option<Vec<f64>> {
    let elements = windows.places() as f64;
    if let Some(divisor) = spec.divisor {
        return Some(vec![elements / divisor as f64; windows.outputs()]);
    }
    // Where the pixels begin and end that count, from the first one of the padding on.
    let inside = [0, 1].map(|i| {
        let (size, padding) = (windows.size[i], windows.padding[i]);
        match spec.count_include_pad {
            true => 0..size + 2 * padding,
            false => padding..size + padding,
        }
    });
    let ends = windows.ends();
    if (0..2).all(|i| inside[i].start == 0 && ends[i] <= inside[i].end) {
        return None;
    }
    let [rows, columns] = [0, 1].map(|i| -> Vec<f64> {
        let counted = |window: usize| {
            let start = window * windows.stride[i];
            let end = (start + windows.kernel[i]).min(inside[i].end);
            end.saturating_sub(start.max(inside[i].start)) as f64
        };
        (0..windows.output[i]).map(counted).collect()
    });
    let factors = rows
        .iter()
        .flat_map(|row| columns.iter().map(move |column| elements / (row * column)));
    Some(factors.collect())
}

/// Computes [`adaptive_avg_pool2d`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn adaptive_avg_pool2d_as(caller: &dyn Display, x: &Raw, size: OutputSize) -> Result<Raw> {
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
    type OfWindows = fn(&Raw, Windows) -> Result<Raw>;

    #[test]
    fn the_kernels_agree_with_operations_and_with_those_of_a_gpu() {
        let cases: [(&str, Pool, OfWindows); 4] = [
            ("max_pool2d", max_pool2d_as, |x, windows| {
                Ok(operations::max_pool2d(x, windows)?.0)
            }),
            ("max_pool2d", max_pool2d_as, |x, windows| {
                Ok(device::max_pool2d(x, windows)?.0)
            }),
            ("avg_pool2d", avg_pool2d_as, operations::avg_pool2d),
            ("avg_pool2d", avg_pool2d_as, device::avg_pool2d),
        ];
        for (name, pool, of_windows) in cases {
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
                let spec = match name == "max_pool2d" {
                    true => spec.ceil_mode(case.one_of(&[false, true])),
                    false => spec,
                };
                let kernel = move |x: &[Raw]| pool(&"", &x[0], spec);
                let other = move |x: &[Raw]| of_windows(&x[0], spec.check(&"", &x[0])?);
                Some((inputs, Box::new(kernel), Box::new(other)))
            });
        }
    }

    /// With a dilation, a window may lie within the padding.
    #[test]
    fn the_kernel_of_dilated_windows_agrees_with_operations() {
        compare("max_pool2d", 80, |case| {
            let [kernel, stride, dilation] =
                [(); 3].map(|()| Pair::from([case.between(1, 4), case.between(1, 4)]));
            let spec = Pool2dSpec::new(kernel).stride(stride).dilation(dilation);
            let extent = |i: usize| (kernel.both()[i] - 1) * dilation.both()[i] + 1;
            let padding = [0, 1].map(|i| case.between(0, extent(i) / 2));
            let spec = spec.padding(padding).ceil_mode(case.one_of(&[false, true]));
            let [height, width] = [0, 1].map(|i| case.between(extent(i), 30) - padding[i]);
            if height == 0 || width == 0 {
                return None;
            }
            let shape = (case.between(1, 3), 2, height, width);
            let inputs = vec![case.input(randn(shape))];
            let kernel = move |x: &[Raw]| max_pool2d_as(&"", &x[0], spec);
            let other =
                move |x: &[Raw]| Ok(operations::max_pool2d(&x[0], spec.check(&"", &x[0])?)?.0);
            Some((inputs, Box::new(kernel), Box::new(other)))
        });
    }

    #[test]
    fn each_kernel_finds_the_same_indices() {
        for (kernel, stride, padding) in [(2, 2, 0), (3, 2, 1), (3, 1, 1), (2, 5, 0)] {
            let x = (randn((2, 3, 17, 9)) * 2.0).round(); // many equal elements
            let spec = Pool2dSpec::new(kernel).stride(stride).padding(padding);
            let windows = spec.check(&"", x.raw()).unwrap();
            let (y, indices) = max_pool2d_with_indices(&x, spec);
            for (others, name) in [
                (
                    operations::max_pool2d(x.raw(), windows).unwrap(),
                    "operations",
                ),
                (device::max_pool2d(x.raw(), windows).unwrap(), "device"),
            ] {
                assert_eq!(
                    y.to_vec::<f32>(),
                    Tensor::from(others.0).to_vec::<f32>(),
                    "{name}"
                );
                assert_eq!(
                    indices.to_vec::<u32>(),
                    Tensor::from(others.1).to_vec::<u32>(),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn integers_and_half_precision_have_maxima() {
        let x = Tensor::from_vec((0..16i64).collect(), (1, 1, 4, 4));
        let spec = Pool2dSpec::new(2).padding(1);
        for dtype in [DType::I64, DType::U8, DType::BF16] {
            let (y, indices) = max_pool2d_with_indices(&x.to_dtype(dtype), spec);
            assert_eq!(y.dtype(), dtype);
            let y = y.to_dtype(DType::I64).to_vec::<i64>();
            assert_eq!(y, [0, 2, 3, 8, 10, 11, 12, 14, 15]);
            assert_eq!(indices.to_vec::<u32>(), [0, 2, 3, 8, 10, 11, 12, 14, 15]);
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
