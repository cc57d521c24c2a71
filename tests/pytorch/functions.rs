//! Calls of Taper's operators and functions of each element by PyTorch's names.

use crate::arguments::{Args, Expressed, Value, missing, mistyped};
use taper::Tensor;
use taper::candle_core::DType;
use taper::ops;
use taper::tensor::{Number, Operand};

pub(crate) type Outputs = Expressed<Vec<Tensor>>;

pub(crate) fn one(x: Tensor) -> Outputs {
    Ok(vec![x])
}

/// Calls the function of this name; `None` if it is in another file.
pub(crate) fn call(name: &str, a: &Args) -> Option<Outputs> {
    elementwise(name, a).or_else(|| operator(name, a))
}

/// Evaluates a block that contains `?`.
macro_rules! expressed {
    ($block:expr) => {
        Some({
            let call = || $block;
            call()
        })
    };
}
pub(crate) use expressed;

fn elementwise(name: &str, a: &Args) -> Option<Outputs> {
    let f: fn(&Tensor) -> Tensor = match name {
        "abs" => Tensor::abs,
        "neg" => Tensor::neg,
        "reciprocal" => Tensor::recip,
        "square" => Tensor::sqr,
        "sqrt" => Tensor::sqrt,
        "sin" => Tensor::sin,
        "cos" => Tensor::cos,
        "erf" => Tensor::erf,
        "sign" => Tensor::sign,
        "floor" => Tensor::floor,
        "ceil" => Tensor::ceil,
        "exp" => Tensor::exp,
        "log" => Tensor::log,
        "sigmoid" => Tensor::sigmoid,
        "tanh" => Tensor::tanh,
        "nn.functional.relu" => Tensor::relu,
        "nn.functional.silu" => Tensor::silu,
        "contiguous" => Tensor::contiguous,
        "double" => |x| x.to_dtype(DType::F64),
        "float" => |x| x.to_dtype(DType::F32),
        "half" => |x| x.to_dtype(DType::F16),
        "bfloat16" => |x| x.to_dtype(DType::BF16),
        "long" => |x| x.to_dtype(DType::I64),
        _ => return elementwise_with_settings(name, a),
    };
    expressed!(one(f(&a.x()?)))
}

/// Returns the input in the type of the argument `dtype`, which PyTorch converts it to first.
pub(crate) fn converted(a: &Args) -> Expressed<Tensor> {
    Ok(match a.dtype("dtype")? {
        Some(dtype) => a.x()?.to_dtype(dtype),
        None => a.x()?,
    })
}

fn elementwise_with_settings(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "round" => expressed!(match a.int("decimals")? {
            None => one(a.x()?.round()),
            Some(decimals) => one(a.x()?.round_to(decimals as i32)),
        }),
        "nn.functional.gelu" => expressed!(match a.text("approximate")?.as_deref() {
            Some("tanh") => one(ops::gelu_tanh(&a.x()?)),
            Some(other) => mistyped(format!("`approximate`: {other}")),
            None => one(a.x()?.gelu()),
        }),
        "nn.functional.elu" => expressed!(one(ops::elu(&a.x()?, a.float("alpha")?.unwrap_or(1.0)))),
        "nn.functional.leaky_relu" => expressed!({
            one(ops::leaky_relu(
                &a.x()?,
                a.float("negative_slope")?.unwrap_or(0.01),
            ))
        }),
        "zeros_like" => expressed!(one(converted(a)?.zeros_like())),
        "ones_like" => expressed!(one(converted(a)?.ones_like())),
        "clamp" => expressed!(clamp(a)),
        "softmax" => expressed!(one(converted(a)?.softmax(a.axis("dim")?))),
        "log_softmax" => expressed!(one(converted(a)?.log_softmax(a.axis("dim")?))),
        "cumsum" => expressed!(one(converted(a)?.cumsum(a.axis("dim")?))),
        "where" => expressed!({
            let (mask, no) = (a.tensor("condition")?, a.operand("other")?);
            one(mask.where_cond(a.operand("x")?, no))
        }),
        "masked_fill" => expressed!(one(a
            .x()?
            .masked_fill(&a.tensor("mask")?, a.operand("value")?))),
        _ => None,
    }
}

