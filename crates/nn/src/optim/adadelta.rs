//! Adadelta.

use super::optimizer;
use super::rule::{mean, rule};

optimizer!(
    /// Adadelta: the size of a step follows from the sizes of the last steps and gradients, so that the
    /// learning rate is usually 1. From Zeiler, 2012, and d2l's chapter *Adadelta*; the rules are those of
    /// PyTorch's `Adadelta`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let mut optimizer = Adadelta::new(net.parameters(), 1.0);
    /// let loss = || net.forward(&ones((1, 2))).sum_all();
    /// let before = loss();
    /// optimizer.step(&before.backward());
    /// assert!(loss().item() < before.item());
    /// ```
    Adadelta, AdadeltaRule::DEFAULT, AdadeltaRule, 0.0,
    "rho 0.9, eps 1e-6, no weight decay"
);

rule!(
    AdadeltaRule of Adadelta, ["square_avg", "acc_delta"],
    "lr={lr}, rho={rho}, eps={eps}, weight_decay={decay}";

    /// Sets the decay rate of the running means of the squared gradient and of the squared change.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Adadelta::new(vec![], 1.0).rho(0.95);
    /// assert!(optimizer.show_text().contains("rho=0.95"));
    /// ```
    rho: f64 = 0.9, below 1.0;

    /// Sets the value that is added to both means, so that the first step is not 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Adadelta::new(vec![], 1.0).eps(1e-5);
    /// assert!(optimizer.show_text().contains("eps=0.00001"));
    /// ```
    eps: f64 = 1e-6, below f64::INFINITY;

    {}
    |rule, update, value, g, state| {
        state[0] = mean(state[0], g * g, rule.rho);
        let delta = (state[1] + rule.eps).sqrt() / (state[0] + rule.eps).sqrt() * g;
        state[1] = mean(state[1], delta * delta, rule.rho);
        value - delta * update.lr
    }
);
