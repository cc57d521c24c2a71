//! The state that an optimiser keeps for each parameter.

use crate::error;
use crate::nn::Parameter;
use candle_core::backprop::GradStore;
use candle_core::{Device, Result, Tensor, Var};
use std::collections::HashMap;
use std::sync::Arc;

type State = HashMap<String, Tensor>;

/// The parameters of an optimiser, and for each the tensors of its state, such as a momentum.
#[derive(Clone)]
pub(super) struct OptimizerState<const N: usize> {
    /// The optimiser's name: the state of one kind does not fit another.
    kind: &'static str,
    names: [&'static str; N],
    parameters: Vec<Parameter>,
    kept: Vec<Option<Kept<N>>>,
}

/// The state of one parameter.
#[derive(Clone)]
struct Kept<const N: usize> {
    /// How many steps it has made. A step without a gradient does not count.
    steps: f64,
    /// Shared with clones of the optimiser until one of them makes a step.
    tensors: Arc<[Tensor; N]>,
}

impl<const N: usize> OptimizerState<N> {
    pub(super) fn new(
        kind: &'static str,
        names: [&'static str; N],
        parameters: Vec<Parameter>,
    ) -> Self {
        let kept = vec![const { None }; parameters.len()];
        Self {
            kind,
            names,
            parameters,
            kept,
        }
    }

    /// Updates each parameter that has a gradient, in its own memory, by
    /// `in_place(value, gradient, kept, steps)`. Where that returns `false`, it calls `update`, which
    /// returns the new value and the new state. The state begins with zeros; it consists of empty
    /// tensors if the optimiser has none (`remembers` is false). `steps` counts the steps of the
    /// parameter, including this one.
    pub(super) fn update(
        &mut self,
        gradients: &GradStore,
        remembers: bool,
        in_place: impl Fn(&Tensor, &Tensor, &[Tensor; N], f64) -> Result<bool>,
        update: impl Fn(&Tensor, &Tensor, &[Tensor; N], f64) -> Result<(Tensor, [Tensor; N])>,
    ) -> Result<()> {
        let mut found = false;
        for (parameter, kept) in self.parameters.iter().zip(&mut self.kept) {
            let Ok(var) = parameter.var() else { continue };
            let Some(gradient) = gradients.get(&var) else {
                continue;
            };
            found = true;
            let steps = kept.as_ref().map_or(0.0, |kept| kept.steps) + 1.0;
            let mut here = match remembers {
                true => own(kept, &var)?,
                false => each(&[(); N], |()| Tensor::zeros(0, var.dtype(), var.device()))?,
            };
            let value = var.as_tensor().detach();
            if !in_place(&value, gradient, &here, steps)? {
                let (value, new) = update(&value, gradient, &here, steps)?;
                var.set(&value)?;
                here = new;
            }
            *kept = remembers.then(|| Kept {
                steps,
                tensors: Arc::new(here),
            });
        }
        match found || self.parameters.is_empty() {
            true => Ok(()),
            false => Err(error::state(
                "the optimiser's parameters have no gradients",
                "the loss does not depend on them",
                "Create the optimiser for the model that computes the loss: Sgd::new(model.parameters(), 0.1)",
            )),
        }
    }

    /// Returns copies of the state: the next step changes the original.
    pub(super) fn state(&self, lr: f64) -> Result<Vec<(String, Tensor)>> {
        let scalar = |value: f64| Tensor::new(value, &Device::Cpu);
        let mut state = vec![(format!("{}.lr", self.kind), scalar(lr)?)];
        for (i, kept) in self.kept.iter().enumerate() {
            let Some(kept) = kept else { continue };
            state.push((format!("{i}.step"), scalar(kept.steps)?));
            for (name, tensor) in self.names.iter().zip(kept.tensors.iter()) {
                state.push((format!("{i}.{name}"), tensor.copy()?));
            }
        }
        Ok(state)
    }

    /// Restores all of [`state`](Self::state), or nothing, and returns the learning rate.
    pub(super) fn load_state(&mut self, state: &State) -> Result<f64> {
        let lr = format!("{}.lr", self.kind);
        let mut known = 1;
        let rate = scalar_of(state, &lr)?;
        let mut loaded = Vec::with_capacity(self.parameters.len());
        for (i, parameter) in self.parameters.iter().enumerate() {
            let named = |name: &str| format!("{i}.{name}");
            let mut names = self.names.iter().chain(&["step"]);
            if !names.any(|name| state.contains_key(&named(name))) {
                loaded.push(None);
                continue;
            }
            let steps = scalar_of(state, &named("step"))?;
            let tensors = each(&self.names, |name| {
                fitting(state, &named(name), parameter)?.copy()
            })?;
            let tensors = Arc::new(tensors);
            loaded.push(Some(Kept { steps, tensors }));
            known += N + 1;
        }
        if known != state.len() {
            let entries = state.len();
            return Err(foreign(format!(
                "it has {entries} entries instead of {known}"
            )));
        }
        self.kept = loaded;
        Ok(rate)
    }
}

/// Returns the tensor of this name if it fits the parameter. The shape of a lazy parameter is
/// checked at the next step.
fn fitting<'a>(state: &'a State, name: &str, parameter: &Parameter) -> Result<&'a Tensor> {
    let tensor = state.get(name).ok_or_else(|| missing(name))?;
    match parameter.spec().and_then(|spec| spec.refusal(tensor)) {
        Some(refusal) => Err(foreign(format!("{name} is {refusal}"))),
        None => Ok(tensor),
    }
}

