//! Which tensors the kernels compute with.

use crate::tensor::Raw;
use candle_core::DType;
use std::sync::LazyLock;

/// Returns whether the kernels can compute with these tensors: all are on the CPU and of the same
/// type, `f32` or `f64`, and no second derivatives are requested, which the kernels do not have.
pub(in crate::ops) fn has_kernel(tensors: &[&Raw]) -> bool {
    let dtype = tensors[0].dtype();
    matches!(dtype, DType::F32 | DType::F64)
        && tensors
            .iter()
            .all(|t| t.device().is_cpu() && t.dtype() == dtype)
        && !second_derivatives()
}

/// Returns whether Candle's environment variable for second derivatives is set. Like Candle, reads it once
/// per process.
pub(in crate::ops) fn second_derivatives() -> bool {
    static SET: LazyLock<bool> = LazyLock::new(|| {
        std::env::var("CANDLE_GRAD_DO_NOT_DETACH").is_ok_and(|v| !v.is_empty() && v != "0")
    });
    *SET
}
