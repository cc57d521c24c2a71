//! The update rules of the optimisers: each formula once, for the elements of a chunk and for whole tensors.

use crate::ops::engine::simd::{Element, multiversion};
use crate::tensor::Tensor;
use std::ops::{Add, Div, Mul, Sub};

/// A step of gradient descent, as in PyTorch's `SGD`.
#[derive(Clone, Copy)]
pub(crate) struct SgdStep {
    pub(crate) lr: f64,
    pub(crate) momentum: f64,
    /// The share of the gradient that is added to the momentum buffer.
    pub(crate) share: f64,
    pub(crate) nesterov: bool,
    pub(crate) weight_decay: f64,
}

/// A step of Adam, as in PyTorch's `Adam` and `AdamW`.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    /// The number of this step, from 1.
    pub(crate) step: f64,
    pub(crate) lr: f64,
    pub(crate) betas: (f64, f64),
    pub(crate) eps: f64,
    pub(crate) weight_decay: f64,
    /// Whether weight decay acts on the parameter itself, as in `AdamW`.
    pub(crate) decoupled: bool,
}

/// A step of RMSprop, as in PyTorch's `RMSprop`.
#[derive(Clone, Copy)]
pub(crate) struct RMSpropStep {
    pub(crate) lr: f64,
    pub(crate) alpha: f64,
    pub(crate) eps: f64,
    pub(crate) momentum: f64,
    pub(crate) centered: bool,
    pub(crate) weight_decay: f64,
}

/// A step of Adagrad, as in PyTorch's `Adagrad`.
#[derive(Clone, Copy)]
pub(crate) struct AdagradStep {
    /// The learning rate of this step.
    pub(crate) lr: f64,
    pub(crate) eps: f64,
    pub(crate) weight_decay: f64,
}

/// A step of Adadelta, as in PyTorch's `Adadelta`.
#[derive(Clone, Copy)]
pub(crate) struct AdadeltaStep {
    pub(crate) lr: f64,
    pub(crate) rho: f64,
    pub(crate) eps: f64,
    pub(crate) weight_decay: f64,
}

/// A step of an optimiser.
#[derive(Clone, Copy)]
pub(crate) enum StepRule {
    Sgd(SgdStep),
    Adam(AdamStep),
    RMSprop(RMSpropStep),
    Adagrad(AdagradStep),
    Adadelta(AdadeltaStep),
}

/// Calls a function with the rule's formula, outside of the loops.
macro_rules! with_formula {
    ($rule:expr, $function:ident($($argument:expr),*)) => {
        match $rule {
            StepRule::Sgd(rule) => $function($($argument,)* rule),
            StepRule::Adam(rule) => $function($($argument,)* AdamFactors::of(rule)),
            StepRule::RMSprop(rule) => $function($($argument,)* rule),
            StepRule::Adagrad(rule) => $function($($argument,)* rule),
            StepRule::Adadelta(rule) => $function($($argument,)* rule),
        }
    };
}

impl StepRule {
    /// Returns the kernel for a GPU, if there is one for this rule with this number of states.
    #[cfg(any(feature = "cuda", test))]
    pub(super) fn on_gpu(self, states: usize) -> Option<crate::device::optimizer_step::Step> {
        use crate::device::optimizer_step::Step;

        match self {
            Self::Sgd(rule) if states <= 1 => Some(Step {
                kernel: "sgd_f32",
                addresses: 2,
                values: vec![
                    rule.lr,
                    rule.momentum,
                    rule.share,
                    f64::from(u8::from(rule.nesterov)),
                    rule.weight_decay,
                ],
                integer: Some(3),
            }),
            Self::Adam(rule) if states == 2 => {
                let factors = AdamFactors::of(rule);
                let (beta1, beta2) = factors.betas;
                Some(Step {
                    kernel: "adam_f32",
                    addresses: 3,
                    values: vec![
                        factors.shrink,
                        factors.decay,
                        factors.size,
                        factors.correction,
                        factors.eps,
                        beta1,
                        1.0 - beta1,
                        beta2,
                        1.0 - beta2,
                    ],
                    integer: None,
                })
            }
            _ => None,
        }
    }

