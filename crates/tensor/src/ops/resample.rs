//! Pixels of images at other places.

use super::{Interpolation, PaddingMode, Pair, check, upsample};
use crate::error::{problem, refuse};
use crate::tensor::Tensor;
use candle_core::{DType, Result};
use taper_macros::raises;

functions! {
    /// Returns images of another height and width. `Upsample` is the layer.
    ///
    /// # Panics
    /// If `x` is not a batch of images, or a size is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[[[1.0, 2.0]]]]); // (1, 1, 1, 2)
    /// let y = interpolate(&x, (1, 4), Interpolation::Bilinear, false); // (1, 1, 1, 4)
    /// assert_eq!(y.to_vec::<f32>(), [1.0, 1.25, 1.75, 2.0]);
    /// ```
    pub fn interpolate(x: &Tensor, size: impl Into<Pair>, mode: Interpolation, align_corners: bool) =>
        upsample(&"interpolate", x.raw(), size.into().both(), None, (mode, align_corners));

    /// Returns the pixels of images at places: `(batch, channels, height, width)` and `(batch, rows, columns, 2)` to
    /// `(batch, channels, rows, columns)`. A place is `(x, y)`, from −1 to 1 over the image: over the centres of its corner
    /// pixels if `align_corners` is set, or else over its edges. Pixels outside are zeros or, for
    /// [`PaddingMode::Replicate`], those at the border.
    ///
    /// # Panics
    /// If the shapes do not fit, or the padding is another one.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[[[1.0, 2.0]]]]); // (1, 1, 1, 2)
    /// let places = tensor(&[[[[-1.0, 0.0], [0.0, 0.0], [0.5, 0.0]]]]); // (1, 1, 3, 2)
    /// let y = grid_sample(&x, &places, Interpolation::Bilinear, PaddingMode::Zeros, true); // (1, 1, 1, 3)
    /// assert_eq!(y.to_vec::<f32>(), [1.0, 1.5, 1.75]);
    /// ```
    pub fn grid_sample(x: &Tensor, grid: &Tensor, mode: Interpolation, padding: PaddingMode, align_corners: bool) =
        sampled(x, grid, mode, padding, align_corners);
}

#[raises]
fn sampled(
    x: &Tensor,
    grid: &Tensor,
    mode: Interpolation,
    padding: PaddingMode,
    align_corners: bool,
) -> Result<Tensor> {
    let (batch, channels, height, width) = check::images(&"grid_sample", x.raw())?;
    check::same_place(&"grid_sample", grid.raw(), x.raw())?;
    let &[count, rows, columns, 2] = grid.dims() else {
        return Err(wrong_grid(batch, grid));
    };
    if count != batch || height * width == 0 {
        return Err(wrong_grid(batch, grid));
    }
    let place = |i: usize, size: usize| {
        let (size, g) = (
            size as f64,
            grid.narrow(3, i, 1).reshape((batch, rows * columns)),
        );
        let place = match align_corners {
            true => (g + 1.0) * ((size - 1.0) / 2.0),
            false => ((g + 1.0) * size - 1.0) / 2.0,
        };
        match padding {
            PaddingMode::Replicate => place.clamp(0.0, size - 1.0),
            _ => place,
        }
    };
    if !matches!(padding, PaddingMode::Zeros | PaddingMode::Replicate) {
        let expected = "PaddingMode::Zeros or PaddingMode::Replicate";
        let advice = "Pad the images themselves: x.pad(&[1, 1, 1, 1], PaddingMode::Reflect)";
        refuse!(argument("grid_sample", format_args!("{padding:?}")); expected, advice);
    }
    let (across, down) = (place(0, width), place(1, height)); // (batch, places)
    let images = x.flatten(2, 3);
    // The pixels of a row and a column, as (batch, channels, places): zeros outside.
    let pixels = |row: &Tensor, column: &Tensor| {
        let inside = row.ge(0.0) & row.lt(height as f64) & column.ge(0.0) & column.lt(width as f64);
        let index = inside
            .where_cond(row * width as f64 + column, 0.0)
            .to_dtype(DType::I64);
        let index = index
            .unsqueeze(1)
            .broadcast_as((batch, channels, rows * columns));
        inside
            .unsqueeze(1)
            .where_cond(images.gather(&index, 2), 0.0)
    };
    let y = match mode {
        Interpolation::Nearest => pixels(&down.round().detach(), &across.round().detach()),
        Interpolation::Bilinear => {
            let (top, left) = (down.floor().detach(), across.floor().detach());
            let (low, right) = ((&down - &top).unsqueeze(1), (&across - &left).unsqueeze(1));
            let (bottom, next) = (&top + 1.0, &left + 1.0);
            let upper = pixels(&top, &left) * (1.0 - &right) + pixels(&top, &next) * &right;
            let lower = pixels(&bottom, &left) * (1.0 - &right) + pixels(&bottom, &next) * &right;
            upper * (1.0 - &low) + lower * low
        }
    };
    Ok(y.reshape((batch, channels, rows, columns)))
}

fn wrong_grid(batch: usize, grid: &Tensor) -> candle_core::Error {
    problem!(shape("grid_sample", grid.dims());
        "places ({batch}, rows, columns, 2) in images that are not empty",
        "Pass a place (x, y) for each output pixel of each image")
    .into()
}
