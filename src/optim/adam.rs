//! Adam, and Adam with decoupled weight decay.

use super::state::OptimizerState;
use super::{Optimizer, print_settings};
use crate::nn::Parameter;
use crate::ops;
use candle_core::backprop::GradStore;
use candle_core::{Result, Tensor};
use std::collections::HashMap;

/// The state and the step that both share. They differ in what weight decay acts on.
#[derive(Clone)]
struct AdamState {
    slots: OptimizerState<2>,
    lr: f64,
    betas: (f64, f64),
    eps: f64,
    weight_decay: f64,
}

impl AdamState {
    fn new(kind: &'static str, parameters: Vec<Parameter>, lr: f64, weight_decay: f64) -> Self {
        Self {
            slots: OptimizerState::new(kind, ["exp_avg", "exp_avg_sq"], parameters),
            lr,
            betas: (0.9, 0.999),
            eps: 1e-8,
            weight_decay,
        }
    }

    fn step(&mut self, gradients: &GradStore, decoupled: bool) -> Result<()> {
        let Self {
            lr,
            betas,
            eps,
            weight_decay,
            ..
        } = *self;
        let in_place = |value: &Tensor, gradient: &Tensor, [mean, square]: &[Tensor; 2], step| {
            let rule = ops::AdamStep {
                step,
                lr,
                betas,
                eps,
                weight_decay,
                decoupled,
            };
            ops::adam_step(value, gradient, [mean, square], rule)
        };
        let slots = &mut self.slots;
        slots.update(
            gradients,
            true,
            in_place,
            |value, gradient, [mean, square], step| {
                let size = lr / (1.0 - betas.0.powf(step));
                let correction = (1.0 - betas.1.powf(step)).sqrt();
                let (value, gradient) = match (weight_decay == 0.0, decoupled) {
                    (true, _) => (value.clone(), gradient.clone()),
                    (false, true) => ((value * (1.0 - lr * weight_decay))?, gradient.clone()),
                    (false, false) => (value.clone(), (gradient + (value * weight_decay)?)?),
                };
                let mean = ((mean * betas.0)? + (&gradient * (1.0 - betas.0))?)?;
                let square = ((square * betas.1)? + (gradient.sqr()? * (1.0 - betas.1))?)?;
                let scale = ((square.sqrt()? / correction)? + eps)?;
                let value = (value - ((&mean * size)? / scale)?)?;
                Ok((value, [mean, square]))
            },
        )
    }
}

macro_rules! adam {
    ($(#[$doc:meta])* $name:ident, $decay:literal, $decoupled:literal) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            state: AdamState,
        }

        impl $name {
            #[doc = concat!("Creates an optimiser for these parameters, with this learning rate; betas 0.9 and 0.999, eps 1e-8, weight decay ", stringify!($decay), ".")]
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let optimizer = ", stringify!($name), "::new(Linear::new(2, 1)?.parameters(), 0.001);")]
            /// assert_eq!(optimizer.lr(), 0.001);
            /// # Ok::<(), Error>(())
            /// ```
            pub fn new(parameters: Vec<Parameter>, lr: f64) -> Self {
                let state = AdamState::new(stringify!($name), parameters, lr, $decay);
                Self { state }
            }

            /// Sets the decay rates of the running means of the gradient and of its square.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let optimizer = ", stringify!($name), "::new(vec![], 0.001).betas(0.9, 0.99);")]
            /// assert!(optimizer.show_text().contains("betas=(0.9, 0.99)"));
            /// ```
            pub fn betas(mut self, first: f64, second: f64) -> Self {
                self.state.betas = (first, second);
                self
            }

            /// Sets the value that is added to the denominator, so that it is never 0.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let optimizer = ", stringify!($name), "::new(vec![], 0.001).eps(1e-6);")]
            /// assert!(optimizer.show_text().contains("eps=0.000001"));
            /// ```
            pub fn eps(mut self, eps: f64) -> Self {
                self.state.eps = eps;
                self
            }

            /// Sets the weight decay, which pulls the parameters towards 0.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let optimizer = ", stringify!($name), "::new(vec![], 0.001).weight_decay(0.1);")]
            /// assert!(optimizer.show_text().contains("weight_decay=0.1"));
            /// ```
            pub fn weight_decay(mut self, weight_decay: f64) -> Self {
                self.state.weight_decay = weight_decay;
                self
            }
        }

        impl Optimizer for $name {
            fn step(&mut self, gradients: &GradStore) -> Result<()> {
                self.state.step(gradients, $decoupled)
            }

            fn lr(&self) -> f64 {
                self.state.lr
            }

            fn set_lr(&mut self, lr: f64) {
                self.state.lr = lr;
            }

            fn state(&self) -> Result<Vec<(String, Tensor)>> {
                self.state.slots.state(self.state.lr)
            }

            fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
                self.state.lr = self.state.slots.load_state(state)?;
                Ok(())
            }
        }

        print_settings!($name, |adam| {
            let AdamState { lr, betas, eps, weight_decay, .. } = &adam.state;
            format!("lr={lr}, betas={betas:?}, eps={eps}, weight_decay={weight_decay}")
        });
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
    /// let net = Linear::new(2, 1)?;
    /// let mut optimizer = Adam::new(net.parameters(), 0.001);
    /// let loss = || net.forward(&ones((1, 2), &cpu())?)?.sum_all();
    /// let before = loss()?;
    /// optimizer.step(&before.backward()?)?;
    /// assert!(loss()?.to_scalar::<f32>()? < before.to_scalar::<f32>()?);
    /// # Ok::<(), Error>(())
    /// ```
    Adam, 0.0, false
);

adam!(
    /// [`Adam`] whose weight decay acts on the parameters themselves. From Loshchilov and Hutter, 2019.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1)?;
    /// let mut optimizer = AdamW::new(net.parameters(), 0.001).weight_decay(0.05);
    /// let loss = || net.forward(&ones((1, 2), &cpu())?)?.sum_all();
    /// let before = loss()?;
    /// optimizer.step(&before.backward()?)?;
    /// assert!(loss()?.to_scalar::<f32>()? < before.to_scalar::<f32>()?);
    /// # Ok::<(), Error>(())
    /// ```
    AdamW, 0.01, true
);
