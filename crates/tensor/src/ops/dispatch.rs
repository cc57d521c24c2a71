//! The choice between a kernel and Candle's operation.

use super::check::is_half;
use super::engine::autograd::has_kernel;
use super::profile;
use crate::tensor::Raw;
use candle_core::{DType, Result};

/// Computes with the kernel, or with Candle where there is none: on other devices. Elements of 16 bits have too few
/// digits for sums: they are converted to `f32`, and the result back.
pub(super) fn run(
    inputs: &[&Raw],
    kernel: impl FnOnce(&[&Raw]) -> Result<Raw>,
    candle: impl FnOnce(&[&Raw]) -> Result<Raw>,
) -> Result<Raw> {
    if is_half(inputs[0]) {
        let single = in_single(inputs)?;
        let single = single.iter().collect::<Vec<_>>();
        return run(&single, kernel, candle)?.to_dtype(inputs[0].dtype());
    }
    profile::begin();
    match has_kernel(inputs) {
        true => kernel(inputs),
        false => candle(inputs),
    }
}

#[inline(never)]
fn in_single(inputs: &[&Raw]) -> Result<Vec<Raw>> {
    let single = inputs.iter().map(|input| input.to_dtype(DType::F32));
    single.collect()
}

/// Computes a product: as [`run`], but a GPU multiplies elements of 16 bits as they are, and adds up in `f32`.
pub(super) fn run_product(
    inputs: &[&Raw],
    kernel: impl FnOnce(&[&Raw]) -> Result<Raw>,
    candle: impl FnOnce(&[&Raw]) -> Result<Raw>,
) -> Result<Raw> {
    if is_half(inputs[0]) && inputs[0].device().is_cuda() {
        profile::begin();
        return candle(inputs);
    }
    run(inputs, kernel, candle)
}
