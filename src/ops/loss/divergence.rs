//! The Kullback–Leibler divergence.

use super::elementwise::{ElementLoss, elementwise_loss, loss};
use super::notes;
use crate::error::OrRaise;
use crate::ops::engine::simd::Element;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;

elementwise_loss!(
    /// The Kullback–Leibler divergence; [`kl_div`] with a choice of the reduction. With
    /// [`Reduction::BatchMean`](crate::nn::Reduction::BatchMean), the loss is the divergence as defined in
    /// mathematics, averaged over the batch.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (q, p) = (tensor(&[[0.5, 0.5]]), tensor(&[[1.0, 0.0]]));
    /// let loss = KLDivLoss::new().reduction(Reduction::BatchMean).forward(&q.log(), &p);
    /// assert!((loss.item() - 2f64.ln()).abs() < 1e-6);
    /// ```
    KLDivLoss {
        /// Sets whether the targets are logarithms of probabilities, too.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let log_p = tensor(&[[0.5, 0.5]]).log(); // (1, 2)
        /// let loss = KLDivLoss::new().log_target(true).forward(&log_p, &log_p);
        /// assert_eq!(loss.item(), 0.0);
        /// ```
        log_target: bool = false
    } => |loss: &KLDivLoss| Ok::<_, candle_core::Error>(Divergence { log_target: loss.log_target })
);

functions! {
    /// Returns the mean over all elements of `p · (ln p - ln q)`, where `log_q` are the logarithms of predicted
    /// probabilities, as from [`log_softmax`](crate::ops::log_softmax), and `p` are target probabilities.
    ///
    /// # Shapes
    /// Any, the same for both; the loss is a scalar `()`.
    ///
    /// # Panics
    /// If the shapes, types or devices differ, the types are integers, or the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (q, p) = (tensor(&[0.5, 0.5]), tensor(&[1.0, 0.0]));
    /// let loss = kl_div(&q.log(), &p);
    /// assert!((loss.item() - 0.5 * 2f64.ln()).abs() < 1e-6);
    /// ```
    pub fn kl_div(log_q: &Tensor, p: &Tensor) = KLDivLoss::new().forward(log_q, p);
}

#[derive(Clone, Copy)]
struct Divergence {
    log_target: bool,
}

impl ElementLoss for Divergence {
    const NAME: &'static str = "kl_div";

    fn check(self, log_q: &Raw) {
        notes::DIVERGENCE.check(log_q, log_q.rank().saturating_sub(1));
    }

    #[inline(always)]
    fn value<T: Element>(self, log_q: T, p: T) -> T {
        let (p, log_p) = match self.log_target {
            true => (p.exp::<false>(), p),
            false => (p, p.ln::<false>()),
        };
        // What has the probability 0 does not count, also if its logarithms are infinite.
        if p == T::ZERO { p } else { p * (log_p - log_q) }
    }

    #[inline(always)]
    fn derivatives<T: Element>(self, log_q: T, p: T) -> [T; 2] {
        if self.log_target {
            let (log_p, p) = (p, p.exp::<false>());
            let of_p = if p == T::ZERO {
                p
            } else {
                p * (log_p - log_q + T::ONE)
            };
            return [-p, of_p];
        }
        let of_p = if p == T::ZERO {
            p
        } else {
            p.ln::<false>() + T::ONE
        };
        [-p, of_p - log_q]
    }

    fn with_candle(self, log_q: &Raw, p: &Raw) -> Result<Raw> {
        let (log_p, p) = match self.log_target {
            true => (p.clone(), p.exp()?),
            false => {
                let positive = p.ne(0.0)?;
                let safe = positive.where_cond(p, &p.ones_like()?)?;
                (safe.log()?, p.clone())
            }
        };
        let positive = p.ne(0.0)?;
        let difference = (log_p - log_q)?;
        let difference = positive.where_cond(&difference, &difference.zeros_like()?)?;
        p * difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::loss::Reduction;
    use crate::ops::testing::compare;
    use crate::tensor::{rand, randn};

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("kl_div", 20, |case| {
            let shape = (case.between(1, 60), case.between(1, 60));
            let log_target = case.one_of(&[true, false]);
            let target = rand(shape);
            let target = if log_target { target.log() } else { target };
            let inputs = vec![case.input(randn(shape)), case.input(target)];
            let rule = Divergence { log_target };
            let kernel = move |x: &[Raw]| loss(rule, &x[0], &x[1], Reduction::None);
            let candle = move |x: &[Raw]| rule.with_candle(&x[0], &x[1]);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
