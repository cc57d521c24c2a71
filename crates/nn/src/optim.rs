//! Optimisers, which update parameters from their gradients, and schedules for the learning rate.

mod adadelta;
mod adagrad;
mod adam;
mod gradients;
mod groups;
mod parameter_state;
mod rmsprop;
mod rule;
mod schedule;
mod several;
mod sgd;
mod state;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod version_tests;

pub use adadelta::Adadelta;
pub use adagrad::Adagrad;
pub use adam::{Adam, AdamW};
pub use gradients::{accumulate_gradients, clip_gradients};
#[doc(hidden)]
pub use gradients::{try_accumulate, try_clip, variables};
pub use rmsprop::RMSprop;
#[doc(hidden)]
pub use schedule::is_better_larger;
pub use schedule::{LrSchedule, Schedule};
pub use several::Optimizers;
pub use sgd::SGD;
#[doc(hidden)]
pub use sgd::plain_sgd;

use crate::error::Result;
use crate::tensor::{GradStore, Tensor};

/// Updates the parameters of a model from their gradients.
///
/// ```
/// use taper::prelude::*;
///
/// let net = Linear::new(2, 1);
/// let mut optimizer = SGD::new(net.parameters(), 0.1);
/// let x = ones((4, 2));
/// for _ in 0..100 {
///     let loss = mse_loss(&net.forward(&x), &full((4, 1), 3.0));
///     optimizer.step(&loss.backward());
/// }
/// assert!((net.forward(&x).mean_all().item() - 3.0).abs() < 1e-3);
/// ```
pub trait Optimizer: Send {
    /// Updates each parameter that has a gradient. If the step fails, nothing has changed.
    ///
    /// # Panics
    /// If no parameter has a gradient, for instance because the gradients are of another model; if a
    /// setting is out of its range, or a gradient does not fit its parameter.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let other = Linear::new(2, 1);
    /// let loss = net.forward(&ones((4, 2))).mean_all();
    /// SGD::new(net.parameters(), 0.1).step(&loss.backward());
    /// let wrong = attempt(|| SGD::new(other.parameters(), 0.1).step(&loss.backward()));
    /// assert!(wrong.is_err());
    /// ```
    fn step(&mut self, gradients: &GradStore);

    /// Returns the learning rate; with several parameter groups, the rate of the first.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Adam::new(vec![], 0.001).lr(), 0.001);
    /// ```
    fn lr(&self) -> f64;

    /// Sets the learning rate of all parameter groups for the following steps.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut optimizer = Adam::new(vec![], 0.001);
    /// optimizer.set_lr(0.0005);
    /// assert_eq!(optimizer.lr(), 0.0005);
    /// ```
    fn set_lr(&mut self, lr: f64);

    /// Returns the learning rate of each parameter group.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let head = Adam::new(vec![], 0.01);
    /// assert_eq!(Adam::new(vec![], 0.001).add_param_group(head).lrs(), [0.001, 0.01]);
    /// ```
    fn lrs(&self) -> Vec<f64> {
        vec![self.lr()]
    }

    /// Sets the learning rate of each parameter group, as a [`Schedule`] does.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut optimizer = Adam::new(vec![], 0.001).add_param_group(Adam::new(vec![], 0.01));
    /// optimizer.set_lrs(&[0.0005, 0.005]);
    /// assert_eq!(optimizer.lrs(), [0.0005, 0.005]);
    /// ```
    fn set_lrs(&mut self, lrs: &[f64]) {
        if let [lr, ..] = lrs {
            self.set_lr(*lr);
        }
    }

    /// Returns the state of the optimiser as named tensors, for a checkpoint.
    ///
    /// # Errors
    /// If the device cannot be reached.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Adam::new(vec![], 0.001).state()?[0].0, "Adam.lr");
    /// # Ok::<(), Error>(())
    /// ```
    fn state(&self) -> Result<Vec<(String, Tensor)>>;

    /// Restores a state that [`state`](Optimizer::state) returned. If it fails, nothing has changed.
    ///
    /// # Errors
    /// If the state is of another kind of optimiser, or of another model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let state = Adam::new(vec![], 0.001).state()?;
    /// let mut optimizer = Adam::new(vec![], 0.1);
    /// optimizer.load_state(&state)?;
    /// assert_eq!(optimizer.lr(), 0.001);
    /// # Ok::<(), Error>(())
    /// ```
    fn load_state(&mut self, state: &[(String, Tensor)]) -> Result<()>;

    /// Returns the optimisers of a list.
    #[doc(hidden)]
    fn parts(&mut self) -> Option<&mut [Box<dyn Optimizer>]> {
        None
    }
}