    /// Updates chunks of the value and of its state, in the order of the optimiser's names.
    pub(super) fn update<T: Element>(self, changed: &mut [&mut [T]], gradient: &[T]) {
        with_formula!(self, update_chunk(changed, gradient))
    }

    /// Returns the new value and state.
    pub(crate) fn of_tensors(
        self,
        value: &Tensor,
        gradient: &Tensor,
        state: &[Tensor],
    ) -> (Tensor, Vec<Tensor>) {
        let mut state = state.to_vec();
        let value = with_formula!(self, new_value(value, gradient, &mut state));
        (value, state)
    }
}

fn new_value(
    value: &Tensor,
    gradient: &Tensor,
    state: &mut [Tensor],
    formula: impl Formula,
) -> Tensor {
    formula.apply(value.clone(), gradient.clone(), state)
}

multiversion! {
    fn update_chunk<T: Element, F: Formula>(changed: &mut [&mut [T]], gradient: &[T], formula: F) {
        match changed {
            [value] => {
                for (value, g) in value.iter_mut().zip(gradient) {
                    *value = formula.apply(*value, *g, &mut []);
                }
            }
            [value, a] => {
                for ((value, a), g) in value.iter_mut().zip(a.iter_mut()).zip(gradient) {
                    let mut state = [*a];
                    *value = formula.apply(*value, *g, &mut state);
                    [*a] = state;
                }
            }
            [value, a, b] => {
                let state = a.iter_mut().zip(b.iter_mut());
                for ((value, (a, b)), g) in value.iter_mut().zip(state).zip(gradient) {
                    let mut state = [*a, *b];
                    *value = formula.apply(*value, *g, &mut state);
                    [*a, *b] = state;
                }
            }
            [value, a, b, c] => {
                let state = a.iter_mut().zip(b.iter_mut()).zip(c.iter_mut());
                for ((value, ((a, b), c)), g) in value.iter_mut().zip(state).zip(gradient) {
                    let mut state = [*a, *b, *c];
                    *value = formula.apply(*value, *g, &mut state);
                    [*a, *b, *c] = state;
                }
            }
            _ => unreachable!("the optimiser passes the state that the rule needs"),
        }
    }
}

/// What a rule computes with: an element, or all elements of a tensor.
pub(crate) trait Quantity:
    Clone + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    fn times(&self, factor: f64) -> Self;
    fn plus(&self, number: f64) -> Self;
    fn root(&self) -> Self;
    fn larger(&self, other: &Self) -> Self;
}

impl<T: Element> Quantity for T {
    #[inline(always)]
    fn times(&self, factor: f64) -> Self {
        *self * T::of(factor)
    }

    #[inline(always)]
    fn plus(&self, number: f64) -> Self {
        *self + T::of(number)
    }

    #[inline(always)]
    fn root(&self) -> Self {
        self.sqrt()
    }

    #[inline(always)]
    fn larger(&self, other: &Self) -> Self {
        if *other > *self { *other } else { *self }
    }
}

impl Quantity for Tensor {
    fn times(&self, factor: f64) -> Self {
        self * factor
    }

    fn plus(&self, number: f64) -> Self {
        self + number
    }

    fn root(&self) -> Self {
        self.sqrt()
    }

    fn larger(&self, other: &Self) -> Self {
        self.maximum(other)
    }
}

trait Formula: Copy + Send + Sync {
    /// Returns the new value, and changes the state.
    fn apply<Q: Quantity>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q;
}

#[inline(always)]
fn decayed<Q: Quantity>(value: &Q, gradient: Q, decay: f64) -> Q {
    match decay == 0.0 {
        true => gradient,
        false => gradient + value.times(decay),
    }
}

