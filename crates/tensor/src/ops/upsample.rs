//! Resizing of images: each output pixel is the nearest input pixel, or a weighted mean of the nearest
//! four.

use super::check;
use super::taps::{AxisGather, resampled};
use crate::tensor::Raw;
use candle_core::Result;
use std::fmt::Display;

/// How `Upsample` computes an output pixel from the input pixels around it.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = Upsample::new(2.0).mode(Interpolation::Bilinear);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// The nearest input pixel.
    #[default]
    Nearest,
    /// The weighted mean of the nearest four input pixels.
    Bilinear,
}

/// Returns images of another size: `(batch, channels, height, width)` to
/// `(batch, channels, size[0], size[1])`. `scale`, if given, replaces the quotient of the sizes, as in
/// PyTorch. An interpolation that aligns corners maps the centres of the corner pixels to each other, or else the
/// edges of the images.
///
/// # Errors
/// If the input is not a batch of images, or has no pixels.
#[doc(hidden)]
pub fn upsample(
    caller: &dyn Display,
    x: &Raw,
    size: [usize; 2],
    scale: Option<f64>,
    interpolation: (Interpolation, bool),
) -> Result<Raw> {
    let (_, _, height, width) = check::images(caller, x)?;
    if height == 0 || width == 0 {
        let expected = "Its height and width must be at least 1";
        return Err(check::wrong_shape(caller, x, expected));
    }
    check::positive(
        caller,
        &[
            ("the output's height", size[0]),
            ("the output's width", size[1]),
        ],
    )?;
    check::floating(caller, x)?;
    let [rows, columns] = size;
    // Checked for an empty batch too, because the indices need memory.
    let [batch, channels] = [x.dims()[0].max(1), x.dims()[1].max(1)];
    check::output(caller, &[batch, channels, rows, columns], x)?;
    let taps = |from: usize, size: usize| taps(from, size, scale, interpolation);
    resampled(x, [taps(height, rows), taps(width, columns)])
}

/// Returns where the pixels along a dimension come from.
fn taps(
    from: usize,
    size: usize,
    scale: Option<f64>,
    interpolation: (Interpolation, bool),
) -> AxisGather {
    if size == from {
        return AxisGather::same(size); // whatever the scale is, as in PyTorch
    }
    let step = scale.map_or(from as f64 / size as f64, |scale| 1.0 / scale);
    let (Interpolation::Bilinear, align_corners) = interpolation else {
        // In single precision, as in PyTorch, so that ties between two pixels select the same one.
        let step = step as f32;
        let nearest = |i: usize| match size == 2 * from {
            true => (i / 2) as u32,
            false => ((i as f32 * step) as usize).min(from - 1) as u32,
        };
        return AxisGather::new(from, (0..size).map(nearest).collect());
    };
    let places = (0..size).map(|i| match align_corners {
        true if size > 1 => i as f64 * (from - 1) as f64 / (size - 1) as f64,
        true => 0.0,
        false => ((i as f64 + 0.5) * step - 0.5).max(0.0),
    });
    let places: Vec<f64> = places.map(|place| place.min((from - 1) as f64)).collect();
    let first = places.iter().map(|place| *place as u32).collect();
    let second = |place: &f64| (*place as usize + 1).min(from - 1) as u32;
    let second = places.iter().map(second).collect();
    AxisGather::means(
        from,
        first,
        second,
        places.iter().map(|place| place.fract()).collect(),
    )
}
