//! `+ - * / %`, powers, the larger and the smaller of two values, comparisons: of two tensors that are broadcast to
//! one shape, or of a tensor and a number.
//!
//! Types are promoted as in PyTorch: a floating-point type wins over an integer type, a wider type over a narrower one,
//! and the type of a tensor with dimensions over the type of a scalar;
//! an integer tensor with a floating-point number, or divided, becomes `f32`. Sums, differences, products and
//! powers of integers are exact, as `i64`; a result that does not fit is refused.

mod candle;
mod compare;
pub(super) mod integers;
mod kernel;
mod operators;
mod types;

pub(crate) use compare::{compare, compare_number};
pub(super) use kernel::{
    Differentiable, binary, by_operations as pairs_by_operations, forward as of_pairs,
};
pub(crate) use operators::Arithmetic;
pub(super) use types::operands;

use super::broadcast::broadcast_shape;
use super::check;
use super::elementwise::{self, apply};
use super::engine::autograd::has_kernel;
use crate::tensor::{Number, Raw};
use candle_core::Result;
use operators::{Cube, NumberPow, One};
use types::{common_type, scalar, type_with_number};

/// Computes with two tensors.
pub(crate) fn arithmetic(op: Arithmetic, a: &Raw, b: &Raw) -> Result<Raw> {
    if op == Arithmetic::Mul && a.id() == b.id() && a.dtype().is_float() {
        return elementwise::sqr_of(a);
    }
    let name = op.name();
    check::same_device_of_two(name, a, b)?;
    let shape = broadcast_shape(name, a, b)?;
    check::output(&name, &shape, a)?;
    let dtype = common_type(op, a, b);
    let (a, b) = (&a.to_dtype(dtype)?, &b.to_dtype(dtype)?);
    match dtype.is_int() {
        true => integers::arithmetic(op, a, b, &shape)?.to_dtype(dtype),
        false => of_floats(op, a, b, &shape),
    }
}

fn of_floats(op: Arithmetic, a: &Raw, b: &Raw, shape: &[usize]) -> Result<Raw> {
    if shape.contains(&0) || !(has_kernel(&[a, b]) || check::is_half(a)) {
        return op.with_candle(a, b);
    }
    if check::is_half(a) {
        // A GPU computes with 16 bits, unless the gradient of a broadcast operand is a sum, or the quotient needs more.
        let sums = |x: &Raw| x.track_op() && x.dims() != shape;
        let is_exact = op == Arithmetic::Rem || a.device().is_cpu();
        return match is_exact || sums(a) || sums(b) {
            true => check::in_single([a, b], |[a, b]| of_floats(op, &a, &b, shape)),
            false => op.with_candle(a, b),
        };
    }
    op.on_cpu(a, b, shape)
}

/// Computes with a tensor and a number, or, with `swapped`, with a number and a tensor.
pub(crate) fn arithmetic_number(
    op: Arithmetic,
    x: &Raw,
    number: Number,
    swapped: bool,
) -> Result<Raw> {
    let dtype = type_with_number(op, x.dtype(), number);
    if dtype.is_int() {
        let number = &scalar(number, dtype, x.device())?;
        let (a, b) = if swapped { (number, x) } else { (x, number) };
        return arithmetic(op, a, b);
    }
    let (x, n) = (&x.to_dtype(dtype)?, number.to_f64());
    match (op, swapped) {
        (Arithmetic::Pow, false) => power(x, n),
        (Arithmetic::Pow, true) => operators::map(op, x, NumberPow { n }),
        _ => op.with_number(x, n, swapped),
    }
}

fn power(x: &Raw, exponent: f64) -> Result<Raw> {
    match exponent {
        0.0 => apply(&"pow", x, One {}),
        1.0 => Ok(x.clone()),
        2.0 => elementwise::sqr_of(x),
        0.5 => elementwise::sqrt_as(&"pow", x),
        -1.0 => elementwise::recip_as(&"pow", x),
        3.0 => apply(&"pow", x, Cube {}),
        _ => Arithmetic::Pow.with_number(x, exponent, false),
    }
}

#[cfg(test)]
mod tests;
