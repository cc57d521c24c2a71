//! What batch normalisation computes for each element, with factors of its channel.

use super::Argument::{U32, U64};
use super::operation::Launch;
use candle_core::{DType, Layout, Result, Tensor};

/// Returns `x · a + b`. `x` is `(batch, channels, area)`; the rows of `table`, `(2, channels)`, are `a` and `b`.
pub(crate) fn affine(x: &Tensor, table: &Tensor) -> Result<Tensor> {
    let (x, table) = (x.contiguous()?, table.contiguous()?);
    let run = |launch: &Launch| x.apply_op2_no_bwd(&table, launch);
    launch("affine", x.layout(), x.dtype(), run)
}

/// Returns `x · a + other · b + c`. `x` and `other` are `(batch, channels, area)`; the rows of `table`, `(3, channels)`,
/// are `a`, `b` and `c`.
pub(crate) fn combined(x: &Tensor, other: &Tensor, table: &Tensor) -> Result<Tensor> {
    let (x, other, table) = (x.contiguous()?, other.contiguous()?, table.contiguous()?);
    let run = |launch: &Launch| x.apply_op3_no_bwd(&other, &table, launch);
    launch("combine", x.layout(), x.dtype(), run)
}

fn launch<R>(
    kernel: &'static str,
    x: &Layout,
    dtype: DType,
    run: impl FnOnce(&Launch) -> Result<R>,
) -> Result<R> {
    let (_, channels, area) = x.shape().dims3()?;
    let elements = x.shape().elem_count();
    let sizes = [area, channels].map(|size| U32(u32::try_from(size).expect("a size")));
    run(&Launch {
        kernel,
        shape: x.shape().clone(),
        dtype,
        threads: elements,
        sizes: [U64(elements as u64)].into_iter().chain(sizes).collect(),
    })
}
