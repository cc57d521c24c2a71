//! Dropout.

use super::arithmetic::{Arithmetic, arithmetic};
use super::check;
use crate::error::refuse;
use crate::tensor::{Raw, Tensor, keep_by_example};
use candle_core::Result;
use std::fmt::Display;

functions! {
    /// Sets each element to 0 with probability `p`, and scales the others by `1 / (1 - p)`, so that the expected
    /// value does not change. From Srivastava et al., 2014.
    ///
    /// The layer `Dropout` does so in training mode only.
    ///
    /// # Panics
    /// If `p` is not between 0 and 1, or `x` has an integer type.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = dropout(&ones(1000), 0.5).to_vec1::<f32>();
    /// assert!(y.iter().all(|y| *y == 0.0 || *y == 2.0));
    /// ```
    pub fn dropout(x: &Tensor, p: f64) => dropout_as(&"dropout", x.raw(), p);
}

/// Computes [`dropout`]; errors begin with the name of the caller.
pub(crate) fn dropout_as(caller: &dyn Display, x: &Raw, p: f64) -> Result<Raw> {
    check::floating(caller, x)?;
    refuse!(if !(0.0..=1.0).contains(&p); argument(caller, p);
        "a probability from 0 to 1", "Choose p from 0 (drops nothing) to 1 (drops everything)");
    if p == 0.0 || x.elem_count() == 0 {
        return Ok(x.clone());
    }
    if p == 1.0 {
        return arithmetic(Arithmetic::Mul, x, &x.zeros_like()?);
    }
    let scale = keep_by_example(x, p)?
        .to_dtype(x.dtype())?
        .affine(1.0 / (1.0 - p), 0.0)?;
    arithmetic(Arithmetic::Mul, x, &scale)
}
