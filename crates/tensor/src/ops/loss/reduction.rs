//! The reduction of the losses of the elements to the loss of the batch.

use crate::error::problem;
use crate::ops::arithmetic::{Arithmetic, arithmetic_number};
use crate::ops::check;
use crate::ops::reduce::sum_over;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;

/// How the losses of the elements become the loss of the batch.
///
/// ```
/// use taper::prelude::*;
///
/// let (y_hat, y) = (tensor(&[[1.0, 4.0]]), tensor(&[[0.0, 2.0]])); // (1, 2)
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

/// Returns the reduced loss of inputs that were checked; `losses` computes the losses of the elements. Elements of 16 bits
/// become `f32` before the losses and their sum are computed.
#[doc(hidden)]
pub fn reduced<const N: usize>(
    caller: &str,
    inputs: [&Raw; N],
    reduction: Reduction,
    losses: impl FnOnce([&Tensor; N]) -> Result<Tensor>,
) -> Result<Raw> {
    if check::is_half(inputs[0]) {
        return check::in_single(inputs, |inputs| {
            reduced(caller, inputs.each_ref(), reduction, losses)
        });
    }
    let losses = losses(inputs.map(Tensor::from_raw_ref))?;
    reduce(caller, losses.raw(), reduction)
}

/// Reduces the losses of the elements.
#[doc(hidden)]
pub fn reduce(caller: &str, losses: &Raw, reduction: Reduction) -> Result<Raw> {
    let count = match reduction {
        Reduction::None => return Ok(losses.clone()),
        Reduction::Sum => return sum(losses),
        Reduction::Mean => losses.elem_count(),
        Reduction::BatchMean => losses.dims().first().copied().unwrap_or(1),
    };
    match count {
        0 => Err(empty(caller)),
        _ => divided(&sum(losses)?, count),
    }
}

/// Returns a sum divided by a count.
pub(super) fn divided(sum: &Raw, count: usize) -> Result<Raw> {
    arithmetic_number(Arithmetic::Div, sum, (count as f64).into(), false)
}

/// Returns the error for the mean loss of an empty batch.
pub(super) fn empty(caller: &str) -> candle_core::Error {
    problem!(argument(caller, "an empty batch");
        "at least one example", "Skip empty batches, or use Reduction::Sum")
    .into()
}

/// Returns the sum of all elements, which keeps its digits however many there are.
pub(super) fn sum(x: &Raw) -> Result<Raw> {
    let dims = (0..x.rank()).collect::<Vec<_>>();
    sum_over(x, &dims, false, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{ones, randn};

    #[test]
    fn sums_keep_their_digits() {
        let x = ones(20_000_000);
        assert_eq!(sum(x.raw()).unwrap().to_scalar::<f32>().unwrap(), 2e7);
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("sum", 20, |case| {
            let x = randn((case.between(1, 90), case.between(1, 90)));
            let inputs = vec![case.input(x.abs())];
            let kernel = |x: &[Raw]| sum(&x[0]);
            let candle = |x: &[Raw]| x[0].sum_all();
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
