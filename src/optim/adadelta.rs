//! Adadelta.

use super::optimizer;
use super::rule::{Rule, Step, Update, decayed, mean};
use crate::ops::{Formula, Quantity, StepRule};

#[derive(Clone, Copy)]
pub(super) struct AdadeltaRule {
    pub(super) rho: f64,
    pub(super) eps: f64,
}

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
    Adadelta, AdadeltaRule { rho: 0.9, eps: 1e-6 }, AdadeltaRule, 0.0,
    "rho 0.9, eps 1e-6, no weight decay"
);

impl Adadelta {
    setters! {
        /// Sets the decay rate of the running means of the squared gradient and of the squared change.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let optimizer = Adadelta::new(vec![], 1.0).rho(0.95);
        /// assert!(optimizer.show_text().contains("rho=0.95"));
        /// ```
        pub fn rho(self, rho: f64): self.groups.first().rule.rho = rho;

        /// Sets the value that is added to both means, so that the first step is not 0.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let optimizer = Adadelta::new(vec![], 1.0).eps(1e-5);
        /// assert!(optimizer.show_text().contains("eps=0.00001"));
        /// ```
        pub fn eps(self, eps: f64): self.groups.first().rule.eps = eps;
    }
}

impl Rule for AdadeltaRule {
    fn state_names(&self) -> &'static [&'static str] {
        &["square_avg", "acc_delta"]
    }

    fn limits(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("rho", self.rho, 1.0), ("eps", self.eps, f64::INFINITY)]
    }

    fn print(&self, lr: f64, decay: &str) -> String {
        let Self { rho, eps } = self;
        format!("lr={lr}, rho={rho}, eps={eps}, weight_decay={decay}")
    }

    fn step(&self, update: Update) -> Box<dyn StepRule> {
        Box::new(Step {
            rule: *self,
            update,
        })
    }
}

impl Formula for Step<AdadeltaRule> {
    #[inline(always)]
    fn apply<Q: Quantity>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q {
        let Step { rule, update } = self;
        let g = decayed(value, gradient, update.weight_decay);
        state[0] = mean(state[0], g * g, rule.rho);
        let delta = (state[1] + rule.eps).sqrt() / (state[0] + rule.eps).sqrt() * g;
        state[1] = mean(state[1], delta * delta, rule.rho);
        value - delta * update.lr
    }
}
