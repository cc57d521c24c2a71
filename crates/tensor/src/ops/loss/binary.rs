//! Binary cross-entropy.

use super::composed::composed_loss;
use super::elementwise::{ElementLoss, element_loss, loss, weighted};
use super::notes;
use super::reduction::Reduction;
use super::targets::fitting;
use crate::ops::arithmetic::{Arithmetic, arithmetic, arithmetic_number};
use crate::ops::quantity::Quantity;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;

composed_loss!(
    /// The binary cross-entropy of logits, [`bce_with_logits`], with settings. Leave `Sigmoid` out of the
    /// model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (y_hat, y) = (zeros(2), ones(2));
    /// let loss = BCEWithLogitsLoss::new().reduction(Reduction::Sum).forward(&y_hat, &y);
    /// assert!((loss.item() - 2.0 * 2f64.ln()).abs() < 1e-6);
    /// ```
    BCEWithLogitsLoss { ; weight: Option<Raw>, pos_weight: Option<Raw> }
    /// Returns the loss of predictions.
    ///
    /// # Panics
    /// As for [`bce_with_logits`], and if `weight` or `pos_weight` cannot be broadcast to the targets.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (y_hat, y) = (zeros(2), ones(2));
    /// assert_eq!(BCEWithLogitsLoss::new().forward(&y_hat, &y).rank(), 0);
    /// ```
    forward(y_hat, y)
);

impl BCEWithLogitsLoss {
    setters! {
        /// Sets the factor of each element's loss: any shape that broadcasts to the targets. A mean is divided by the number
        /// of elements, not by the sum of the weights. Where it is 0, predictions and targets do not count, also if they
        /// are NaN.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = BCEWithLogitsLoss::new().weight(&tensor(&[1.0, 0.0]));
        /// let loss = loss.forward(&zeros(2), &ones(2));
        /// assert!((loss.item() - 0.5 * 2f64.ln()).abs() < 1e-6);
        /// ```
        pub fn weight(self, weight: &Tensor): self.weight = Some(weight.raw().detach());

        /// Sets the weight of the targets that are 1, for classes of unequal frequency: a value for each class,
        /// `(classes,)`, or any shape that broadcasts to the targets.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = BCEWithLogitsLoss::new().pos_weight(&tensor(&[3.0]));
        /// let loss = loss.reduction(Reduction::Sum).forward(&zeros(2), &tensor(&[1.0, 0.0]));
        /// assert!((loss.item() - 4.0 * 2f64.ln()).abs() < 1e-6);
        /// ```
        pub fn pos_weight(self, pos_weight: &Tensor): self.pos_weight = Some(pos_weight.raw().detach());
    }

    fn compute(&self, y_hat: &Raw, y: &Raw) -> Result<Raw> {
        if self.weight.is_none() && self.pos_weight.is_none() {
            return loss(Binary {}, y_hat, y, self.reduction);
        }
        let weight = self.weight.as_ref();
        weighted::<Binary>([y_hat, y], weight, self.reduction, |y_hat, y| {
            let of = |y: &Raw| loss(Binary {}, y_hat, y, Reduction::None);
            let Some(weight) = &self.pos_weight else {
                return of(y);
            };
            let product = |a: &Raw, b: &Raw| arithmetic(Arithmetic::Mul, a, b);
            let weight = fitting(Binary::NAME, "pos_weight", weight, y)?;
            let positive = product(&product(&of(&y.ones_like()?)?, y)?, &weight)?;
            let rest = arithmetic_number(Arithmetic::Sub, y, 1.into(), true)?;
            let negative = product(&of(&y.zeros_like()?)?, &rest)?;
            arithmetic(Arithmetic::Add, &positive, &negative)
        })
    }
}

