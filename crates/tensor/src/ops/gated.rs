//! Gated linear units: one half of the features decides how much of the other half passes.

use super::activation::{sigmoid_as, silu_as};
use crate::error::refuse;
use crate::ops::arithmetic::{Arithmetic, arithmetic};
use crate::ops::check;
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;

functions! {
    /// Returns the first half of a dimension times the sigmoid of the second half. From Dauphin et al., 2016.
    ///
    /// # Shapes
    /// `(…, 2 n, …)` to `(…, n, …)`.
    ///
    /// # Panics
    /// If the size of the dimension is odd, or `x` is a tensor of integers.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = glu(&tensor(&[[4.0, 0.0]]), -1); // (1, 1)
    /// assert_eq!(y.item(), 2.0);
    /// ```
    pub fn glu(x: &Tensor, dim: impl Into<Axis>) => glu_as(&"glu", x.raw(), dim.into());
}

/// Computes [`glu`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn glu_as(caller: &dyn Display, x: &Raw, dim: Axis) -> Result<Raw> {
    halves(caller, x, dim, &|a, b| {
        arithmetic(Arithmetic::Mul, a, &sigmoid_as(caller, b)?)
    })
}

/// Returns SiLU of the first half of the last dimension, times the second half.
#[doc(hidden)]
pub fn swiglu_as(caller: &dyn Display, x: &Raw) -> Result<Raw> {
    halves(caller, x, (-1).into(), &|a, b| {
        arithmetic(Arithmetic::Mul, &silu_as(caller, a)?, b)
    })
}

fn halves(
    caller: &dyn Display,
    x: &Raw,
    dim: Axis,
    gate: &dyn Fn(&Raw, &Raw) -> Result<Raw>,
) -> Result<Raw> {
    check::floating(caller, x)?;
    if check::is_half(x) {
        return check::in_single([x], |[x]| halves(caller, &x, dim, gate));
    }
    let index = dim.of(caller, x)?;
    let size = x.dim(index)?;
    refuse!(if !size.is_multiple_of(2); shape(caller, x.dims());
        "an even size of dimension {index}", "Let the layer before it have twice as many outputs");
    let half = |start| x.narrow(index, start, size / 2);
    gate(&half(0)?, &half(size / 2)?)
}
