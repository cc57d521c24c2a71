//! Pooling by operations that tensors of every device and type have.

use crate::device::Windows;
use crate::ops::pad::with_number;
use crate::ops::patches::pixels_of;
use crate::tensor::{Number, Raw, Tensor};
use candle_core::{Device, Result};

/// Returns the maxima, and their indices in the planes. The gradient of equal ones is that of the first.
pub(super) fn max_pool2d(x: &Raw, windows: Windows) -> Result<(Raw, Raw)> {
    let pixels = pixels(x, windows, f64::NEG_INFINITY)?;
    let places = windows.all_pixels().map(|pixel| pixel.unwrap_or(0) as u32);
    let places = Raw::from_vec(
        places.collect(),
        (windows.places(), windows.outputs()),
        &Device::Cpu,
    )?;
    let places = Tensor::from_raw(places.to_device(x.device())?);
    let best = pixels.argmax(2).unsqueeze(2); // (batch, channels, 1, outputs)
    let shape = windows.shape(x)?;
    let of_best = |x: &Tensor| x.gather(&best, 2).reshape(shape).into();
    let indices = places.broadcast_as(pixels.shape()).contiguous();
    Ok((of_best(&pixels), of_best(&indices)))
}

/// Returns the mean of each window.
pub(super) fn avg_pool2d(x: &Raw, windows: Windows) -> Result<Raw> {
    let pixels = pixels(x, windows, 0.0)?;
    Ok(pixels.mean(2).reshape(windows.shape(x)?).into())
}

/// Returns the pixels of each window, as (batch, channels, pixels, outputs). `filler` is the padding.
fn pixels(x: &Raw, windows: Windows, filler: f64) -> Result<Tensor> {
    let mut padded = Tensor::from(x);
    for (i, end) in windows.ends().into_iter().enumerate() {
        let before = windows.padding[i];
        let after = end.saturating_sub(before + windows.size[i]);
        let filler = Number::Float(filler);
        padded = with_number(&"pool", &padded, 2 + i, [before, after], filler)?;
    }
    let windows = Windows {
        size: [padded.dim(2), padded.dim(3)],
        padding: [0; 2],
        ..windows
    };
    pixels_of(&padded, &windows)
}
