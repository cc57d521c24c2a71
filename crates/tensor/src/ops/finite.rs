//! Whether all elements of a tensor are finite.

use super::engine::strided::in_order;
use super::engine::{CpuView, Element, dispatch_dtype};
use crate::tensor::Raw;
use candle_core::{DType, Result};
use taper_compute::simd::multiversion;
use taper_compute::sums::sum_terms;
use taper_compute::threads::map_chunks;

/// The elements of one task.
const TASK: usize = 1 << 16;

/// Returns whether no element is NaN or infinite. On a GPU, this waits for the device.
#[doc(hidden)]
pub fn all_finite(x: &Raw) -> Result<bool> {
    if !x.dtype().is_float() || x.elem_count() == 0 {
        return Ok(true);
    }
    match (x.dtype(), x.device().is_cpu()) {
        (DType::F32 | DType::F64, true) => {
            let x = in_order(x)?;
            dispatch_dtype!(x, of_values(&x))
        }
        // The sum of zeros is 0, and 0 · NaN and 0 · ∞ are NaN.
        (DType::F32, false) => {
            let zeros = (x.detach() * 0.0)?.sum_all()?;
            Ok(!zeros.to_scalar::<f32>()?.is_nan())
        }
        _ => all_finite(&x.detach().to_dtype(DType::F32)?),
    }
}

fn of_values<T: Element>(x: &Raw) -> Result<bool> {
    let view = CpuView::of(x)?;
    let parts = map_chunks(view.as_slice::<T>()?, TASK, |part| is_finite(part));
    Ok(parts.into_iter().all(|finite| finite))
}

multiversion! {
    /// Returns whether all values are finite, within a task.
    pub(super) fn is_finite<T: Element>(values: &[T]) -> bool {
        let [zeros] = sum_terms(values, |value| [value * T::ZERO]);
        !zeros.is_nan()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Tensor, tensor, zeros};

    #[test]
    fn one_element_is_found_wherever_it_is() {
        for count in [1, 31, 100, 200_000] {
            assert!(all_finite(zeros(count).raw()).unwrap());
            for at in [0, count / 2, count - 1] {
                for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let x = zeros(count).index_put(at as i64, value);
                    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
                        assert!(!all_finite(x.to_dtype(dtype).raw()).unwrap());
                    }
                }
            }
        }
    }

    #[test]
    fn views_and_integers_have_answers() {
        let x = tensor(&[[1.0, f64::NAN], [2.0, 3.0]]);
        let found = |x: &Tensor| all_finite(x.raw()).unwrap();
        assert!(!found(&x.t()) && found(&x.i((.., 0))) && !found(&x.i((.., 1))));
        assert!(found(&tensor(&[1, 2])) && found(&zeros((0, 3))));
    }
}