/// Defines an optimiser: its name, the rule with its defaults, the rule's type, the default weight decay,
/// and the defaults for the documentation.
macro_rules! optimizer {
    ($(#[$doc:meta])* $name:ident, $rule:expr, $type:ty, $decay:literal, $defaults:expr) => {
        $(#[$doc])*
        pub struct $name {
            groups: $crate::optim::groups::Groups<$type>,
        }

        $crate::erased::outlined!(Clone for $name { groups });

        impl $name {
            #[doc = concat!("Creates an optimiser for these parameters, with this learning rate; ", $defaults, ".")]
            ///
            /// A parameter that occurs twice is updated once in each step.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let optimizer = ", stringify!($name), "::new(seq![LazyLinear::new(1)].parameters(), 0.01);")]
            /// assert_eq!(optimizer.lr(), 0.01);
            /// ```
            pub fn new(parameters: Vec<$crate::nn::Parameter>, lr: f64) -> Self {
                let kind = stringify!($name);
                let groups = $crate::optim::groups::Groups::new(kind, parameters, lr, $decay, $rule);
                Self { groups }
            }

            setters! {
                /// Sets the weight decay, which pulls the parameters towards 0. From d2l's chapter *Weight Decay*.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let optimizer = ", stringify!($name), "::new(vec![], 0.01).weight_decay(0.1);")]
                /// assert!(optimizer.show_text().contains("weight_decay=0.1"));
                /// ```
                pub fn weight_decay(self, weight_decay: f64): self.groups.first().weight_decay = weight_decay;

                /// Restricts weight decay to the parameters with two or more dimensions: weights and kernels,
                /// not biases and the scales of normalisation layers.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                /// let net = Linear::new(2, 3);
                /// net.parameter("bias").set(&ones(3));
                #[doc = concat!("let mut optimizer = ", stringify!($name), "::new(net.parameters(), 0.1).weight_decay(0.5).decay_matrices_only();")]
                /// let y = net.forward(&ones((1, 2))); // (1, 3)
                /// let loss = mse_loss(&y, &y.detach()); // its gradients are 0
                /// optimizer.step(&loss.backward());
                /// assert_eq!(net.parameter("bias").tensor().to_vec1::<f32>(), [1.0, 1.0, 1.0]);
                /// ```
                pub fn decay_matrices_only(self): self.groups.first().decay_matrices_only = true;

                /// Sets whether the loss is increased instead of decreased; `false` by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                /// let w = Parameter::new(&tensor(&[1.0]));
                #[doc = concat!("let mut optimizer = ", stringify!($name), "::new(vec![w.clone()], 0.1).maximize(true);")]
                /// optimizer.step(&w.tensor().sqr().sum_all().backward());
                /// assert!(w.tensor().to_vec1::<f32>()[0] > 1.0);
                /// ```
                pub fn maximize(self, maximize: bool): self.groups.first().maximize = maximize;

                /// Adds the parameters of another optimiser, with its settings, as a group. Parameters that
                /// are in both move to the new group. The other methods change the first group.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                /// let net = seq![Linear::new(4, 8), ReLU, Linear::new(8, 2)];
                #[doc = concat!("let output = ", stringify!($name), "::new(net[2].parameters(), 0.1);")]
                #[doc = concat!("let optimizer = ", stringify!($name), "::new(net.parameters(), 0.01).add_param_group(output);")]
                /// assert_eq!(optimizer.lrs(), [0.01, 0.1]);
                /// ```
                pub fn add_param_group(self, group: Self): self.groups.add(group.groups);
            }
        }

        impl $crate::optim::Optimizer for $name {
            fn step(&mut self, gradients: &$crate::tensor::GradStore) {
                $crate::error::OrRaise::or_raise(self.groups.step(gradients));
            }

            fn lr(&self) -> f64 {
                self.groups.lrs()[0]
            }

            fn set_lr(&mut self, lr: f64) {
                self.groups.set_lrs(std::iter::repeat(lr));
            }

            fn lrs(&self) -> Vec<f64> {
                self.groups.lrs()
            }

            fn set_lrs(&mut self, lrs: &[f64]) {
                self.groups.set_lrs(lrs.iter().copied());
            }

            fn state(&self) -> $crate::Result<Vec<(String, $crate::Tensor)>> {
                self.groups.state()
            }

            fn load_state(&mut self, state: &[(String, $crate::Tensor)]) -> $crate::Result<()> {
                self.groups.load_state(&state.iter().cloned().collect())
            }
        }

        /// Prints the settings of each parameter group.
        impl $crate::notebook::Show for $name {
            fn show_text(&self) -> String {
                self.groups.print()
            }
        }

        $crate::notebook::debug_as_shown!($name);
    };
}
use optimizer;
