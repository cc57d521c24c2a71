//! Pooling on a GPU, by kernels over [`Windows`].

use crate::device::{Windows, indices_of_maxima, of_picked, of_sums, picked, sums};
use crate::ops::tape::first_order;
use crate::tensor::Raw;
use candle_core::Result;

/// Returns the maxima, and their indices in the planes. The gradient of equal ones is that of the first.
pub(super) fn max_pool2d(x: &Raw, windows: Windows) -> Result<(Raw, Raw)> {
    let indices = indices_of_maxima(&windows, x)?;
    let y = picked(&windows, x, &indices)?;
    let (of_y, shape) = (indices.clone(), x.dims().to_vec());
    let y = first_order(y, &[x], "max_pool2d", move |g| {
        of_picked(&windows, g, &of_y, &shape)
    });
    Ok((y, indices.into()))
}

/// Returns the mean of each window.
pub(super) fn avg_pool2d(x: &Raw, windows: Windows) -> Result<Raw> {
    let (count, shape) = (windows.places() as f64, x.dims().to_vec());
    let y = (sums(&windows, x)? / count)?;
    Ok(first_order(y, &[x], "avg_pool2d", move |g| {
        of_sums(&windows, &(g / count)?, &shape)
    }))
}
