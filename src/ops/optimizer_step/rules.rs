//! The update rules of the optimisers, for a chunk of elements.

use crate::ops::engine::simd::{Element, multiversion};

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
    SGD(SgdStep),
    Adam(AdamStep),
    RMSprop(RMSpropStep),
    Adagrad(AdagradStep),
    Adadelta(AdadeltaStep),
}

impl StepRule {
    /// Updates `changed`: a chunk of the value, followed by the chunks of the state's tensors.
    pub(super) fn update<T: Element>(self, changed: &mut [&mut [T]], gradient: &[T]) {
        match (self, changed) {
            (Self::SGD(rule), [value]) => sgd_chunk(value, gradient, rule),
            (Self::SGD(rule), [value, buffer]) => momentum_chunk(value, buffer, gradient, rule),
            (Self::Adam(rule), [value, mean, square]) => {
                adam_chunk(value, mean, square, gradient, rule);
            }
            (Self::Adam(rule), [value, mean, square, largest]) => {
                amsgrad_chunk(value, mean, square, largest, gradient, rule);
            }
            (Self::RMSprop(rule), [value, square, rest @ ..]) => {
                let mut rest = rest.iter_mut().map(|chunk| &mut **chunk);
                let buffer = (rule.momentum != 0.0).then(|| rest.next()).flatten();
                let mean = rule.centered.then(|| rest.next()).flatten();
                rmsprop_chunk(value, square, buffer, mean, gradient, rule);
            }
            (Self::Adadelta(rule), [value, square, change]) => {
                adadelta_chunk(value, square, change, gradient, rule);
            }
            (Self::Adagrad(rule), [value, sum]) => adagrad_chunk(value, sum, gradient, rule),
            _ => unreachable!("the optimiser passes the state that the rule needs"),
        }
    }
}

multiversion! {
    fn sgd_chunk<T: Element>(value: &mut [T], gradient: &[T], rule: SgdStep) {
        let (lr, decay) = (T::of(rule.lr), T::of(rule.weight_decay));
        for (value, gradient) in value.iter_mut().zip(gradient) {
            *value += -((*gradient + *value * decay) * lr);
        }
    }
}

multiversion! {
    fn momentum_chunk<T: Element>(value: &mut [T], buffer: &mut [T], gradient: &[T], rule: SgdStep) {
        let [lr, decay, momentum, share] =
            [rule.lr, rule.weight_decay, rule.momentum, rule.share].map(T::of);
        for ((value, buffer), gradient) in value.iter_mut().zip(buffer).zip(gradient) {
            let g = *gradient + *value * decay;
            *buffer = *buffer * momentum + g * share;
            let ahead = g + *buffer * momentum;
            let direction = if rule.nesterov { ahead } else { *buffer };
            *value += -(direction * lr);
        }
    }
}

/// The factors of Adam's rule in the type of the elements.
#[derive(Clone, Copy)]
struct AdamFactors<T> {
    /// The factor of the value, below 1 for decoupled weight decay.
    shrink: T,
    /// The share of the value that is added to the gradient: weight decay that is not decoupled.
    decay: T,
    /// The learning rate with the bias correction of the mean.
    size: T,
    /// The bias correction of the root of the mean square.
    correction: T,
    eps: T,
    /// The factors of the old and the new value in the running mean of the gradient.
    first: [T; 2],
    /// The factors of the old and the new value in the running mean of the squared gradient.
    second: [T; 2],
}

impl<T: Element> AdamFactors<T> {
    fn new(rule: AdamStep) -> Self {
        let AdamStep {
            step,
            lr,
            betas,
            weight_decay,
            ..
        } = rule;
        let (shrink, decay) = match rule.decoupled {
            true => (1.0 - lr * weight_decay, 0.0),
            false => (1.0, weight_decay),
        };
        Self {
            shrink: T::of(shrink),
            decay: T::of(decay),
            size: T::of(lr / (1.0 - betas.0.powf(step))),
            correction: T::of(1.0 / (1.0 - betas.1.powf(step)).sqrt()),
            eps: T::of(rule.eps),
            first: [betas.0, 1.0 - betas.0].map(T::of),
            second: [betas.1, 1.0 - betas.1].map(T::of),
        }
    }

