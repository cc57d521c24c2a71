//! Exact arithmetic of integers.

use super::operators::Arithmetic;
use crate::error::refuse;
use crate::ops::check::too_large;
use crate::tensor::Raw;
use candle_core::{DType, Result};

/// Computes with two tensors of `i64`, broadcast to a shape.
pub(super) fn arithmetic(op: Arithmetic, a: &Raw, b: &Raw, shape: &[usize]) -> Result<Raw> {
    if shape.contains(&0) {
        return Raw::zeros(shape, DType::I64, a.device());
    }
    let (a, b) = (a.broadcast_as(shape)?, b.broadcast_as(shape)?);
    if !a.device().is_cpu() && op != Arithmetic::Rem {
        return op.with_candle(&a, &b);
    }
    let device = a.device();
    let elements = |x: &Raw| x.flatten_all()?.to_dtype(DType::I64)?.to_vec1::<i64>();
    let (left, right) = (elements(&a)?, elements(&b)?);
    refuse!(if op == Arithmetic::Pow && right.iter().any(|exponent| *exponent < 0);
        argument(op.name(), "a negative one");
        "exponents of at least 0 for integers", "Convert the integers: x.to_dtype(DType::F32)");
    refuse!(if op == Arithmetic::Rem && right.contains(&0); argument(op.name(), 0);
        "divisors other than 0",
        "Divide floating-point numbers, where the remainder is NaN: x.to_dtype(DType::F32)");
    let values = op.of_integers(&left, &right);
    let values = values.ok_or_else(|| too_large(&op.name()))?;
    Raw::from_vec(values, shape, device)
}

/// Returns the exact products of two integer tensors of one shape, as `i64`.
pub(in crate::ops) fn product(a: &Raw, b: &Raw) -> Result<Raw> {
    let (a, b) = (a.to_dtype(DType::I64)?, b.to_dtype(DType::I64)?);
    arithmetic(Arithmetic::Mul, &a, &b, a.dims())
}

/// Returns each integer, but at least `low` and at most `high`, as `i64`.
pub(in crate::ops) fn clamp(x: &Raw, low: i64, high: i64) -> Result<Raw> {
    let limit = |value: i64| Raw::full(value, x.shape(), x.device());
    let x = x.to_dtype(DType::I64)?;
    let at_least = arithmetic(Arithmetic::Maximum, &x, &limit(low)?, x.dims())?;
    arithmetic(Arithmetic::Minimum, &at_least, &limit(high)?, x.dims())
}
