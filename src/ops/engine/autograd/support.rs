//! Which tensors the kernels compute with.

use crate::tensor::Raw;
use candle_core::DType;

/// Returns whether the kernels can compute with these tensors: all are on the CPU and of the same
/// type, `f32` or `f64`.
pub(crate) fn has_kernel(tensors: &[&Raw]) -> bool {
    let dtype = tensors[0].dtype();
    matches!(dtype, DType::F32 | DType::F64)
        && tensors
            .iter()
            .all(|t| t.device().is_cpu() && t.dtype() == dtype)
}
