//! The type in which an operation computes, and the conversion of operands to it.

use super::operators::Arithmetic;
use crate::tensor::{Number, Operand, Raw};
use candle_core::{DType, Device, Result};

/// Returns the type in which an operation computes with two tensors.
pub(super) fn common_type(op: Arithmetic, a: &Raw, b: &Raw) -> DType {
    let dtype = type_of_both(a, b);
    match op {
        Arithmetic::Maximum | Arithmetic::Minimum => dtype,
        Arithmetic::Div if dtype.is_int() => DType::F32,
        _ if dtype.is_int() => DType::I64,
        _ => dtype,
    }
}

/// Returns the type for two tensors. As in PyTorch, a floating-point scalar does not widen a floating-point tensor.
fn type_of_both(a: &Raw, b: &Raw) -> DType {
    let are_floats = a.dtype().is_float() && b.dtype().is_float();
    match (a.rank(), b.rank()) {
        (0, 1..) if are_floats => b.dtype(),
        (1.., 0) if are_floats => a.dtype(),
        _ => wider(a.dtype(), b.dtype()),
    }
}

/// Returns the type to which both are converted without loss, as PyTorch does.
pub(super) fn wider(a: DType, b: DType) -> DType {
    match (a.is_float(), b.is_float()) {
        _ if a == b => a,
        (true, false) => a,
        (false, true) => b,
        (true, true) => match (a, b) {
            (DType::F64, _) | (_, DType::F64) => DType::F64,
            _ => DType::F32,
        },
        (false, false) => DType::I64,
    }
}

/// Returns the type in which an operation computes with a tensor of this type and a number.
pub(super) fn type_with_number(op: Arithmetic, dtype: DType, number: Number) -> DType {
    match (number, op) {
        _ if dtype.is_float() => dtype,
        (Number::Float(_), _) | (_, Arithmetic::Div) => DType::F32,
        _ => DType::I64,
    }
}

/// Returns two operands as tensors of their common type.
pub(in crate::ops) fn operands(device: &Device, a: &Operand, b: &Operand) -> Result<[Raw; 2]> {
    let dtype = match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => type_of_both(a.raw(), b.raw()),
        (Operand::Tensor(x), Operand::Number(n)) | (Operand::Number(n), Operand::Tensor(x)) => {
            type_with_number(Arithmetic::Maximum, x.dtype(), *n)
        }
        (Operand::Number(Number::Int(_)), Operand::Number(Number::Int(_))) => DType::I64,
        _ => DType::F32,
    };
    let raw = |operand: &Operand| match operand {
        Operand::Tensor(x) => x.raw().to_dtype(dtype),
        Operand::Number(number) => scalar(*number, dtype, device),
    };
    Ok([raw(a)?, raw(b)?])
}

/// Returns a number as a tensor without dimensions.
pub(super) fn scalar(number: Number, dtype: DType, device: &Device) -> Result<Raw> {
    match number {
        Number::Int(value) => Raw::full(value, (), device)?.to_dtype(dtype),
        Number::Float(value) => Raw::full(value, (), device)?.to_dtype(dtype),
    }
}
