//! Comparisons, whose results are 1 where they are true and else 0, as `u8`.

use super::functions::{Eq, Ge, Gt, Le, Lt, Ne};
use super::kernel::{Binary, values};
use super::types::{scalar, wider};
use crate::ops::broadcast::{Plan, broadcast_shape};
use crate::ops::check;
use crate::ops::engine::autograd::has_kernel;
use crate::ops::engine::dispatch_dtype;
use crate::ops::engine::simd::Element;
use crate::tensor::{Number, Raw};
use candle_core::op::CmpOp;
use candle_core::{DType, Device, Result};

/// Compares two tensors.
pub(crate) fn compare(op: CmpOp, a: &Raw, b: &Raw) -> Result<Raw> {
    let name = comparison_name(op);
    check::same_device_of_two(name, a, b)?;
    let shape = broadcast_shape(name, a, b)?;
    let dtype = wider(a.dtype(), b.dtype());
    let (a, b) = (&a.to_dtype(dtype)?, &b.to_dtype(dtype)?);
    if shape.contains(&0) || !has_kernel(&[a, b]) {
        return (a.broadcast_as(&shape[..])?).cmp(&b.broadcast_as(&shape[..])?, op);
    }
    match op {
        CmpOp::Eq => on_cpu(a, b, &shape, Eq),
        CmpOp::Ne => on_cpu(a, b, &shape, Ne),
        CmpOp::Lt => on_cpu(a, b, &shape, Lt),
        CmpOp::Le => on_cpu(a, b, &shape, Le),
        CmpOp::Gt => on_cpu(a, b, &shape, Gt),
        CmpOp::Ge => on_cpu(a, b, &shape, Ge),
    }
}

fn on_cpu<F>(a: &Raw, b: &Raw, shape: &[usize], function: F) -> Result<Raw>
where
    F: Binary<Output<f32> = u8, Output<f64> = u8>,
{
    dispatch_dtype!(a, compare_values(a, b, shape, function))
}

fn compare_values<T: Element>(
    a: &Raw,
    b: &Raw,
    shape: &[usize],
    function: impl Binary<Output<T> = u8>,
) -> Result<Raw> {
    let (plan, inputs) = Plan::of(shape, [a, b])?;
    let values = values::<T, _>(&plan, inputs.each_ref(), function)?;
    Raw::from_vec(values, shape, &Device::Cpu)
}

/// Compares each element with a number.
pub(crate) fn compare_number(op: CmpOp, x: &Raw, number: Number) -> Result<Raw> {
    let dtype = match (x.dtype().is_float(), number) {
        (true, _) => x.dtype(),
        (false, Number::Int(_)) => DType::I64,
        // `f32` cannot tell large integers apart.
        (false, Number::Float(_)) => DType::F64,
    };
    compare(op, &x.to_dtype(dtype)?, &scalar(number, dtype, x.device())?)
}

fn comparison_name(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "eq",
        CmpOp::Ne => "ne",
        CmpOp::Lt => "lt",
        CmpOp::Le => "le",
        CmpOp::Gt => "gt",
        CmpOp::Ge => "ge",
    }
}
