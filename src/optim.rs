//! Optimisers, which change parameters along their gradients, and schedules for the learning rate.
//!
//! An optimiser is made for the parameters of one model: `Sgd::new(model.parameters(), 0.1)`. It
//! holds the parameters themselves, so it finds them after the model has moved to another device,
//! and lazy ones once they have values.

mod adam;
mod clip;
mod schedule;
mod sgd;

pub use adam::{Adam, AdamW};
pub use clip::clip_gradients;
pub use schedule::Schedule;
pub use sgd::Sgd;

use crate::error::explain;
use crate::nn::Parameter;
use candle_core::backprop::GradStore;
use candle_core::{Device, Result, Tensor, Var};
use std::collections::HashMap;
use std::sync::Arc;

/// What changes the parameters of a model along their gradients.
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
    /// If no parameter has one: they are those of another model.
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

    /// The learning rate.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Adam::new(vec![], 0.001).lr(), 0.001);
    /// ```
    fn lr(&self) -> f64;

    /// Changes the learning rate from now on, as a [`Schedule`] does.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut optimizer = Adam::new(vec![], 0.001);
    /// optimizer.set_lr(0.0005);
    /// assert_eq!(optimizer.lr(), 0.0005);
    /// ```
    fn set_lr(&mut self, lr: f64);

    /// What it remembers from step to step, by name, for a checkpoint.
    ///
    /// # Errors
    /// If the device cannot be reached.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Adam::new(vec![], 0.001).state()?[0].0, "step");
    /// # Ok::<(), Error>(())
    /// ```
    fn state(&self) -> Result<Vec<(String, Tensor)>>;

    /// Puts back what [`state`](Optimizer::state) gave.
    ///
    /// # Errors
    /// If the state is that of another optimiser, or of another model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let state = Adam::new(vec![], 0.001).state()?.into_iter().collect();
    /// Adam::new(vec![], 0.001).load_state(&state)?;
    /// # Ok::<(), Error>(())
    /// ```
    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()>;
}

