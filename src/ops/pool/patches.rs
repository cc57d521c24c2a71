//! Pooling with settings that the kernels do not have.

use super::candle::{sized, views};
use super::plane::Pool2dSpec;
use crate::tensor::Raw;
use candle_core::Result;

/// Appends rows and columns with the value `filler` to images, as far as the last patches of `ceil_mode` reach over the
/// padding.
pub(super) fn extended(x: &Raw, spec: Pool2dSpec, filler: f64) -> Result<Raw> {
    let mut x = x.clone();
    for (i, missing) in missing(&x, spec)?.into_iter().enumerate() {
        let size = x.dim(2 + i)? + missing;
        x = sized(&x, 2 + i, size, filler)?;
    }
    Ok(x)
}

/// Returns how many rows and columns the patches cover behind the padding.
fn missing(x: &Raw, spec: Pool2dSpec) -> Result<[usize; 2]> {
    let (_, _, height, width) = x.dims4()?;
    let size = [height, width];
    let out = spec.output_size(size);
    let (stride, extent, padding) = (
        spec.stride.both(),
        spec.extent().both(),
        spec.padding.both(),
    );
    Ok([0, 1]
        .map(|i| ((out[i] - 1) * stride[i] + extent[i]).saturating_sub(size[i] + 2 * padding[i])))
}

/// Returns the factors of the means `(out_height, out_width)`, if they are not divided by the size of the kernel.
pub(super) fn correction(x: &Raw, spec: Pool2dSpec) -> Result<Option<Raw>> {
    let elements = spec.kernel.product() as f64;
    if let Some(divisor) = spec.divisor {
        return Raw::new(&[elements / divisor as f64], x.device())?
            .to_dtype(x.dtype())
            .map(Some);
    }
    if spec.count_include_pad && missing(x, spec)? == [0, 0] {
        return Ok(None);
    }
    let (_, _, height, width) = x.dims4()?;
    let size = [height, width];
    let out = spec.output_size(size);
    let [rows, columns] = [0, 1].map(|i| -> Vec<f64> {
        let (padding, kernel) = (spec.padding.both()[i], spec.kernel.both()[i]);
        let counted = |patch: usize| {
            let start = patch * spec.stride.both()[i];
            let inside = match spec.count_include_pad {
                true => 0..size[i] + 2 * padding,
                false => padding..size[i] + padding,
            };
            let end = (start + kernel).min(inside.end);
            end.saturating_sub(start.max(inside.start)) as f64
        };
        (0..out[i]).map(counted).collect()
    });
    let factors = rows
        .iter()
        .flat_map(|row| columns.iter().map(move |column| elements / (row * column)));
    Raw::from_vec(factors.collect(), (out[0], out[1]), x.device())?
        .to_dtype(x.dtype())
        .map(Some)
}

/// Returns the maxima, and their indices in the plane of the image, as `u32`. Of equal elements, the first counts.
pub(super) fn max_pool2d(x: &Raw, spec: Pool2dSpec) -> Result<(Raw, Raw)> {
    let (_, _, height, width) = x.dims4()?;
    let places =
        Raw::arange(0u32, (height * width) as u32, x.device())?.reshape((1, 1, height, width))?;
    let values = views(x, spec, f64::NEG_INFINITY)?;
    let places = views(&places, spec, 0.0)?;
    let mut max = values[0].clone();
    let mut index = places[0].broadcast_as(max.shape())?.contiguous()?;
    for (value, place) in values.iter().zip(&places).skip(1) {
        let (new, old) = (value.detach(), max.detach());
        let larger = (new.gt(&old)? + new.ne(&new)?)?;
        max = larger.where_cond(value, &max)?;
        index = larger.where_cond(&place.broadcast_as(max.shape())?.contiguous()?, &index)?;
    }
    Ok((max, index))
}
