//! Binary cross-entropy of probabilities.

use super::composed::composed_loss;
use super::elementwise::{ElementLoss, element_loss, loss, weighted};
use super::reduction::Reduction;
use crate::error::refuse;
use crate::ops::quantity::Quantity;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;

composed_loss!(
    /// The binary cross-entropy of probabilities: `-y · log(x) - (1 - y) · log(1 - x)`, where a logarithm is at least
    /// -100.
    ///
    /// `bce_with_logits` of the logits keeps more digits; this loss is for models that
    /// return probabilities, such as decoders of images.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = BCELoss::new().forward(&tensor(&[0.5]), &tensor(&[1.0]));
    /// assert!((loss.item() - 2f64.ln()).abs() < 1e-6);
    /// ```
    BCELoss {
        ; weight: Option<Tensor>
    }
    /// Returns the loss of probabilities. Targets are 1 or 0, or probabilities themselves.
    ///
    /// # Shapes
    /// Any, the same for both.
    ///
    /// # Panics
    /// If the shapes, types or devices differ, or a prediction is not between 0 and 1, which is checked on the CPU; for a
    /// mean, if the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(BCELoss::new().forward(&ones((2, 3)), &ones((2, 3))).item(), 0.0);
    /// assert!(attempt(|| BCELoss::new().forward(&tensor(&[1.5]), &ones(1))).is_err());
    /// ```
    forward(y_hat, y)
);

impl BCELoss {
    /// Sets the factor of each element's loss: any shape that broadcasts to the targets. Where it is 0, predictions and
    /// targets do not count, also if they are NaN.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = BCELoss::new().weight(&tensor(&[1.0, 0.0]));
    /// let loss = loss.forward(&tensor(&[0.5, 0.1]), &ones(2));
    /// assert!((loss.item() - 0.5 * 2f64.ln()).abs() < 1e-6);
    /// ```
    pub fn weight(mut self, weight: &Tensor) -> Self {
        self.weight = Some(weight.detach());
        self
    }

    fn compute(&self, y_hat: &Raw, y: &Raw) -> Result<Raw> {
        let weight = self.weight.as_ref().map(Tensor::raw);
        weighted::<Probability>([y_hat, y], weight, self.reduction, |y_hat, y| {
            check_range(y_hat)?;
            loss(Probability {}, y_hat, y, Reduction::None)
        })
    }
}

/// Refuses what is not a probability. On a GPU, the check would wait for the device.
fn check_range(x: &Raw) -> Result<()> {
    let x = Tensor::from_raw_ref(x).detach();
    if x.elem_count() == 0 || !x.device().is_cpu() {
        return Ok(());
    }
    let (low, high) = (x.min_all().item(), x.max_all().item());
    refuse!(if low < 0.0 || high > 1.0;
        argument(Probability::NAME, format_args!("values from {low} to {high}"));
        "probabilities, from 0 to 1",
        "Pass the logits to bce_with_logits(…), or apply .sigmoid() to them");
    Ok(())
}

element_loss! {
    Probability = "BCELoss";
    g, x, y => {
        let [log, rest] = logarithms(x);
        -(y * log + y.complement() * rest)
    };
    {
        let product = x * x.complement();
        let least = 1e-12; // as in PyTorch
        g * ((x - y) / Q::select(product.lt(least), least, product))
    };
    {
        let [log, rest] = logarithms(x);
        g * (rest - log)
    }
}

/// Returns the logarithms of `x` and of `1 - x`, at least -100, as in PyTorch.
#[inline(always)]
fn logarithms<Q: Quantity>(x: Q) -> [Q; 2] {
    let (log, rest) = (x.ln(), (-x).ln_1p());
    [
        Q::select(log.lt(-100.0), -100.0, log),
        Q::select(rest.lt(-100.0), -100.0, rest),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::loss::elementwise::composed;
    use crate::ops::testing::{compare, variable};
    use crate::tensor::{ones, rand, tensor};

    #[test]
    fn certain_predictions_have_finite_losses() {
        let x = variable(&tensor(&[0.0, 1.0, 1.0]));
        let loss = BCELoss::new().reduction(Reduction::None);
        let losses = loss.forward(&x, &tensor(&[1.0, 0.0, 1.0]));
        assert_eq!(losses.to_vec1::<f32>(), [100.0, 100.0, 0.0]);
        let slopes = losses.sum_all().backward().of(&x).to_vec1::<f32>();
        assert_eq!(slopes, [-1e12, 1e12, 0.0]);
    }

    #[test]
    fn logits_are_refused() {
        let error = attempt(|| BCELoss::new().forward(&tensor(&[-0.5, 2.0]), &ones(2)));
        assert_eq!(
            error.unwrap_err().to_string(),
            "BCELoss: expected probabilities, from 0 to 1, found values from -0.5 to 2\n\
             Pass the logits to bce_with_logits(…), or apply .sigmoid() to them"
        );
        let loss = BCELoss::new().weight(&ones(3));
        let error = attempt(|| loss.forward(&ones(2), &ones(2))).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("BCELoss: a weight of shape [3]")
        );
    }

    #[test]
    fn the_kernel_agrees_with_operations() {
        compare("BCELoss", 20, |case| {
            let shape = (case.between(1, 60), case.between(1, 60));
            let inputs = vec![
                case.input(rand(shape) * 0.98 + 0.01),
                case.input(rand(shape)),
            ];
            let kernel = |x: &[Raw]| loss(Probability {}, &x[0], &x[1], Reduction::None);
            let composed = |x: &[Raw]| composed(Probability {}, x);
            Some((inputs, Box::new(kernel), Box::new(composed)))
        });
    }
}