/// The parameters of an optimiser, and for each the tensors that it remembers, such as a momentum.
#[derive(Clone)]
struct Slots<const N: usize> {
    names: [&'static str; N],
    parameters: Vec<Parameter>,
    /// Those in a clone of the optimiser are the same until one of both changes them.
    kept: Vec<Option<Arc<[Tensor; N]>>>,
}

impl<const N: usize> Slots<N> {
    fn new(names: [&'static str; N], parameters: Vec<Parameter>) -> Self {
        let kept = vec![const { None }; parameters.len()];
        Self {
            names,
            parameters,
            kept,
        }
    }

    /// Changes each parameter with a gradient by `in_place(value, gradient, kept)`, in its own memory; or,
    /// where that gives `false`, by `update`, which gives the new value and what to keep. What is
    /// kept begins with zeros; an optimiser that `remembers` nothing gets empty tensors.
    fn update(
        &mut self,
        gradients: &GradStore,
        remembers: bool,
        in_place: impl Fn(&Tensor, &Tensor, &[Tensor; N]) -> Result<bool>,
        update: impl Fn(&Tensor, &Tensor, &[Tensor; N]) -> Result<(Tensor, [Tensor; N])>,
    ) -> Result<()> {
        let mut found = false;
        for (parameter, kept) in self.parameters.iter().zip(&mut self.kept) {
            let Ok(var) = parameter.var() else { continue };
            let Some(gradient) = gradients.get(&var) else {
                continue;
            };
            found = true;
            let mut here = match remembers {
                true => own(kept.take(), &var)?,
                false => each(&[(); N], |()| Tensor::zeros(0, var.dtype(), var.device()))?,
            };
            let value = var.as_tensor().detach();
            if !in_place(&value, gradient, &here)? {
                let (value, new) = update(&value, gradient, &here)?;
                var.set(&value)?;
                here = new;
            }
            *kept = remembers.then(|| Arc::new(here));
        }
        match found || self.parameters.is_empty() {
            true => Ok(()),
            false => Err(explain(
                "the optimiser's parameters have no gradients: the loss does not depend on them",
                "Make the optimiser for the model that computes the loss: Sgd::new(model.parameters(), 0.1)",
            )),
        }
    }

    /// Copies: the next step changes what is kept.
    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let kept = self.kept.iter().enumerate();
        let kept = kept.filter_map(|(i, kept)| kept.as_ref().map(|kept| (i, kept)));
        kept.flat_map(|(i, kept)| {
            let named = self.names.iter().zip(kept.iter());
            named.map(move |(name, tensor)| Ok((format!("{i}.{name}"), tensor.copy()?)))
        })
        .collect()
    }

    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()> {
        for name in state.keys().filter(|name| name.contains('.')) {
            let known = name.split_once('.').and_then(|(index, kind)| {
                let index: usize = index.parse().ok()?;
                (index < self.parameters.len() && self.names.contains(&kind)).then_some(())
            });
            known.ok_or_else(|| foreign(name))?;
        }
        for (i, (parameter, kept)) in self.parameters.iter().zip(&mut self.kept).enumerate() {
            let found = self.names.map(|name| state.get(&format!("{i}.{name}")));
            *kept = None;
            if found.iter().all(Option::is_some) {
                let found = found.map(|tensor| tensor.expect("just seen"));
                let fits = |t: &&Tensor| parameter.shape().is_ok_and(|shape| shape == *t.shape());
                if !found.iter().all(fits) {
                    return Err(foreign(&format!("{i}.{}", self.names[0])));
                }
                *kept = Some(Arc::new(each(&found, |tensor| tensor.copy())?));
            }
        }
        Ok(())
    }
}

/// What is kept for a variable, in memory of its own and on its device: zeros at first.
fn own<const N: usize>(kept: Option<Arc<[Tensor; N]>>, var: &Var) -> Result<[Tensor; N]> {
    let Some(kept) = kept else {
        return each(&[(); N], |()| var.zeros_like().map(|zeros| zeros.detach()));
    };
    if !kept.iter().all(|t| t.device().same_device(var.device())) {
        return each(&kept, |tensor| tensor.to_device(var.device()));
    }
    Arc::try_unwrap(kept).or_else(|shared| each(&shared, Tensor::copy))
}

fn each<T, const N: usize>(
    from: &[T; N],
    make: impl Fn(&T) -> Result<Tensor>,
) -> Result<[Tensor; N]> {
    let made: Vec<Tensor> = from.iter().map(make).collect::<Result<_>>()?;
    Ok(made
        .try_into()
        .unwrap_or_else(|_| unreachable!("as many as there were")))
}

fn foreign(name: &str) -> candle_core::Error {
    explain(
        format!("the state of the optimiser does not fit: {name}"),
        "Load it into the same kind of optimiser, made for the same model",
    )
}

/// Prints an optimiser, in `{:?}` and below a cell.
macro_rules! print_settings {
    ($optimizer:ident, |$this:ident| $settings:expr) => {
        impl std::fmt::Debug for $optimizer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::show::Show::show_text(self))
            }
        }

        impl $crate::show::Show for $optimizer {
            fn show_text(&self) -> String {
                let $this = self;
                format!("{}({})", stringify!($optimizer), $settings)
            }
        }
    };
}
use print_settings;

/// A number that is part of an optimiser's state.
fn scalar(name: &str, value: f64) -> Result<(String, Tensor)> {
    Ok((name.to_owned(), Tensor::new(value, &Device::Cpu)?))
}

fn scalar_of(state: &HashMap<String, Tensor>, name: &str) -> Result<f64> {
    state.get(name).ok_or_else(|| foreign(name))?.to_scalar()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Layer, Linear, ParametersExt};
    use crate::tensor::ones;

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
    fn they_print_their_settings() {
        assert_eq!(
            format!("{:?}", Sgd::new(vec![], 0.1).momentum(0.9)),
            "Sgd(lr=0.1, momentum=0.9, weight_decay=0, nesterov=false)"
        );
        assert_eq!(
            format!("{:?}", AdamW::new(vec![], 0.1)),
            "AdamW(lr=0.1, betas=(0.9, 0.999), eps=0.00000001, weight_decay=0.01)"
        );
    }

    #[test]
    fn a_state_of_another_kind_is_refused() {
        let net = Linear::new(2, 1).unwrap();
        let loss = net.forward(&ones((1, 2), &Device::Cpu).unwrap()).unwrap();
        let gradients = loss.sum_all().unwrap().backward().unwrap();
        let mut adam = Adam::new(net.parameters(), 0.1);
        adam.step(&gradients).unwrap();
        let state: HashMap<_, _> = adam.state().unwrap().into_iter().collect();
        let mut sgd = Sgd::new(net.parameters(), 0.1).momentum(0.9);
        let message = sgd.load_state(&state).unwrap_err().to_string();
        assert!(
            message.starts_with("the state of the optimiser does not fit"),
            "{message}"
        );
        let other = Linear::new(3, 1).unwrap();
        assert!(
            Adam::new(other.parameters(), 0.1)
                .load_state(&state)
                .is_err()
        );
        Adam::new(net.parameters(), 0.1).load_state(&state).unwrap();
    }
}
