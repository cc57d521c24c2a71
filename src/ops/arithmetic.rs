//! `+ - * /`, powers, the larger and the smaller of two values, comparisons: of two tensors that are broadcast to
//! one shape, or of a tensor and a number.
//!
//! Types are promoted as in PyTorch: a floating-point type wins over an integer type, a wider type over a narrower one,
//! and the type of a tensor with dimensions over the type of a scalar;
//! an integer tensor with a floating-point number, or divided, becomes `f32`. Sums, differences, products and
//! powers of integers are exact, as `i64`; a result that does not fit is refused.

mod candle;
mod compare;
mod functions;
pub(super) mod integers;
mod kernel;
mod remainder;
mod types;

pub(crate) use compare::{compare, compare_number};
pub(super) use kernel::recorded_sum;
pub(crate) use types::Arithmetic;
pub(super) use types::operands;

use super::broadcast::broadcast_shape;
use super::check;
use super::elementwise::{self, Composed, Function, apply};
use super::engine::autograd::has_kernel;
use super::engine::dispatch_dtype;
use crate::tensor::{Number, Raw};
use candle::with_candle;
use candle_core::Result;
use functions::{
    Add, AddNumber, Cube, Div, DivNumber, Maximum, MaximumNumber, Minimum, MinimumNumber, Mul,
    MulNumber, NumberDiv, NumberPow, NumberSub, One, Pow, PowNumber, Sub, SubNumber,
};
use kernel::{Differentiable, forward};
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
        return with_candle(op, &a.broadcast_as(shape)?, &b.broadcast_as(shape)?);
    }
    if check::is_half(a) {
        // A GPU computes with 16 bits, unless the gradient of a broadcast operand is a sum.
        let sums = |x: &Raw| x.track_op() && x.dims() != shape;
        return match a.device().is_cpu() || sums(a) || sums(b) {
            true => check::in_single([a, b], |[a, b]| of_floats(op, &a, &b, shape)),
            false => with_candle(op, &a.broadcast_as(shape)?, &b.broadcast_as(shape)?),
        };
    }
    match op {
        Arithmetic::Add => on_cpu(a, b, shape, Add),
        Arithmetic::Sub => on_cpu(a, b, shape, Sub),
        Arithmetic::Mul => on_cpu(a, b, shape, Mul),
        Arithmetic::Div => on_cpu(a, b, shape, Div),
        Arithmetic::Maximum => on_cpu(a, b, shape, Maximum),
        Arithmetic::Minimum => on_cpu(a, b, shape, Minimum),
        Arithmetic::Pow => on_cpu(a, b, shape, Pow),
    }
}

fn on_cpu<F>(a: &Raw, b: &Raw, shape: &[usize], function: F) -> Result<Raw>
where
    F: Differentiable<Output<f32> = f32, Output<f64> = f64>,
{
    dispatch_dtype!(a, forward(a, b, shape, function))
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
    let (name, n) = (op.name(), number.to_f64());
    let x = &x.to_dtype(dtype)?;
    let with_candle = move |x: &Raw| {
        let number = scalar(number, x.dtype(), x.device())?.broadcast_as(x.shape())?;
        let (a, b) = if swapped { (&number, x) } else { (x, &number) };
        with_candle(op, a, b)
    };
    match (op, swapped) {
        (Arithmetic::Add, _) => with_number(name, x, AddNumber(n), move |x| x.affine(1.0, n)),
        (Arithmetic::Sub, false) => with_number(name, x, SubNumber(n), move |x| x.affine(1.0, -n)),
        (Arithmetic::Sub, true) => with_number(name, x, NumberSub(n), move |x| x.affine(-1.0, n)),
        (Arithmetic::Mul, _) => with_number(name, x, MulNumber(n), move |x| x.affine(n, 0.0)),
        (Arithmetic::Div, false) => with_number(name, x, DivNumber(n), with_candle),
        (Arithmetic::Div, true) => with_number(name, x, NumberDiv(n), with_candle),
        (Arithmetic::Maximum, _) => with_number(name, x, MaximumNumber(n), with_candle),
        (Arithmetic::Minimum, _) => with_number(name, x, MinimumNumber(n), with_candle),
        (Arithmetic::Pow, true) => with_number(name, x, NumberPow(n), with_candle),
        (Arithmetic::Pow, false) => power(x, n),
    }
}

/// Computes with an element and a number. A GPU computes with 16 bits.
fn with_number(
    name: &str,
    x: &Raw,
    function: impl Function,
    with_candle: impl Composed,
) -> Result<Raw> {
    match check::is_half(x) && !x.device().is_cpu() {
        true => with_candle(x),
        false => apply(&name, x, function, with_candle),
    }
}

fn power(x: &Raw, exponent: f64) -> Result<Raw> {
    match exponent {
        0.0 => apply(&"pow", x, One(0.0), Raw::ones_like),
        1.0 => Ok(x.clone()),
        2.0 => elementwise::sqr_of(x),
        0.5 => elementwise::sqrt_as(&"pow", x),
        -1.0 => elementwise::recip_as(&"pow", x),
        3.0 => apply(&"pow", x, Cube(3.0), |x| x.powf(3.0)),
        _ => apply(&"pow", x, PowNumber(exponent), move |x| x.powf(exponent)),
    }
}

#[cfg(test)]
mod tests;
