//! The sum of gradients, on all cores.

use super::support::has_kernel;
use super::views::View;
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::{elements, in_order};
use crate::ops::engine::{CpuView, dispatch_dtype, vec_by_chunks, zeros};
use crate::tensor::Raw;
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, Device, Result, Shape, Storage};

/// The sum of the gradients of a tensor so far.
pub(super) enum Sum {
    /// A gradient that others may have too.
    Shared(Raw),
    /// Memory into which the gradients of views are added.
    Own(CpuStorage, Shape),
}

impl Sum {
    /// Adds a gradient, or that of a view.
    pub(super) fn add(sum: Option<Sum>, gradient: Raw, view: Option<&View>) -> Result<Self> {
        let gradient = match view {
            None => gradient,
            Some(view) => match view.of_all(&gradient)? {
                Some(of_all) => of_all,
                None => return Sum::add_part(sum, &gradient, view),
            },
        };
        Ok(Sum::Shared(match sum {
            Some(sum) => total(&sum.into_raw(), &gradient)?,
            None => gradient,
        }))
    }

    fn add_part(sum: Option<Sum>, gradient: &Raw, view: &View) -> Result<Self> {
        let (mut values, shape) = match sum {
            Some(Sum::Own(values, shape)) => (values, shape),
            Some(Sum::Shared(sum)) => (dispatch_dtype!(sum, copied(&sum))?, sum.shape().clone()),
            None => {
                let count = view.base.elem_count();
                (
                    dispatch_dtype!(gradient, zeros_for(count))?,
                    view.base.clone(),
                )
            }
        };
        view.add_to(&mut values, gradient)?;
        Ok(Sum::Own(values, shape))
    }

    pub(super) fn into_raw(self) -> Raw {
        match self {
            Sum::Shared(sum) => sum,
            Sum::Own(values, shape) => {
                Raw::from_storage(Storage::Cpu(values), shape, BackpropOp::none(), false)
            }
        }
    }
}

fn copied<T: Element>(x: &Raw) -> Result<CpuStorage> {
    elements(x).map(T::to_cpu_storage_owned)
}

fn zeros_for<T: Element>(count: usize) -> Result<CpuStorage> {
    Ok(T::to_cpu_storage_owned(zeros(count)))
}

/// Returns the sum of two gradients of an output.
pub(super) fn total(a: &Raw, b: &Raw) -> Result<Raw> {
    match a.dims() == b.dims() && has_kernel(&[a, b]) {
        true => dispatch_dtype!(a, add(&in_order(a)?, &in_order(b)?)),
        false => a + b,
    }
}

fn add<T: Element>(a: &Raw, b: &Raw) -> Result<Raw> {
    let (x, y) = (CpuView::of(a)?, CpuView::of(b)?);
    let (x, y) = (x.as_slice::<T>()?, y.as_slice::<T>()?);
    // SAFETY: the inputs have as many elements as the sum, so the loop initialises the whole chunk.
    let sum = unsafe {
        vec_by_chunks(x.len(), 1 << 15, |first, sum| {
            let terms = x[first..].iter().zip(&y[first..]);
            for (sum, (x, y)) in sum.iter_mut().zip(terms) {
                sum.write(*x + *y);
            }
        })
    };
    Raw::from_vec(sum, a.dims(), &Device::Cpu)
}
