//! The reduction of the losses of the elements to the loss of the batch.

use crate::error;
use crate::ops::engine::autograd::{Backward, Downstream, Upstream, has_kernel, record};
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, dispatch_dtype, sums};
use crate::tensor::Raw;
use candle_core::Result;
use std::marker::PhantomData;

/// How the losses of the elements become the loss of the batch.
///
/// ```
/// use taper::prelude::*;
///
/// let (y_hat, y) = (tensor(&[[1.0, 4.0]], &cpu()), tensor(&[[0.0, 2.0]], &cpu())); // (1, 2)
/// let loss = |reduction| MSELoss::new().reduction(reduction).forward(&y_hat, &y);
/// assert_eq!(loss(Reduction::Mean).item(), 2.5);
/// assert_eq!(loss(Reduction::Sum).item(), 5.0);
/// assert_eq!(loss(Reduction::BatchMean).item(), 5.0);
/// assert_eq!(loss(Reduction::None).to_vec2::<f32>(), [[1.0, 4.0]]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// The mean over all elements.
    #[default]
    Mean,
    /// The sum of all elements.
    Sum,
    /// The sum of all elements, divided by the size of the first dimension, the batch.
    BatchMean,
    /// No reduction: a loss for each element.
    None,
}

/// Reduces the losses of the elements.
pub(super) fn reduce(caller: &str, losses: &Raw, reduction: Reduction) -> Result<Raw> {
    let count = match reduction {
        Reduction::None => return Ok(losses.clone()),
        Reduction::Sum => return sum(losses),
        Reduction::Mean => losses.elem_count(),
        Reduction::BatchMean => losses.dims().first().copied().unwrap_or(1),
    };
    match count {
        0 => Err(empty(caller)),
        _ => sum(losses)? / count as f64,
    }
}

/// Returns the error for the mean loss of an empty batch.
pub(super) fn empty(caller: &str) -> candle_core::Error {
    error::argument(
        caller,
        "at least one example",
        "an empty batch",
        "Skip empty batches, or use Reduction::Sum",
    )
}

/// Returns the sum of all elements, which keeps its digits however many there are.
pub(super) fn sum(x: &Raw) -> Result<Raw> {
    match has_kernel(&[x]) {
        true => dispatch_dtype!(x, sum_on_cpu(x)),
        false if x.elem_count() == 0 => Raw::zeros((), x.dtype(), x.device()),
        false => x.sum_all(),
    }
}

fn sum_on_cpu<T: Element>(x: &Raw) -> Result<Raw> {
    let input = in_order(x)?;
    let total = sums::total(CpuView::of(&input)?.as_slice::<T>()?);
    record(&[x], vec![total], (), || Back::<T> {
        shape: x.dims().to_vec(),
        element: PhantomData,
    })
}

struct Back<T> {
    shape: Vec<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, Upstream { gradient, .. }: Upstream<'_>) -> Result<Downstream> {
        let of_x = Raw::full(
            gradient.to_scalar::<T>()?,
            self.shape.as_slice(),
            gradient.device(),
        )?;
        Ok([Some(of_x), None, None])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{ones, randn};
    use candle_core::Device;

    #[test]
    fn sums_keep_their_digits() {
        let x = ones(20_000_000, &Device::Cpu);
        assert_eq!(sum(x.raw()).unwrap().to_scalar::<f32>().unwrap(), 2e7);
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("sum", 20, |case| {
            let x = randn((case.between(1, 90), case.between(1, 90)), &Device::Cpu);
            let inputs = vec![case.input(x.abs())];
            let kernel = |x: &[Raw]| sum(&x[0]);
            let candle = |x: &[Raw]| x[0].sum_all();
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
