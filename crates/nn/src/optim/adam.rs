//! Adam, and Adam with decoupled weight decay.

use super::optimizer;
use super::rule::{Rule, Step, Update, decayed, mean};
use crate::ops::{Formula, Numeric};

/// The rule of [`Adam`] and [`AdamW`], which differ in what weight decay acts on.
#[derive(Clone, Copy)]
pub(super) struct AdamRule {
    pub(super) betas: (f64, f64),
    pub(super) eps: f64,
    pub(super) decoupled: bool,
    pub(super) amsgrad: bool,
}

impl AdamRule {
    fn new(decoupled: bool) -> Self {
        Self {
            betas: (0.9, 0.999),
            eps: 1e-8,
            decoupled,
            amsgrad: false,
        }
    }
}

impl Rule for AdamRule {
    fn state_names(&self) -> &'static [&'static str] {
        &["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    }

    fn needs(&self, name: &str) -> bool {
        self.amsgrad || name != "max_exp_avg_sq"
    }

    fn limits(&self) -> Vec<(&'static str, f64, f64)> {
        vec![
            ("the first beta", self.betas.0, 1.0),
            ("the second beta", self.betas.1, 1.0),
            ("eps", self.eps, f64::INFINITY),
        ]
    }

    fn print(&self, lr: f64, decay: &str) -> String {
        let Self { betas, eps, .. } = self;
        let amsgrad = if self.amsgrad { ", amsgrad=true" } else { "" };
        format!("lr={lr}, betas={betas:?}, eps={eps}, weight_decay={decay}{amsgrad}")
    }
}

impl Step<AdamRule> {
    /// Returns the factor of the value, for decoupled weight decay, and the other weight decay.
    #[inline(always)]
    fn decay(self) -> (f64, f64) {
        let Update {
            lr, weight_decay, ..
        } = self.update;
        match self.rule.decoupled {
            true => (1.0 - lr * weight_decay, 0.0),
            false => (1.0, weight_decay),
        }
    }

    /// Returns the learning rate and the factor of the root, both corrected for the bias of the means.
    #[inline(always)]
    fn corrections(self) -> (f64, f64) {
        let Step { rule, update } = self;
        let weight = |beta: f64| 1.0 - beta.powf(update.step);
        (
            update.lr / weight(rule.betas.0),
            1.0 / weight(rule.betas.1).sqrt(),
        )
    }
}

impl Formula for Step<AdamRule> {
    #[inline(always)]
    fn apply<Q: Numeric>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q {
        let AdamRule { betas, eps, .. } = self.rule;
        let (shrink, decay) = self.decay();
        let (size, correction) = self.corrections();
        let g = decayed(value, gradient, decay);
        state[0] = mean(state[0], g, betas.0);
        state[1] = mean(state[1], g * g, betas.1);
        let spread = match state.len() {
            2 => state[1],
            _ => {
                state[2] = state[2].larger(state[1]);
                state[2]
            }
        };
        let value = match shrink == 1.0 {
            true => value,
            false => value * shrink,
        };
        value - state[0] * size / (spread.sqrt() * correction + eps)
    }
}

macro_rules! adam {
    ($(#[$doc:meta])* $name:ident, $decay:literal, $decoupled:literal) => {
        optimizer!(
            $(#[$doc])*
            $name, AdamRule::new($decoupled), AdamRule, $decay,
            concat!("betas 0.9 and 0.999, eps 1e-8, weight decay ", stringify!($decay))
        );

        impl $name {
            setters! {
                /// Sets the decay rates of the running means of the gradient and of its square.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let optimizer = ", stringify!($name), "::new(vec![], 0.001).betas(0.9, 0.99);")]
                /// assert!(optimizer.show_text().contains("betas=(0.9, 0.99)"));
                /// ```
                pub fn betas(self, first: f64, second: f64): self.groups.first().rule.betas = (first, second);

                /// Sets the value that is added to the denominator, so that it is never 0.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let optimizer = ", stringify!($name), "::new(vec![], 0.001).eps(1e-6);")]
                /// assert!(optimizer.show_text().contains("eps=0.000001"));
                /// ```
                pub fn eps(self, eps: f64): self.groups.first().rule.eps = eps;

                /// Sets whether to use AMSGrad: it divides by the root of the largest running mean of the squared
                /// gradient so far, instead of the current one; `false` by default. From Reddi, Kale and Kumar, 2018.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let optimizer = ", stringify!($name), "::new(vec![], 0.001).amsgrad(true);")]
                /// assert!(optimizer.show_text().contains("amsgrad=true"));
                /// ```
                pub fn amsgrad(self, amsgrad: bool): self.groups.first().rule.amsgrad = amsgrad;
            }
        }
    };
}

adam!(
    /// Adam: each element moves by about the learning rate, against the mean of its last gradients. From
    /// Kingma and Ba, 2015, and d2l's chapter *Adam*.
    ///
    /// Weight decay is added to the gradient, as in PyTorch's `Adam`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let mut optimizer = Adam::new(net.parameters(), 0.001);
    /// let loss = || net.forward(&ones((1, 2))).sum_all();
    /// let before = loss();
    /// optimizer.step(&before.backward());
    /// assert!(loss().item() < before.item());
    /// ```
    Adam, 0.0, false
);

adam!(
    /// [`Adam`] with decoupled weight decay, which acts on the parameters themselves, not on the
    /// gradient. From Loshchilov and Hutter, 2019.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let mut optimizer = AdamW::new(net.parameters(), 0.001).weight_decay(0.05);
    /// let loss = || net.forward(&ones((1, 2))).sum_all();
    /// let before = loss();
    /// optimizer.step(&before.backward());
    /// assert!(loss().item() < before.item());
    /// ```
    AdamW, 0.01, true
);
