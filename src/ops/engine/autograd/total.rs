//! The sum of two gradients, on all cores.

use super::support::has_kernel;
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, dispatch_dtype, vec_by_chunks};
use crate::tensor::Raw;
use candle_core::{Device, Result};

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
