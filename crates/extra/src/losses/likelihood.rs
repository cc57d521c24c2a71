//! Negative log-likelihoods of distributions whose parameters a model predicts.

use crate::error::{self, refuse};
use crate::ops::{check, reduced, same_shape};
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::f64::consts::TAU;

composed_loss!(
    /// The negative log-likelihood of counts under Poisson distributions, whose rates a model predicts: `exp(x) - y · x`
    /// for the logarithms of the rates, without the term that depends on the targets alone.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = PoissonNLLLoss::new().forward(&tensor(&[0.0]), &tensor(&[3.0]));
    /// assert_eq!(loss.item(), 1.0);
    /// ```
    PoissonNLLLoss {
        /// Sets whether predictions are logarithms of the rates, as by default, or the rates themselves, whose loss is
        /// `x - y · log(x + eps)`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = PoissonNLLLoss::new().log_input(false).forward(&tensor(&[1.0]), &tensor(&[3.0]));
        /// assert!((loss.item() - 1.0).abs() < 1e-6);
        /// ```
        log_input: bool = true,
        /// Sets whether the logarithm of the target's factorial is added, by Stirling's formula, for targets above 1;
        /// `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = PoissonNLLLoss::new().full(true).forward(&tensor(&[0.0]), &tensor(&[3.0]));
        /// assert!((loss.item() - (1.0 + 6f64.ln())).abs() < 0.03);
        /// ```
        full: bool = false,
        /// Sets the value that is added to a rate before its logarithm; 1e-8 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = PoissonNLLLoss::new().log_input(false).eps(1.0);
        /// assert_eq!(loss.forward(&zeros(1), &ones(1)).item(), 0.0);
        /// ```
        eps: f64 = 1e-8,
    }
    /// Returns the loss of predictions and of counts.
    ///
    /// # Shapes
    /// Any, the same for both.
    ///
    /// # Panics
    /// If the shapes, types or devices differ; for a mean, if the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(PoissonNLLLoss::new().forward(&zeros(2), &zeros(2)).item(), 1.0);
    /// ```
    forward(y_hat, y)
);

impl PoissonNLLLoss {
    fn compute(&self, x: &Raw, y: &Raw) -> Result<Raw> {
        let name = "PoissonNLLLoss";
        same_shape(name, x, y)?;
        check::floating(&name, x)?;
        reduced(name, [x, y], self.reduction, |[x, y]| {
            let mut losses = match self.log_input {
                true => x.exp() - y * x,
                false => x - y * (x + self.eps).log(),
            };
            if self.full {
                let count = y.maximum(1.0); // its logarithm is finite
                let stirling = &count * count.log() - &count + (&count * TAU).log() * 0.5;
                losses += y.gt(1.0).where_cond(stirling, 0.0);
            }
            Ok(losses)
        })
    }
}

composed_loss!(
    /// The negative log-likelihood of targets under normal distributions, whose means and variances a model predicts:
    /// `½ (log(var) + (x - y)² / var)`, without the constant. From Nix and Weigend, 1994.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (mean, var) = (tensor(&[[1.0]]), tensor(&[[4.0]])); // (1, 1)
    /// let loss = GaussianNLLLoss::new().forward(&mean, &tensor(&[[3.0]]), &var);
    /// assert!((loss.item() - 0.5 * (4f64.ln() + 1.0)).abs() < 1e-6);
    /// ```
    GaussianNLLLoss {
        /// Sets whether the constant `½ log(2π)` is added; `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = GaussianNLLLoss::new().full(true).forward(&zeros(1), &zeros(1), &ones(1));
        /// assert!((loss.item() - 0.918938).abs() < 1e-6);
        /// ```
        full: bool = false,
        /// Sets the least variance, in place of smaller ones; 1e-6 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = GaussianNLLLoss::new().eps(1.0).forward(&zeros(1), &ones(1), &zeros(1));
        /// assert_eq!(loss.item(), 0.5);
        /// ```
        eps: f64 = 1e-6,
    }
    /// Returns the loss of means, targets and variances.
    ///
    /// # Shapes
    /// Any, the same for means and targets. Variances have the same shape, or broadcast to it, or lack its last dimension:
    /// one variance for each example.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit, or a variance is negative, which is checked on the CPU; for a mean, if
    /// the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = zeros((4, 3));
    /// assert_eq!(GaussianNLLLoss::new().forward(&x, &x, &ones(4)).item(), 0.0);
    /// ```
    forward(y_hat, y, var)
);

impl GaussianNLLLoss {
    fn compute(&self, x: &Raw, y: &Raw, var: &Raw) -> Result<Raw> {
        let name = "GaussianNLLLoss";
        same_shape(name, x, y)?;
        check::same_place(&name, var, x)?;
        let is_by_example = var.rank() + 1 == x.rank() && x.dims().starts_with(var.dims());
        let var = match is_by_example {
            true => var.unsqueeze(var.rank())?,
            false => var.clone(),
        };
        refuse!(if var.broadcast_as(x.shape()).is_err(); shape(name, var.dims());
            ("variances that fit predictions of shape {:?}", x.dims()),
            "Pass a variance for each prediction, or for each example");
        let variances = Tensor::from_raw_ref(&var).detach();
        if var.elem_count() > 0 && var.device().is_cpu() && variances.min_all().item() < 0.0 {
            return Err(error::argument(
                name,
                "variances of at least 0",
                variances.min_all().item(),
                "Let the model predict their logarithms, and pass log_var.exp(), or apply softplus",
            )
            .into());
        }
        reduced(name, [x, y, &var], self.reduction, |[x, y, var]| {
            // As in PyTorch, a variance below the limit has the gradient of the limit.
            let limited = var + (var.maximum(self.eps) - var).detach();
            let mut losses = (limited.log() + (x - y).sqr() / &limited) * 0.5;
            if self.full {
                losses += 0.5 * TAU.ln();
            }
            Ok(losses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{full, ones, zeros};

    #[test]
    fn wrong_variances_are_explained() {
        let (x, loss) = (zeros((4, 3)), GaussianNLLLoss::new());
        let message = |var: Tensor| {
            attempt(|| loss.forward(&x, &x, &var))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            message(full((4, 3), -1.0)),
            "GaussianNLLLoss: expected variances of at least 0, found -1\n\
             Let the model predict their logarithms, and pass log_var.exp(), or apply softplus"
        );
        assert!(message(ones(5)).contains("found shape [5]"));
    }
}