functions! {
    /// Returns the mean binary cross-entropy of logits: `cross_entropy` for two
    /// classes, with one logit for each example. Targets are 1 or 0, or a probability.
    ///
    /// It applies the sigmoid function itself: leave `Sigmoid` out of the model. For models that
    /// return probabilities, there is `BCELoss`.
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
    /// let loss = bce_with_logits(&tensor(&[0.0]), &tensor(&[1.0]));
    /// assert!((loss.item() - 2f64.ln()).abs() < 1e-6);
    /// ```
    pub fn bce_with_logits(y_hat: &Tensor, y: &Tensor) = BCEWithLogitsLoss::new().forward(y_hat, y);
}

// `max(x, 0) - x·y + log(1 + exp(-|x|))`, with the first two terms as one product: their difference loses
// digits for large logits, and is NaN for infinite ones.
element_loss! {
    Binary = "bce_with_logits", notes::check_sigmoid;
    g, x, y => {
        let off = Q::select(x.lt(0.0), -y, y.complement());
        let tail = (-x.abs()).exp().ln_1p();
        // Infinite logits of the right class have the loss 0.
        Q::select(off.eq(0.0), tail, x * off + tail)
    };
    {
        let tail = Q::select(x.ge(0.0), -x, x).exp(); // does not overflow for large logits
        let small = tail / (tail + 1.0);
        g * Q::select(x.lt(0.0), small - y, y.complement() - small)
    };
    g * -x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::arithmetic::pairs_by_operations;
    use crate::ops::loss::elementwise::composed;
    use crate::ops::testing::{compare, variable};
    use crate::tensor::{rand, randn, tensor};

    /// Against the formulas in double precision, one logit at a time.
    #[test]
    fn bce_with_logits_is_exact_for_all_logits() {
        for x in [
            0.0, 0.5, 10.0, -10.0, 20.0, -20.0, 80.0, -80.0, 1e30, -1e30f64,
        ] {
            for y in [0.0, 0.25, 1.0f64] {
                let logit = variable(&tensor(&[x]));
                let loss = bce_with_logits(&logit, &tensor(&[y]));
                let got = [loss.item(), loss.backward().of(&logit).item()];
                // sigmoid(x) - y, by the smaller of sigmoid(x) and 1 - sigmoid(x).
                let tail = (-x.abs()).exp();
                let rest = tail / (1.0 + tail);
                let want = match x < 0.0 {
                    true => [-x * y + tail.ln_1p(), rest - y],
                    false => [x * (1.0 - y) + tail.ln_1p(), 1.0 - y - rest],
                };
                for (got, want) in got.into_iter().zip(want) {
                    let off = (got - want).abs();
                    assert!(off <= 1e-5 * want.abs(), "{got} is not {want} at {x}, {y}");
                }
            }
        }
    }

    #[test]
    fn infinite_logits_have_infinite_losses() {
        let x = variable(&tensor(&[f32::INFINITY, f32::NEG_INFINITY]));
        let (none, right) = (tensor(&[0.0, 1.0]), tensor(&[1.0, 0.0]));
        for (y, want) in [(none, f32::INFINITY), (right, 0.0)] {
            for losses in [
                loss(Binary {}, x.raw(), y.raw(), Reduction::None).unwrap(),
                pairs_by_operations(x.raw(), y.raw(), Binary {}).unwrap(),
            ] {
                assert_eq!(losses.to_vec1::<f32>().unwrap(), [want, want]);
            }
        }
    }

    #[test]
    fn a_weight_that_does_not_fit_is_refused() {
        let (x, weight) = (randn((2, 3)), randn(2));
        let loss = BCEWithLogitsLoss::new().pos_weight(&weight);
        let error = attempt(|| loss.forward(&x, &x));
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("a pos_weight of shape [2] does not fit"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 2);
    }

    #[test]
    fn the_kernel_agrees_with_operations() {
        compare("bce_with_logits", 20, |case| {
            let shape = (case.between(1, 60), case.between(1, 60));
            let inputs = vec![case.input(randn(shape) * 4.0), case.input(rand(shape))];
            let kernel = |x: &[Raw]| loss(Binary {}, &x[0], &x[1], Reduction::None);
            let composed = |x: &[Raw]| composed(Binary {}, x);
            Some((inputs, Box::new(kernel), Box::new(composed)))
        });
    }
}
