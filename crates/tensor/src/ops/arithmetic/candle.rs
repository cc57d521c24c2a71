//! Operations on two tensors of one shape and type that differ from Candle's.

use crate::tensor::Candle;
use candle_core::Result;

pub(super) fn larger(a: &Candle, b: &Candle) -> Result<Candle> {
    keep_nan(a, b, &a.broadcast_maximum(b)?)
}

pub(super) fn smaller(a: &Candle, b: &Candle) -> Result<Candle> {
    keep_nan(a, b, &a.broadcast_minimum(b)?)
}

pub(super) fn remainder(a: &Candle, b: &Candle) -> Result<Candle> {
    a - (b * (a / b)?.floor()?)?
}

/// Returns NaN where one operand is NaN: Candle's `maximum` and `minimum` drop it.
fn keep_nan(a: &Candle, b: &Candle, result: &Candle) -> Result<Candle> {
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
pub(super) fn pow(a: &Candle, b: &Candle) -> Result<Candle> {
    let (zero, one) = (a.zeros_like()?, a.ones_like()?);
    let size = (b * a.detach().sign()?.mul(a)?.log()?)?.exp()?;
    let size = b.eq(&zero)?.where_cond(&one, &size)?;
    let whole = b.floor()?.eq(b)?;
    let odd = ((b * 0.5)?.floor()? * 2.0)?.ne(b)?;
    let signed = odd.where_cond(&size.neg()?, &size)?;
    let of_negative = whole.where_cond(&signed, &zero.affine(1.0, f64::NAN)?)?;
    a.lt(&zero)?.where_cond(&of_negative, &size)
}
