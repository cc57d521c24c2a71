use super::*;
use crate::tensor::{Tensor, arange};
use candle_core::DType;

/// Returns operand `k` of a case: with size 1, stride 0 or transposed memory in some dimensions.
fn operand(shape: &[usize], case: usize, k: usize) -> Raw {
    let choice = case * 7 + k * (case / 5 + 3);
    let rank = shape.len();
    let dims: Vec<usize> = (0..rank)
        .map(|dim| {
            if choice >> dim & 1 == 1 {
                1
            } else {
                shape[dim]
            }
        })
        .collect();
    let count: usize = dims.iter().product();
    let x = arange(0.0, count as f64).to_dtype(DType::F64);
    let x = x.reshape(&dims[..]);
    let x = match choice / 8 % 4 {
        0 if rank > 1 => x
            .transpose(rank - 2, rank - 1)
            .contiguous()
            .transpose(rank - 2, rank - 1),
        1 => x.broadcast_as(shape),
        _ => x,
    };
    Raw::from(x)
}

/// Returns the elements from which the output is computed, in its order.
fn elements(x: &Raw, shape: &[usize]) -> Vec<f64> {
    let x = x.broadcast_as(shape).expect("a shape that fits");
    Tensor::from(x).contiguous().to_vec()
}

/// Runs that are shorter and longer than pieces, and tasks that begin within a run.
const SHAPES: [&[usize]; 7] = [
    &[3, 40, 300],
    &[90, 270],
    &[2, 70, 33],
    &[5, 7, 3],
    &[9000, 3],
    &[3, 9000],
    &[2, 3, 64],
];

/// Each element of a triple has its own digits.
#[test]
fn three_operands_are_read_where_their_shapes_say() {
    for shape in SHAPES {
        for case in 0..64 {
            let [g, a, b] = [0, 1, 2].map(|k| operand(shape, case, k));
            // SAFETY: the loop initialises the whole slice.
            let (got, _) = unsafe {
                map::<f64, f64, 3, false>(shape, [&g, &a, &b], &|[g, a, b], out| {
                    let count = out.len();
                    let at = |x: &[f64], i: usize| match x {
                        [one] => *one,
                        _ => x[..count][i],
                    };
                    for (i, out) in out.iter_mut().enumerate() {
                        out.write(g[i] + 1e5 * at(a, i) + 1e10 * at(b, i));
                    }
                })
            }
            .expect("operands that fit");
            let [g, a, b] = [g, a, b].map(|x| elements(&x, shape));
            let want = (0..got.len()).map(|i| g[i] + 1e5 * a[i] + 1e10 * b[i]);
            assert!(got.iter().copied().eq(want), "{shape:?} {case}");
        }
    }
}

#[test]
fn two_operands_have_elements_for_each_run() {
    for shape in SHAPES {
        for case in 0..64 {
            let [a, b] = [0, 1].map(|k| operand(shape, case, k));
            // SAFETY: the loop initialises the whole slice.
            let (got, _) = unsafe {
                map::<f64, f64, 2, true>(shape, [&a, &b], &|[a, b], out| {
                    let count = out.len();
                    let at = |x: &[f64], i: usize| x[i / (count / x.len())];
                    for (i, out) in out.iter_mut().enumerate() {
                        out.write(at(a, i) + 1e5 * at(b, i));
                    }
                })
            }
            .expect("operands that fit");
            let [a, b] = [a, b].map(|x| elements(&x, shape));
            let want = (0..got.len()).map(|i| a[i] + 1e5 * b[i]);
            assert!(got.iter().copied().eq(want), "{shape:?} {case}");
        }
    }
}
