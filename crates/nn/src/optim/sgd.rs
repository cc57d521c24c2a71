//! Stochastic gradient descent.

use super::rule::rule;
use super::{Optimizer, optimizer};
use crate::nn::Parameter;

optimizer!(
    /// Minibatch stochastic gradient descent: each parameter moves against its gradient, by the learning
    /// rate times the gradient.
    ///
    /// From d2l's chapters *Linear Regression* and *Momentum*; the rules are those of PyTorch's `SGD`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let optimizer = SGD::new(net.parameters(), 0.1).momentum(0.9).weight_decay(1e-4);
    /// assert_eq!(optimizer.lr(), 0.1);
    /// ```
    SGD, SgdRule::DEFAULT, SgdRule, 0.0,
    "no momentum, no weight decay"
);

impl SgdRule {
    /// Returns the share of this step's gradient in the momentum.
    fn share(&self, step: f64) -> f64 {
        match step {
            1.0 => 1.0,
            _ => 1.0 - self.dampening,
        }
    }
}

rule!(
    SgdRule of SGD, ["momentum_buffer"],
    "lr={lr}, momentum={momentum}, {dampened}weight_decay={decay}, nesterov={nesterov}",
    dampened = match *dampening {
        0.0 => String::new(),
        dampening => format!("dampening={dampening}, "),
    };

    /// Sets the momentum: the share of the last update that is added to the next one, often 0.9. From
    /// Polyak, 1964.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = SGD::new(vec![], 0.1).momentum(0.9);
    /// assert!(optimizer.show_text().contains("momentum=0.9"));
    /// ```
    momentum: f64 = 0.0, below f64::INFINITY;

    /// Sets the dampening: the share of each gradient, after the first, that does not enter the
    /// momentum.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = SGD::new(vec![], 0.1).momentum(0.9).dampening(0.1);
    /// assert!(optimizer.show_text().contains("dampening=0.1"));
    /// ```
    dampening: f64 = 0.0;

    /// Uses Nesterov momentum, which needs a [`momentum`](Self::momentum) and no dampening. From Nesterov, 1983.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = SGD::new(vec![], 0.1).momentum(0.9).nesterov(true);
    /// assert!(optimizer.show_text().contains("nesterov=true"));
    /// ```
    nesterov: bool = false;

    {
        fn needs(&self, _: &str) -> bool {
            self.momentum != 0.0
        }

        fn conflict(&self) -> Option<(&'static str, String, &'static str)> {
            let (momentum, dampening) = (self.momentum, self.dampening);
            let fits = !self.nesterov || momentum > 0.0 && dampening == 0.0;
            (!fits).then(|| {
                (
                    "momentum above 0 and no dampening for nesterov(true)",
                    format!("momentum {momentum} and dampening {dampening}"),
                    "Set .momentum(0.9), and leave out .dampening(…)",
                )
            })
        }
    }
    |rule, update, value, g, state| {
        let Some(buffer) = state.first_mut() else {
            return value - g * update.lr;
        };
        *buffer = *buffer * rule.momentum + g * rule.share(update.step);
        let direction = match rule.nesterov {
            true => g + *buffer * rule.momentum,
            false => *buffer,
        };
        value - direction * update.lr
    }
);

/// Returns [`SGD`] without momentum as a trait object, the default of a model.
#[doc(hidden)]
pub fn plain_sgd(parameters: Vec<Parameter>, lr: f64) -> Box<dyn Optimizer> {
    Box::new(SGD::new(parameters, lr))
}
