//! Optimisers, which update parameters from their gradients, and schedules for the learning rate.
//!
//! An optimiser is made for the parameters of one model: `Sgd::new(model.parameters(), 0.1)`. It
//! holds the parameters themselves, so it finds them after the model has moved to another device,
//! and lazy ones once they have values.

mod adam;
mod clip;
mod schedule;
mod sgd;
mod state;

pub use adam::{Adam, AdamW};
pub use clip::clip_gradients;
pub use schedule::Schedule;
pub use sgd::Sgd;

use candle_core::backprop::GradStore;
use candle_core::{Result, Tensor};
use std::collections::HashMap;

/// Updates the parameters of a model from their gradients.
///
/// ```
/// use taper::prelude::*;
///
/// let net = Linear::new(2, 1)?;
/// let mut optimizer = Sgd::new(net.parameters(), 0.1);
/// let x = ones((4, 2), &cpu())?;
/// for _ in 0..100 {
///     let loss = mse_loss(&net.forward(&x)?, &full((4, 1), 3.0, &cpu())?)?;
///     optimizer.step(&loss.backward()?)?;
/// }
/// assert!((net.forward(&x)?.mean_all()?.to_scalar::<f32>()? - 3.0).abs() < 1e-3);
/// # Ok::<(), Error>(())
/// ```
pub trait Optimizer: Send {
    /// Changes each parameter that has a gradient.
    ///
    /// # Errors
    /// If no parameter has a gradient, for instance because the gradients are of another model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1)?;
    /// let other = Linear::new(2, 1)?;
    /// let loss = net.forward(&ones((4, 2), &cpu())?)?.mean_all()?;
    /// assert!(Sgd::new(net.parameters(), 0.1).step(&loss.backward()?).is_ok());
    /// assert!(Sgd::new(other.parameters(), 0.1).step(&loss.backward()?).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    fn step(&mut self, gradients: &GradStore) -> Result<()>;

    /// Returns the learning rate.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Adam::new(vec![], 0.001).lr(), 0.001);
    /// ```
    fn lr(&self) -> f64;

    /// Sets the learning rate of the following steps, as a [`Schedule`] does.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut optimizer = Adam::new(vec![], 0.001);
    /// optimizer.set_lr(0.0005);
    /// assert_eq!(optimizer.lr(), 0.0005);
    /// ```
    fn set_lr(&mut self, lr: f64);

    /// Returns the state of the optimiser, by name, for a checkpoint.
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
    /// let state = Adam::new(vec![], 0.001).state()?.into_iter().collect();
    /// let mut optimizer = Adam::new(vec![], 0.1);
    /// optimizer.load_state(&state)?;
    /// assert_eq!(optimizer.lr(), 0.001);
    /// # Ok::<(), Error>(())
    /// ```
    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()>;
}

/// Prints an optimiser, in `{:?}` and below a cell.
macro_rules! print_settings {
    ($optimizer:ident, |$this:ident| $settings:expr) => {
        impl std::fmt::Debug for $optimizer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::notebook::Show::show_text(self))
            }
        }

        impl $crate::notebook::Show for $optimizer {
            fn show_text(&self) -> String {
                let $this = self;
                format!("{}({})", stringify!($optimizer), $settings)
            }
        }
    };
}
use print_settings;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Layer, Linear, ParametersExt};
    use crate::tensor::ones;
    use candle_core::Device;

    #[test]
    fn the_parameters_of_another_model_are_refused() {
        let (net, other) = (Linear::new(2, 1).unwrap(), Linear::new(2, 1).unwrap());
        let loss = net.forward(&ones((1, 2), &Device::Cpu).unwrap()).unwrap();
        let gradients = loss.sum_all().unwrap().backward().unwrap();
        let message = Sgd::new(other.parameters(), 0.1)
            .step(&gradients)
            .unwrap_err();
        let message = message.to_string();
        assert!(message.contains("have no gradients") && message.lines().count() == 2);
    }

    #[test]
    fn optimisers_print_their_settings() {
        assert_eq!(
            format!("{:?}", Sgd::new(vec![], 0.1).momentum(0.9)),
            "Sgd(lr=0.1, momentum=0.9, weight_decay=0, nesterov=false)"
        );
        assert_eq!(
            format!("{:?}", AdamW::new(vec![], 0.1)),
            "AdamW(lr=0.1, betas=(0.9, 0.999), eps=0.00000001, weight_decay=0.01)"
        );
    }
}
