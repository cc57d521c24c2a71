//! The Kullback–Leibler divergence.

use super::elementwise::{element_loss, elementwise_loss, loss};
use super::notes;
use crate::ops::quantity::Quantity;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;

elementwise_loss!(
    /// The Kullback–Leibler divergence; [`kl_div`] with a choice of the reduction. With
    /// `Reduction::BatchMean`, the loss is the divergence as defined in
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

element_loss! {
    Divergence(log_target: bool) = "kl_div", |log_q: &Raw| {
        notes::DIVERGENCE.check(log_q, log_q.rank().saturating_sub(1));
    };
    g, log_q, p => {
        let [p, log_p] = target(p, log_target);
        // What has the probability 0 does not count, also if its logarithms are infinite.
        Q::select(p.eq(0.0), 0.0, p * (log_p - log_q))
    };
    g * -target(p, log_target)[0];
    {
        let [p, log_p] = target(p, log_target);
        let zero = p.eq(0.0);
        g * match log_target {
            true => Q::select(zero, 0.0, p * (log_p - log_q + 1.0)),
            false => Q::select(zero, 0.0, log_p + 1.0) - log_q,
        }
    }
}

/// Returns the probability and its logarithm; for the probability 0, the logarithm is not used.
#[inline(always)]
fn target<Q: Quantity>(p: Q, log_target: bool) -> [Q; 2] {
    match log_target {
        true => [p.exp(), p],
        false => [p, Q::select(p.eq(0.0), 1.0, p).ln()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::loss::Reduction;
    use crate::ops::loss::elementwise::composed;
    use crate::ops::testing::compare;
    use crate::tensor::{rand, randn};

    #[test]
    fn the_kernel_agrees_with_operations() {
        compare("kl_div", 20, |case| {
            let shape = (case.between(1, 60), case.between(1, 60));
            let log_target = case.one_of(&[true, false]);
            let target = rand(shape);
            let target = if log_target { target.log() } else { target };
            let inputs = vec![case.input(randn(shape)), case.input(target)];
            let rule = Divergence { log_target };
            let kernel = move |x: &[Raw]| loss(rule, &x[0], &x[1], Reduction::None);
            let composed = move |x: &[Raw]| composed(rule, x);
            Some((inputs, Box::new(kernel), Box::new(composed)))
        });
    }
}