/// Returns the moving mean after a new term.
#[inline(always)]
fn mean<Q: Quantity>(old: &Q, new: &Q, share: f64) -> Q {
    old.times(share) + new.times(1.0 - share)
}

#[inline(always)]
fn square<Q: Quantity>(x: &Q) -> Q {
    x.clone() * x.clone()
}

impl Formula for SgdStep {
    #[inline(always)]
    fn apply<Q: Quantity>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q {
        let g = decayed(&value, gradient, self.weight_decay);
        let Some(buffer) = state.first_mut() else {
            return value - g.times(self.lr);
        };
        *buffer = buffer.times(self.momentum) + g.times(self.share);
        let direction = match self.nesterov {
            true => g + buffer.times(self.momentum),
            false => buffer.clone(),
        };
        value - direction.times(self.lr)
    }
}

/// What Adam's formula needs of its settings, computed once per step.
#[derive(Clone, Copy)]
struct AdamFactors {
    /// The factor of the value, for decoupled weight decay.
    shrink: f64,
    decay: f64,
    /// The learning rate, corrected for the bias of the mean.
    size: f64,
    correction: f64,
    eps: f64,
    betas: (f64, f64),
}

impl AdamFactors {
    fn of(rule: AdamStep) -> Self {
        let (shrink, decay) = match rule.decoupled {
            true => (1.0 - rule.lr * rule.weight_decay, 0.0),
            false => (1.0, rule.weight_decay),
        };
        Self {
            shrink,
            decay,
            size: rule.lr / (1.0 - rule.betas.0.powf(rule.step)),
            correction: 1.0 / (1.0 - rule.betas.1.powf(rule.step)).sqrt(),
            eps: rule.eps,
            betas: rule.betas,
        }
    }
}

impl Formula for AdamFactors {
    #[inline(always)]
    fn apply<Q: Quantity>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q {
        let g = decayed(&value, gradient, self.decay);
        state[0] = mean(&state[0], &g, self.betas.0);
        state[1] = mean(&state[1], &square(&g), self.betas.1);
        let spread = match state.len() {
            2 => state[1].clone(),
            _ => {
                state[2] = state[2].larger(&state[1]);
                state[2].clone()
            }
        };
        let scale = spread.root().times(self.correction).plus(self.eps);
        let value = match self.shrink == 1.0 {
            true => value,
            false => value.times(self.shrink),
        };
        value - state[0].times(self.size) / scale
    }
}

impl Formula for RMSpropStep {
    #[inline(always)]
    fn apply<Q: Quantity>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q {
        let g = decayed(&value, gradient, self.weight_decay);
        state[0] = mean(&state[0], &square(&g), self.alpha);
        let mut spread = state[0].clone();
        if self.centered {
            let last = state.len() - 1;
            state[last] = mean(&state[last], &g, self.alpha);
            spread = spread - square(&state[last]);
        }
        let mut direction = g / spread.root().plus(self.eps);
        if self.momentum != 0.0 {
            direction = state[1].times(self.momentum) + direction;
            state[1] = direction.clone();
        }
        value - direction.times(self.lr)
    }
}

impl Formula for AdagradStep {
    #[inline(always)]
    fn apply<Q: Quantity>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q {
        let g = decayed(&value, gradient, self.weight_decay);
        state[0] = state[0].clone() + square(&g);
        value - (g / state[0].root().plus(self.eps)).times(self.lr)
    }
}

impl Formula for AdadeltaStep {
    #[inline(always)]
    fn apply<Q: Quantity>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q {
        let g = decayed(&value, gradient, self.weight_decay);
        state[0] = mean(&state[0], &square(&g), self.rho);
        let delta = state[1].plus(self.eps).root() / state[0].plus(self.eps).root() * g;
        state[1] = mean(&state[1], &square(&delta), self.rho);
        value - delta.times(self.lr)
    }
}
