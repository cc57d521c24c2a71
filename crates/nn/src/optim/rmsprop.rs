//! RMSprop.

use super::optimizer;
use super::rule::{mean, rule};

optimizer!(
    /// RMSprop: divides each gradient by the root of the running mean of its square. From Hinton, 2012,
    /// and d2l's chapter *RMSProp*; the rules are those of PyTorch's `RMSprop`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let mut optimizer = RMSprop::new(net.parameters(), 0.01);
    /// let loss = || net.forward(&ones((1, 2))).sum_all();
    /// let before = loss();
    /// optimizer.step(&before.backward());
    /// assert!(loss().item() < before.item());
    /// ```
    RMSprop, RMSpropRule::DEFAULT, RMSpropRule, 0.0,
    "alpha 0.99, eps 1e-8, no momentum, no weight decay"
);

rule!(
    RMSpropRule of RMSprop, ["square_avg", "momentum_buffer", "grad_avg"],
    "lr={lr}, alpha={alpha}, eps={eps}, weight_decay={decay}, momentum={momentum}, centered={centered}";

    /// Sets the decay rate of the running mean of the squared gradient.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = RMSprop::new(vec![], 0.01).alpha(0.9);
    /// assert!(optimizer.show_text().contains("alpha=0.9"));
    /// ```
    alpha: f64 = 0.99, below f64::INFINITY;

    /// Sets the value that is added to the denominator, so that it is never 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = RMSprop::new(vec![], 0.01).eps(1e-6);
    /// assert!(optimizer.show_text().contains("eps=0.000001"));
    /// ```
    eps: f64 = 1e-8, below f64::INFINITY;

    /// Sets the momentum, which works as in [`SGD`](super::SGD), but on the divided gradients.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = RMSprop::new(vec![], 0.01).momentum(0.9);
    /// assert!(optimizer.show_text().contains("momentum=0.9"));
    /// ```
    momentum: f64 = 0.0, below f64::INFINITY;

    /// Sets whether to divide by the root of the gradient's variance: the square of its running mean is
    /// subtracted from the running mean of its square. From Graves, 2013.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = RMSprop::new(vec![], 0.01).centered(true);
    /// assert!(optimizer.show_text().contains("centered=true"));
    /// ```
    centered: bool = false;

    {
        fn needs(&self, name: &str) -> bool {
            match name {
                "momentum_buffer" => self.momentum != 0.0,
                "grad_avg" => self.centered,
                _ => true,
            }
        }
    }
    |rule, update, value, g, state| {
        state[0] = mean(state[0], g * g, rule.alpha);
        let mut spread = state[0];
        if rule.centered {
            let last = state.len() - 1;
            state[last] = mean(state[last], g, rule.alpha);
            spread = spread - state[last] * state[last];
        }
        let mut direction = g / (spread.sqrt() + rule.eps);
        if rule.momentum != 0.0 {
            direction = state[1] * rule.momentum + direction;
            state[1] = direction;
        }
        value - direction * update.lr
    }
);
