//! Which tensors the kernels compute with.

use crate::tensor::Raw;
use candle_core::DType;

/// Returns whether the kernels that move elements, but do not compute with them, can take this tensor: it is on the CPU, and
/// of a type of tensors.
pub(crate) fn can_move(x: &Raw) -> bool {
    use DType::{BF16, F16, F32, F64, I64, U8, U32};
    x.device().is_cpu() && matches!(x.dtype(), U8 | U32 | I64 | BF16 | F16 | F32 | F64)
}

/// Returns whether the kernels can compute with these tensors: all are on the CPU and of the same
/// type, `f32` or `f64`.
pub(crate) fn has_kernel(tensors: &[&Raw]) -> bool {
    let dtype = tensors[0].dtype();
    matches!(dtype, DType::F32 | DType::F64)
        && tensors
            .iter()
            .all(|t| t.device().is_cpu() && t.dtype() == dtype)
}
