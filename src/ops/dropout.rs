//! Dropout.

use crate::tensor::rand;
use candle_core::{Result, Tensor};

/// Sets each element to 0 with probability `p`, and scales the others so that the mean stays.
pub(crate) fn dropout(x: &Tensor, p: f64) -> Result<Tensor> {
    if p == 0.0 {
        return Ok(x.clone());
    }
    if p == 1.0 {
        return x.mul(&x.zeros_like()?);
    }
    let keep = rand(x.shape(), x.device())?.ge(p)?;
    let scale = keep.to_dtype(x.dtype())?.affine(1.0 / (1.0 - p), 0.0)?;
    x.mul(&scale)
}
