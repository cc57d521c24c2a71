//! Stochastic gradient descent.

use super::state::OptimizerState;
use super::{Optimizer, print_settings};
use crate::nn::Parameter;
use crate::ops;
use candle_core::backprop::GradStore;
use candle_core::{Result, Tensor};
use std::collections::HashMap;

/// Minibatch stochastic gradient descent: each parameter moves against its gradient, by the learning
/// rate times the gradient.
///
/// From d2l's chapters *Linear Regression* and *Momentum*; the rules are those of PyTorch's `SGD`.
///
/// ```
/// use taper::prelude::*;
///
/// let net = Linear::new(2, 1)?;
/// let optimizer = Sgd::new(net.parameters(), 0.1).momentum(0.9).weight_decay(1e-4);
/// assert_eq!(optimizer.lr(), 0.1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Sgd {
    slots: OptimizerState<1>,
    lr: f64,
    momentum: f64,
    weight_decay: f64,
    nesterov: bool,
}

impl Sgd {
    /// Creates an optimiser for these parameters, with this learning rate; no momentum, no weight
    /// decay.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Sgd::new(seq![LazyLinear::new(1)].parameters(), 0.1);
    /// assert_eq!(optimizer.lr(), 0.1);
    /// ```
    pub fn new(parameters: Vec<Parameter>, lr: f64) -> Self {
        Self {
            slots: OptimizerState::new("Sgd", ["momentum_buffer"], parameters),
            lr,
            momentum: 0.0,
            weight_decay: 0.0,
            nesterov: false,
        }
    }

    /// Sets the momentum: the share of the last update that is added to the next one, often 0.9. From
    /// Polyak, 1964.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Sgd::new(vec![], 0.1).momentum(0.9);
    /// assert!(optimizer.show_text().contains("momentum=0.9"));
    /// ```
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = momentum;
        self
    }

    /// Sets the weight decay, which pulls the parameters towards 0. From d2l's chapter *Weight Decay*.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Sgd::new(vec![], 0.1).weight_decay(1e-4);
    /// assert!(optimizer.show_text().contains("weight_decay=0.0001"));
    /// ```
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.weight_decay = weight_decay;
        self
    }

    /// Uses Nesterov momentum. From Nesterov, 1983.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = Sgd::new(vec![], 0.1).momentum(0.9).nesterov(true);
    /// assert!(optimizer.show_text().contains("nesterov=true"));
    /// ```
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.nesterov = nesterov;
        self
    }
}

impl Optimizer for Sgd {
    fn step(&mut self, gradients: &GradStore) -> Result<()> {
        let Self {
            lr,
            momentum,
            weight_decay,
            nesterov,
            ..
        } = *self;
        let remembers = momentum != 0.0;
        let rule = ops::SgdStep {
            lr,
            momentum,
            nesterov,
            weight_decay,
        };
        let in_place = |value: &Tensor, gradient: &Tensor, [buffer]: &[Tensor; 1], _| {
            ops::sgd_step(value, gradient, remembers.then_some(buffer), rule)
        };
        let slots = &mut self.slots;
        slots.update(
            gradients,
            remembers,
            in_place,
            |value, gradient, [buffer], _| {
                let mut direction = gradient.clone();
                if weight_decay != 0.0 {
                    direction = (direction + (value * weight_decay)?)?;
                }
                if !remembers {
                    return Ok(((value - (direction * lr)?)?, [buffer.clone()]));
                }
                let buffer = ((buffer * momentum)? + &direction)?;
                let direction = match nesterov {
                    true => (direction + (&buffer * momentum)?)?,
                    false => buffer.clone(),
                };
                Ok(((value - (direction * lr)?)?, [buffer]))
            },
        )
    }

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        self.slots.state(self.lr)
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        self.lr = self.slots.load_state(state)?;
        Ok(())
    }
}

print_settings!(Sgd, |sgd| format!(
    "lr={}, momentum={}, weight_decay={}, nesterov={}",
    sgd.lr, sgd.momentum, sgd.weight_decay, sgd.nesterov
));
