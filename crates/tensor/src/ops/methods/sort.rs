//! The order of values.

use crate::tensor::Raw;
use candle_core::{DType, Result, WithDType};
use taper_compute::threads::map_chunks;

/// Returns the indices that sort each row of a contiguous tensor, as `u32`. Equal values keep their order. NaN counts as
/// larger than all other values.
pub(super) fn order_of_rows(rows: &Raw, descending: bool) -> Result<Raw> {
    if !rows.device().is_cpu() {
        return rows.arg_sort_last_dim(!descending);
    }
    match rows.dtype() {
        DType::F64 => sorted::<f64>(rows, descending),
        dtype if dtype.is_float() => sorted::<f32>(&rows.to_dtype(DType::F32)?, descending),
        _ => sorted::<i64>(&rows.to_dtype(DType::I64)?, descending),
    }
}

fn sorted<T: WithDType>(rows: &Raw, descending: bool) -> Result<Raw> {
    let width = rows.dims().last().copied().unwrap_or(1);
    let values = rows.flatten_all()?.to_vec1::<T>()?;
    let orders = map_chunks(&values, width, |row| {
        let mut order = (0..row.len() as u32).collect::<Vec<_>>();
        order.sort_by(|a, b| {
            let (a, b) = (row[*a as usize], row[*b as usize]);
            let (a, b) = if descending { (b, a) } else { (a, b) };
            let is_nan = |x: T| x.partial_cmp(&x).is_none();
            a.partial_cmp(&b)
                .unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
        });
        order
    });
    Raw::from_vec(orders.concat(), rows.shape(), rows.device())
}

#[cfg(test)]
mod tests {
    use crate::tensor::tensor;

    #[test]
    fn nan_is_the_largest_value() {
        let nan = f64::NAN;
        let x = tensor(&[nan, 1.0, f64::INFINITY, nan, -1.0, 1.0]);
        let order = |descending| x.argsort(0, descending).to_vec1::<u32>();
        assert_eq!(order(false), [4, 1, 5, 2, 0, 3]);
        assert_eq!(order(true), [0, 3, 2, 1, 5, 4]);
        // With many NaN, a comparison without a rule for NaN is not a total order.
        let many = (0..1000).map(|i| {
            if i % 3 == 0 {
                nan
            } else {
                f64::from(i * 7 % 100)
            }
        });
        let many = tensor(many.collect::<Vec<_>>());
        let sorted = many.sort(0, false).0.to_vec1::<f32>();
        assert!(sorted[..666].is_sorted() && sorted[666..].iter().all(|x| x.is_nan()));
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let x = tensor(&[1i64 << 53, (1 << 53) + 1, 1 << 53, -1]);
        assert_eq!(x.argsort(0, true).to_vec1::<u32>(), [1, 0, 2, 3]);
    }
}
