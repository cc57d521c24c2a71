//! Memory on the CPU into which tensors are added.

use super::strided::{add_strided, elements, in_order};
use super::{CpuView, Element, dispatch_dtype};
use crate::tensor::Raw;
use candle_core::{CpuStorage, DType, Result, Shape, bail};
use taper_compute::strided::in_order_of;
use taper_compute::write::{self, zeros};

/// The elements of a tensor that nothing else shares.
pub(crate) struct Buffer {
    values: CpuStorage,
    shape: Shape,
}

impl Buffer {
    pub(crate) fn zeros(dtype: DType, shape: &Shape) -> Result<Self> {
        let values = match dtype {
            DType::F32 => CpuStorage::F32(zeros(shape.elem_count())),
            DType::F64 => CpuStorage::F64(zeros(shape.elem_count())),
            other => bail!("kernel: expected f32 or f64, found {other:?}"),
        };
        let shape = shape.clone();
        Ok(Buffer { values, shape })
    }

    pub(crate) fn copy_of(x: &Raw) -> Result<Self> {
        let values = elements(x, &[])?;
        let shape = x.shape().clone();
        Ok(Buffer { values, shape })
    }

    /// Returns the sum of two tensors of one shape.
    pub(crate) fn sum_of(a: &Raw, b: &Raw) -> Result<Self> {
        let (a, b) = (in_order(a)?, in_order(b)?);
        let values = dispatch_dtype!(a, sum(&a, &b))?;
        let shape = a.shape().clone();
        Ok(Buffer { values, shape })
    }

    /// Adds a tensor of the same shape.
    pub(crate) fn add(&mut self, x: &Raw) -> Result<()> {
        self.add_at(x, 0, &in_order_of(x.dims()))
    }

    /// Adds the elements of a tensor, the first at `start`, the others at these distances.
    pub(crate) fn add_at(&mut self, x: &Raw, start: usize, strides: &[usize]) -> Result<()> {
        if x.elem_count() == 0 {
            return Ok(());
        }
        match &mut self.values {
            CpuStorage::F32(values) => add_strided(x, strides, &mut values[start..]),
            CpuStorage::F64(values) => add_strided(x, strides, &mut values[start..]),
            _ => bail!("kernel: expected f32 or f64"),
        }
    }

    pub(crate) fn into_tensor(self) -> Raw {
        Raw::from_cpu(self.values, self.shape)
    }
}

fn sum<T: Element>(a: &Raw, b: &Raw) -> Result<CpuStorage> {
    let (a, b) = (CpuView::of(a)?, CpuView::of(b)?);
    let (a, b) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
    let sum = write::by_chunks(a.len(), 1 << 15, |first, sum| {
        let (a, b) = (&a[first..][..sum.len()], &b[first..][..sum.len()]);
        write::by_index(sum, |i| a[i] + b[i])
    });
    Ok(T::to_cpu_storage_owned(sum))
}
