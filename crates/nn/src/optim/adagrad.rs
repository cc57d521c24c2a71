//! Adagrad.

use super::optimizer;
use super::rule::{Update, rule};

optimizer!(
    /// Adagrad: divides each gradient by the root of the sum of its squares so far, so that rare
    /// features keep a large learning rate. From Duchi, Hazan and Singer, 2011, and d2l's chapter
    /// *Adagrad*; the rules are those of PyTorch's `Adagrad`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let mut optimizer = Adagrad::new(net.parameters(), 0.01);
    /// let loss = || net.forward(&ones((1, 2))).sum_all();
    /// let before = loss();
    /// optimizer.step(&before.backward());
    /// assert!(loss().item() < before.item());
    /// ```
    Adagrad, AdagradRule::DEFAULT, AdagradRule, 0.0,
    "no decay of the learning rate, no weight decay, eps 1e-10"
);

impl AdagradRule {
    /// Returns the learning rate of this step.
    fn lr(&self, update: Update) -> f64 {
        update.lr / (1.0 + (update.step - 1.0) * self.lr_decay)
    }
}

rule!(
    AdagradRule of Adagrad, ["sum"],
    "lr={lr}, lr_decay={lr_decay}, weight_decay={decay}, initial_accumulator_value={initial_accumulator_value}, eps={eps}";

    /// Sets the decay of the learning rate, which is divided by `1 + (t - 1) * lr_decay` in step `t`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Adagrad::new(vec![], 0.01).lr_decay(0.1);
    /// assert!(optimizer.show_text().contains("lr_decay=0.1"));
    /// ```
    lr_decay: f64 = 0.0, below f64::INFINITY;

    /// Sets the initial value of the sums of the squared gradients.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Adagrad::new(vec![], 0.01).initial_accumulator_value(0.1);
    /// assert!(optimizer.show_text().contains("initial_accumulator_value=0.1"));
    /// ```
    initial_accumulator_value: f64 = 0.0, below f64::INFINITY;

    /// Sets the value that is added to the denominator, so that it is never 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Adagrad::new(vec![], 0.01).eps(1e-6);
    /// assert!(optimizer.show_text().contains("eps=0.000001"));
    /// ```
    eps: f64 = 1e-10, below f64::INFINITY;

    {
        fn initial(&self) -> f64 {
            self.initial_accumulator_value
        }
    }
    |rule, update, value, g, state| {
        state[0] = state[0] + g * g;
        value - g / (state[0].sqrt() + rule.eps) * rule.lr(update)
    }
);