/// Takes the state of a variable, in memory of its own and on the variable's device: zeros at
/// first.
fn own<const N: usize>(kept: &mut Option<Kept<N>>, var: &Var) -> Result<[Tensor; N]> {
    let mut tensors = kept.iter().flat_map(|kept| kept.tensors.iter());
    if let Some(other) = tensors.find(|tensor| tensor.shape() != var.shape()) {
        let (got, want) = (other.dims(), var.dims());
        return Err(foreign(format!("{got:?} instead of {want:?}")));
    }
    let Some(Kept { tensors, .. }) = kept.take() else {
        return each(&[(); N], |()| var.zeros_like().map(|zeros| zeros.detach()));
    };
    if !tensors.iter().all(|t| t.device().same_device(var.device())) {
        return each(&tensors, |tensor| tensor.to_device(var.device()));
    }
    Arc::try_unwrap(tensors).or_else(|shared| each(&shared, Tensor::copy))
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

fn missing(name: &str) -> candle_core::Error {
    foreign(format!("it has no {name}"))
}

fn foreign(what: String) -> candle_core::Error {
    error::state(
        "the state of the optimiser does not fit",
        what,
        "Load it into the same kind of optimiser, made for the same model",
    )
}

/// Reads a scalar of an optimiser's state.
fn scalar_of(state: &State, name: &str) -> Result<f64> {
    let number = state.get(name).and_then(|t| t.to_scalar().ok());
    number.ok_or_else(|| missing(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Layer, LazyLinear, Linear, ParametersExt};
    use crate::optim::{Adam, AdamW, Optimizer, Sgd};
    use crate::tensor::ones;

    /// A state, and the parameters that it is of.
    fn stepped(make: Make) -> (Linear, State) {
        let net = Linear::new(2, 1).unwrap();
        let loss = net.forward(&ones((1, 2), &Device::Cpu).unwrap()).unwrap();
        let gradients = loss.sum_all().unwrap().backward().unwrap();
        let mut optimizer = make(net.parameters());
        optimizer.step(&gradients).unwrap();
        let state = optimizer.state().unwrap().into_iter().collect();
        (net, state)
    }

    type Make = fn(Vec<Parameter>) -> Box<dyn Optimizer>;

    #[test]
    fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
        let (net, state) = stepped(|p| Box::new(Adam::new(p, 0.1)));
        let refused = |mut optimizer: Box<dyn Optimizer>, state: &State| {
            let names = |o: &dyn Optimizer| -> Vec<String> {
                o.state()
                    .unwrap()
                    .into_iter()
                    .map(|entry| entry.0)
                    .collect()
            };
            let before = (names(&*optimizer), optimizer.lr());
            let message = optimizer.load_state(state).unwrap_err().to_string();
            assert_eq!((names(&*optimizer), optimizer.lr()), before);
            let refusal = "the state of the optimiser does not fit: ";
            let what = message.strip_prefix(refusal).expect(&message);
            what.lines().next().unwrap().to_owned()
        };
        let all = || net.parameters();
        let sgd = Box::new(Sgd::new(all(), 0.5).momentum(0.9));
        assert_eq!(refused(sgd, &state), "it has no Sgd.lr");
        assert_eq!(
            refused(Box::new(AdamW::new(all(), 0.5)), &state),
            "it has no AdamW.lr"
        );
        let other = Linear::new(3, 1).unwrap().parameters();
        let adam = |parameters| Box::new(Adam::new(parameters, 0.5));
        assert_eq!(
            refused(adam(other), &state),
            "0.exp_avg is [1, 2] instead of [1, 3]"
        );
        let fewer = adam(all()[..1].to_vec());
        assert_eq!(refused(fewer, &state), "it has 7 entries instead of 4");
        for name in state.keys() {
            let mut cut = state.clone();
            cut.remove(name);
            assert_eq!(refused(adam(all()), &cut), format!("it has no {name}"));
        }
        adam(all()).load_state(&state).unwrap();
    }

    #[test]
    fn the_state_of_a_lazy_parameter_is_checked_once_it_has_values() {
        let (_, state) = stepped(|p| Box::new(Adam::new(p, 0.1)));
        let lazy = LazyLinear::new(1);
        let mut adam = Adam::new(lazy.parameters(), 0.1);
        adam.load_state(&state).unwrap();
        let loss = lazy.forward(&ones((1, 3), &Device::Cpu).unwrap()).unwrap();
        let gradients = loss.sum_all().unwrap().backward().unwrap();
        let message = adam.step(&gradients).unwrap_err().to_string();
        assert!(message.contains("[1, 2] instead of [1, 3]"), "{message}");
    }

    /// As in PyTorch, the bias correction of a parameter counts from its own first step.
    #[test]
    fn adam_counts_the_steps_of_each_parameter() {
        let one = || Parameter::new(&ones(1, &Device::Cpu).unwrap()).unwrap();
        let makes: [Make; 2] = [
            |p| Box::new(Adam::new(p, 0.1)),
            |p| Box::new(AdamW::new(p, 0.1).weight_decay(0.0)),
        ];
        for make in makes {
            let (a, b, stranger) = (one(), one(), one());
            let step = |optimizer: &mut dyn Optimizer, of: &[&Parameter]| {
                let tensors: Vec<Tensor> = of.iter().map(|p| p.tensor().unwrap()).collect();
                let loss = Tensor::cat(&tensors, 0).unwrap().sum_all().unwrap();
                optimizer.step(&loss.backward().unwrap())
            };
            let mut optimizer = make(vec![a.clone(), b.clone()]);
            assert!(step(&mut *optimizer, &[&stranger]).is_err());
            step(&mut *optimizer, &[&a]).unwrap();
            let mut resumed = make(vec![a.clone(), b.clone()]);
            let state = optimizer.state().unwrap().into_iter().collect();
            resumed.load_state(&state).unwrap();
            step(&mut *resumed, &[&a, &b]).unwrap();
            // With a gradient of 1, each bias-corrected step is as large as the learning rate.
            for (parameter, want) in [(a, 0.8), (b, 0.9)] {
                let value = parameter.tensor().unwrap().to_vec1::<f32>().unwrap()[0];
                assert!((value - want).abs() < 1e-5, "{value} is not {want}");
            }
        }
    }
}