    /// Updates the running means of the gradient and of its square, for one element.
    #[inline(always)]
    fn update(&self, value: T, mean: &mut T, square: &mut T, gradient: T) {
        let g = gradient + value * self.decay;
        *mean = *mean * self.first[0] + g * self.first[1];
        *square = *square * self.second[0] + g * g * self.second[1];
    }

    /// Returns the value after the step.
    #[inline(always)]
    fn moved(&self, value: T, mean: T, square: T) -> T {
        let scale = square.sqrt() * self.correction + self.eps;
        value * self.shrink - mean * self.size / scale
    }
}

multiversion! {
    fn adam_chunk<T: Element>(value: &mut [T], mean: &mut [T], square: &mut [T], gradient: &[T], rule: AdamStep) {
        let factors = AdamFactors::<T>::new(rule);
        let all = value.iter_mut().zip(mean).zip(square).zip(gradient);
        for (((value, mean), square), gradient) in all {
            factors.update(*value, mean, square, *gradient);
            *value = factors.moved(*value, *mean, *square);
        }
    }
}

multiversion! {
    fn amsgrad_chunk<T: Element>(value: &mut [T], mean: &mut [T], square: &mut [T], largest: &mut [T], gradient: &[T], rule: AdamStep) {
        let factors = AdamFactors::<T>::new(rule);
        let all = value.iter_mut().zip(mean).zip(square).zip(largest).zip(gradient);
        for ((((value, mean), square), largest), gradient) in all {
            factors.update(*value, mean, square, *gradient);
            *largest = if *square > *largest { *square } else { *largest };
            *value = factors.moved(*value, *mean, *largest);
        }
    }
}

multiversion! {
    fn rmsprop_chunk<T: Element>(value: &mut [T], square: &mut [T], buffer: Option<&mut [T]>, mean: Option<&mut [T]>, gradient: &[T], rule: RMSpropStep) {
        let [lr, decay, eps] = [rule.lr, rule.weight_decay, rule.eps].map(T::of);
        let [alpha, new, momentum] = [rule.alpha, 1.0 - rule.alpha, rule.momentum].map(T::of);
        let (mut buffer, mut mean) = (buffer, mean);
        for (i, ((value, square), gradient)) in value.iter_mut().zip(square).zip(gradient).enumerate() {
            let g = *gradient + *value * decay;
            *square = *square * alpha + g * g * new;
            let spread = match &mut mean {
                Some(mean) => {
                    mean[i] = mean[i] * alpha + g * new;
                    *square - mean[i] * mean[i]
                }
                None => *square,
            };
            let mut direction = g / (spread.sqrt() + eps);
            if let Some(buffer) = &mut buffer {
                direction = buffer[i] * momentum + direction;
                buffer[i] = direction;
            }
            *value += -(direction * lr);
        }
    }
}

multiversion! {
    fn adagrad_chunk<T: Element>(value: &mut [T], sum: &mut [T], gradient: &[T], rule: AdagradStep) {
        let [lr, decay, eps] = [rule.lr, rule.weight_decay, rule.eps].map(T::of);
        for ((value, sum), gradient) in value.iter_mut().zip(sum).zip(gradient) {
            let g = *gradient + *value * decay;
            *sum += g * g;
            *value += -(g / (sum.sqrt() + eps) * lr);
        }
    }
}

multiversion! {
    fn adadelta_chunk<T: Element>(value: &mut [T], square: &mut [T], change: &mut [T], gradient: &[T], rule: AdadeltaStep) {
        let [lr, decay, eps] = [rule.lr, rule.weight_decay, rule.eps].map(T::of);
        let [rho, new] = [rule.rho, 1.0 - rule.rho].map(T::of);
        let all = value.iter_mut().zip(square).zip(change).zip(gradient);
        for (((value, square), change), gradient) in all {
            let g = *gradient + *value * decay;
            *square = *square * rho + g * g * new;
            let delta = (*change + eps).sqrt() / (*square + eps).sqrt() * g;
            *change = *change * rho + delta * delta * new;
            *value += -(delta * lr);
        }
    }
}
