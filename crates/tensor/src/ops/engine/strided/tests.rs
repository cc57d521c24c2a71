use super::*;
use crate::tensor::{rand, with_seed};
use candle_core::DType;

#[test]
fn copies_agree_with_candle() -> Result<()> {
    let shapes: [&[usize]; 8] = [
        &[5],
        &[37, 70],
        &[2, 70_000],
        &[70_000, 3],
        &[3, 4, 5, 6],
        &[2, 33, 17],
        &[1, 300, 1, 130],
        &[2, 1, 5, 3, 4],
    ];
    for (seed, shape) in shapes.iter().enumerate() {
        for dtype in [DType::F32, DType::F64] {
            let x = with_seed(seed as u64, || rand(*shape)).to_dtype(dtype);
            for x in views(x.raw())? {
                let copy = in_order(&x)?;
                let what = format!("{:?} {:?}", x.dims(), x.stride());
                assert!(copy.is_contiguous(), "{what}");
                let flat = |x: &Raw| x.flatten_all()?.to_dtype(DType::F64)?.to_vec1::<f64>();
                assert_eq!(flat(&copy)?, flat(&x.contiguous()?)?, "{what}");
            }
        }
    }
    Ok(())
}

/// Returns the tensor with its dimensions in other orders, parts of those, and repetitions.
fn views(x: &Raw) -> Result<Vec<Raw>> {
    let mut views = vec![x.clone()];
    for first in 0..x.rank() {
        for second in first + 1..x.rank() {
            views.push(x.transpose(first, second)?);
        }
    }
    let mut order: Vec<usize> = (0..x.rank()).collect();
    order.rotate_left(1);
    views.push(x.permute(order.clone())?);
    order.reverse();
    views.push(x.permute(order)?);
    for i in 0..views.len() {
        let view = views[i].clone();
        for (dim, &size) in view.dims().iter().enumerate() {
            views.push(view.narrow(dim, size / 2, size - size / 2)?);
        }
        let more = [&[3], view.dims(), &[2]].concat();
        views.push(view.unsqueeze(view.rank())?.broadcast_as(more)?);
    }
    Ok(views)
}