/// A missing bound is the largest or smallest value of the type of the other one.
fn clamp(a: &Args) -> Outputs {
    let bound = |name: &str, other: &str, float: f64, int: i64| match a.get(name) {
        Some(_) => a.operand(name),
        None => Ok(Operand::Number(match a.get(other) {
            Some(Value::Int(_)) => Number::Int(int),
            _ => Number::Float(float),
        })),
    };
    let x = a.x()?;
    if let (Some(Value::Tensor(low)), None) = (a.get("min"), a.get("max")) {
        return one(x.maximum(low));
    }
    if let (None, Some(Value::Tensor(high))) = (a.get("min"), a.get("max")) {
        return one(x.minimum(high));
    }
    let low = bound("min", "max", f64::NEG_INFINITY, i64::MIN)?;
    one(x.clamp(low, bound("max", "min", f64::INFINITY, i64::MAX)?))
}

/// Applies an operator to tensors and scalars.
macro_rules! apply {
    ($left:expr, $op:tt, $right:expr) => {
        match ($left, $right) {
            (Operand::Tensor(x), Operand::Tensor(y)) => one(&x $op &y),
            (Operand::Tensor(x), Operand::Number(y)) => one(&x $op y),
            (Operand::Number(Number::Int(x)), Operand::Tensor(y)) => one(x $op &y),
            (Operand::Number(Number::Float(x)), Operand::Tensor(y)) => one(x $op &y),
            _ => missing("two scalars"),
        }
    };
}

/// Returns `other`, times `alpha`.
fn scaled(a: &Args) -> Expressed<Operand> {
    let other = a.operand("other")?;
    match (a.number("alpha")?, other) {
        (None, other) => Ok(other),
        (Some(alpha), Operand::Tensor(y)) => Ok(Operand::Tensor(y * alpha)),
        _ => missing("`alpha` of a number"),
    }
}

fn operator(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "add" | "__radd__" => expressed!(apply!(a.operand("x")?, +, scaled(a)?)),
        "sub" => expressed!(apply!(a.operand("x")?, -, scaled(a)?)),
        "mul" | "__rmul__" => expressed!(apply!(a.operand("x")?, *, a.operand("other")?)),
        "div" | "true_divide" => expressed!(apply!(a.operand("x")?, /, a.operand("other")?)),
        "rsub" => expressed!(match a.number("alpha")? {
            None => apply!(a.operand("other")?, -, a.operand("x")?),
            Some(alpha) => apply!(a.operand("other")?, -, Operand::Tensor(a.x()? * alpha)),
        }),
        "__rsub__" => expressed!(apply!(a.operand("other")?, -, a.operand("x")?)),
        "__rdiv__" => expressed!(apply!(a.operand("other")?, /, a.operand("x")?)),
        "matmul" => expressed!(one(a.x()?.matmul(&a.tensor("other")?))),
        "__rmatmul__" => expressed!(one(a.tensor("other")?.matmul(&a.x()?))),
        "eq" => expressed!(one(a.x()?.eq(a.operand("other")?))),
        "ne" => expressed!(one(a.x()?.ne(a.operand("other")?))),
        "lt" => expressed!(one(a.x()?.lt(a.operand("other")?))),
        "le" => expressed!(one(a.x()?.le(a.operand("other")?))),
        "gt" => expressed!(one(a.x()?.gt(a.operand("other")?))),
        "ge" => expressed!(one(a.x()?.ge(a.operand("other")?))),
        "pow" => expressed!(one(a.x()?.pow(a.operand("other")?))),
        "maximum" | "max.binary" => expressed!(one(a.x()?.maximum(a.operand("other")?))),
        "minimum" | "min.binary" => expressed!(one(a.x()?.minimum(a.operand("other")?))),
        _ => None,
    }
}
