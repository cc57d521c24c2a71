//! The gradients of views, which are operations of Candle's.
//!
//! A view shares the memory of the tensor that it shows, so the layouts of both say which element of the view is which
//! element of the tensor.

use crate::ops::engine::strided::{add_strided, in_order};
use crate::tensor::Raw;
use candle_core::{CpuStorage, Result, Shape, bail};
use std::cmp::Reverse;

/// The elements of a contiguous tensor, the base, that a view of it shows.
#[derive(Clone)]
pub(in crate::ops) struct View {
    pub(super) dims: Vec<usize>,
    pub(super) strides: Vec<usize>,
    start: usize,
    pub(super) base: Shape,
}

impl View {
    /// Returns the elements that a view shows; `None` if the base is not contiguous.
    pub(in crate::ops) fn of(view: &Raw, base: &Raw) -> Option<Self> {
        let (start, _) = base.layout().contiguous_offsets()?;
        Some(View {
            dims: view.dims().to_vec(),
            strides: view.stride().to_vec(),
            start: view.layout().start_offset() - start,
            base: base.shape().clone(),
        })
    }

    /// Returns the view, if it does not show an element twice.
    pub(super) fn of_different_elements(self) -> Option<Self> {
        let mut dims = self.dims.iter().zip(&self.strides);
        let differ = dims.all(|(size, stride)| *size == 1 || *size > 1 && *stride > 0);
        differ.then_some(self)
    }

    pub(super) fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns the base's gradient from the view's, if the view shows all elements, in any order.
    pub(super) fn of_all(&self, gradient: &Raw) -> Result<Option<Raw>> {
        if self.count() != self.base.elem_count() {
            return Ok(None);
        }
        if gradient.stride().iter().all(|stride| *stride == 0) {
            let one = gradient.dims().iter().enumerate();
            let one = one
                .map(|(dim, _)| dim)
                .try_fold(gradient.clone(), |x, dim| x.narrow(dim, 0, 1))?;
            return one.reshape(())?.broadcast_as(&self.base).map(Some);
        }
        let mut order: Vec<usize> = (0..self.dims.len()).collect();
        order.sort_by_key(|dim| Reverse(self.strides[*dim]));
        let sorted = gradient.permute(order)?;
        match sorted.shape() == &self.base {
            true => Ok(Some(sorted)),
            false => in_order(&sorted)?.reshape(&self.base).map(Some),
        }
    }

    /// Adds a gradient of the view to the base's gradient.
    pub(super) fn add_to(&self, sum: &mut CpuStorage, gradient: &Raw) -> Result<()> {
        match sum {
            CpuStorage::F32(sum) => add_strided(gradient, &self.strides, &mut sum[self.start..]),
            CpuStorage::F64(sum) => add_strided(gradient, &self.strides, &mut sum[self.start..]),
            _ => bail!("kernel: expected f32 or f64"),
        }
    }

    /// Returns the position of each element in the base.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        let sizes: Vec<_> = self.dims.iter().zip(&self.strides).rev().collect();
        (0..self.count()).map(move |mut index| {
            sizes.iter().fold(self.start, |position, (size, stride)| {
                let at = index % *size;
                index /= *size;
                position + at * *stride
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::testing::variable;
    use crate::tensor::{Raw, Tensor, rand};
    use candle_core::{Device, Result};

    type Views = fn(&Raw) -> Result<Vec<Raw>>;

    /// Views of a tensor of the shape (4, 6, 5), which are multiplied by constants and added up.
    const VIEWS: [Views; 9] = [
        |x| Ok(vec![x.narrow(1, 1, 3)?]),
        |x| {
            Ok(vec![
                x.narrow(0, 1, 2)?,
                x.narrow(0, 2, 2)?,
                x.narrow(2, 0, 1)?,
            ])
        },
        |x| Ok(vec![x.transpose(1, 2)?, x.permute((2, 0, 1))?]),
        |x| {
            Ok(vec![
                x.permute((1, 2, 0))?.narrow(1, 2, 2)?.transpose(0, 2)?,
            ])
        },
        |x| Ok(vec![x.reshape((8, 15))?, x.unsqueeze(1)?, x.clone()]),
        |x| Ok(vec![x.flatten_all()?.narrow(0, 7, 50)?, x.clone()]),
        |x| {
            Ok(vec![
                x.narrow(2, 3, 1)?.squeeze(2)?,
                x.narrow(1, 5, 1)?.squeeze(1)?,
            ])
        },
        |x| Ok(vec![x.narrow(1, 0, 1)?.broadcast_as((4, 6, 5))?, x.t()?]),
        |x| {
            Ok(vec![
                x.narrow(1, 2, 0)?,
                x.narrow(0, 0, 4)?.t()?.contiguous()?,
            ])
        },
    ];

    fn loss(views: Vec<Raw>, product: impl Fn(&Raw, &Raw) -> Result<Raw>) -> Result<Raw> {
        let mut sum = Raw::new(0.0, &Device::Cpu)?;
        for (i, view) in views.iter().enumerate() {
            let values = (0..view.elem_count()).map(|k| (k * (i + 1)) as f64 / 7.0);
            let factors = Raw::from_iter(values, &Device::Cpu)?.reshape(view.shape())?;
            sum = (sum + product(view, &factors)?.sum_all()?)?;
        }
        Ok(sum)
    }

    #[test]
    fn gradients_of_views_are_those_of_candle() -> Result<()> {
        for (i, views) in VIEWS.iter().enumerate() {
            let x = rand((4, 6, 5)).to_dtype(candle_core::DType::F64);
            for base in [(|x| x.clone()) as fn(&Tensor) -> Tensor, Tensor::exp] {
                let x = variable(&x);
                let product = |a: &Raw, b: &Raw| {
                    Ok((Tensor::from_raw_ref(a) * Tensor::from_raw_ref(b)).into())
                };
                let ours = loss(views(base(&x).raw())?, product)?;
                let candles = loss(views(base(&x).raw())?, |a, b| a * b)?;
                let want = candles.backward()?;
                let want = Tensor::from(want.get(x.raw()).unwrap()).to_vec::<f64>();
                let got = Tensor::from(&ours).backward().of(&x).to_vec::<f64>();
                let by_candle = ours.backward()?;
                let by_candle = Tensor::from(by_candle.get(x.raw()).unwrap()).to_vec::<f64>();
                for ((got, by_candle), want) in got.iter().zip(by_candle).zip(want) {
                    let error = (got - want).abs().max((by_candle - want).abs());
                    assert!(error < 1e-12 * want.abs().max(1.0), "{i}: {got}, {want}");
                }
            }
        }
        Ok(())
    }

    /// A part of a variable is read, so a change is noticed; and what Candle computes has its gradient too.
    #[test]
    fn views_by_kernels_and_by_candle_share_a_gradient() -> Result<()> {
        let x = variable(&rand((3, 4)));
        let part = x.narrow(1, 1, 2);
        let loss = part.exp().sum_all() + Tensor::from(part.raw().sqr()?).sum_all();
        let of_x = loss.backward().of(&x).to_vec2::<f32>();
        for (row, of_x) in x.to_vec2::<f32>().iter().zip(of_x) {
            assert_eq!((of_x[0], of_x[3]), (0.0, 0.0));
            let want = row[1].exp() + 2.0 * row[1];
            assert!((of_x[1] - want).abs() < 1e-5, "{} is not {want}", of_x[1]);
        }
        Ok(())
    }
}
