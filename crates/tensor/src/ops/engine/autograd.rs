//! Kernels on the tape.

mod indexed;
mod support;

pub(in crate::ops) use indexed::IndexedCopy;
pub(crate) use support::{can_move, has_kernel};

pub(in crate::ops) use crate::ops::tape::{
    Backward, Downstream, Held, Needs, Product, Upstream, are_tracked, kernel,
};

use super::Element;
use super::memory::keep_freed_memory;
use crate::ops::tape;
use crate::tensor::Raw;
use candle_core::shape::ShapeWithOneHole;
use candle_core::{Device, Result, Shape};

/// Returns a tensor of these values. If the `inputs` are tracked, records `op` as its backward pass.
///
/// The results of all kernels are created here, so this also makes the C library keep freed memory.
pub(in crate::ops) fn record<T: Element, B: Backward>(
    inputs: &[&Raw],
    values: Vec<T>,
    shape: impl Into<Shape>,
    op: impl FnOnce() -> B,
) -> Result<Raw> {
    keep_freed_memory();
    let values = Raw::from_cpu(T::to_cpu_storage_owned(values), shape);
    Ok(tape::record(values.values().clone(), inputs, op))
}

/// Returns what a kernel has computed from the inputs. If they are tracked, `rule` returns the backward pass: it computes the
/// gradients that are wanted with operations, so that they have gradients themselves.
pub(in crate::ops) fn recorded<R>(inputs: &[&Raw], y: Raw, rule: impl FnOnce() -> R) -> Raw
where
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    keep_freed_memory();
    tape::record(y.values().clone(), inputs, || tape::by_operations(rule()))
}

/// Does what [`recorded`] does for a linear operation, whose backward pass computes the gradient of `x` from the output's.
pub(in crate::ops) fn recorded_linear<A>(x: &Raw, y: Raw, adjoint: impl FnOnce() -> A) -> Raw
where
    A: Fn(&Raw) -> Result<Raw> + Send + Sync + 'static,
{
    recorded(&[x], y, || {
        let adjoint = adjoint();
        move |up: &Upstream<'_>| Ok([Some(adjoint(up.gradient)?), None, None])
    })
}

/// Returns a gradient of the first input.
pub(in crate::ops) fn of_first<T: Element>(
    values: Vec<T>,
    shape: impl ShapeWithOneHole,
) -> Result<Downstream> {
    let of_first = Raw::from_vec(values, shape, &Device::Cpu)?;
    Ok([Some(of_first), None, None])
}
