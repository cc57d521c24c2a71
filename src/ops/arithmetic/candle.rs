//! The operations on two tensors with Candle's.

use super::types::Arithmetic;
use crate::tensor::Raw;
use candle_core::Result;

/// Computes with two tensors of one shape and type.
pub(super) fn with_candle(op: Arithmetic, a: &Raw, b: &Raw) -> Result<Raw> {
    match op {
        Arithmetic::Add => a.add(b),
        Arithmetic::Sub => a.sub(b),
        Arithmetic::Mul => a.mul(b),
        Arithmetic::Div => a.div(b),
        Arithmetic::Maximum => keep_nan(a, b, &a.maximum(b)?),
        Arithmetic::Minimum => keep_nan(a, b, &a.minimum(b)?),
        Arithmetic::Pow => pow_with_candle(a, b),
    }
}

/// Returns NaN where one operand is NaN: Candle's `maximum` and `minimum` drop it.
fn keep_nan(a: &Raw, b: &Raw, result: &Raw) -> Result<Raw> {
    match a.dtype().is_float() {
        true => {
            let sum = (a + b)?;
            let nan = (a.ne(a)? + b.ne(b)?)?;
            nan.where_cond(&sum, result)
        }
        false => Ok(result.clone()),
    }
}

/// Returns powers also of negative bases, for which Candle's `pow` returns NaN.
fn pow_with_candle(a: &Raw, b: &Raw) -> Result<Raw> {
    let (zero, one) = (a.zeros_like()?, a.ones_like()?);
    let size = (b * a.detach().sign()?.mul(a)?.log()?)?.exp()?;
    let size = b.eq(&zero)?.where_cond(&one, &size)?;
    let whole = b.floor()?.eq(b)?;
    let odd = ((b * 0.5)?.floor()? * 2.0)?.ne(b)?;
    let signed = odd.where_cond(&size.neg()?, &size)?;
    let of_negative = whole.where_cond(&signed, &zero.affine(1.0, f64::NAN)?)?;
    a.lt(&zero)?.where_cond(&of_negative, &size)
}
