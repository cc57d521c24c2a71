//! Saves and loads the state of an optimiser.

use super::groups::{Groups, Member};
use super::parameter_state::{ParameterState, foreign, precise};
use super::rule::Rule;
use crate::error::{Result, attempt};
use crate::nn::Parameter;
use crate::tensor::Tensor;
use candle_core::Device;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

type State = HashMap<String, Tensor>;

impl<R: Rule> Groups<R> {
    /// Returns learning rates, step counts and copies of the state, which the next step changes in place.
    pub(super) fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let lrs = self.lrs().into_iter().enumerate();
        let lrs = lrs.map(|(i, lr)| (name_of_lr(self.kind, i), scalar(lr)));
        let members = attempt(|| state_of_members(&self.members))?;
        Ok(lrs.chain(members).collect())
    }

    /// Restores a state that [`state`](Self::state) returned; after an error, nothing has changed.
    pub(super) fn load_state(&mut self, state: &State) -> Result<()> {
        let rules: Vec<&dyn Rule> = self.groups.iter().map(|group| &group.rule as _).collect();
        let lrs = load(self.kind, &rules, &mut self.members, state)?;
        self.set_lrs(lrs);
        Ok(())
    }
}

fn scalar(value: f64) -> Tensor {
    Tensor::from_vec_on(vec![value], (), &Device::Cpu)
}

fn state_of_members(members: &[Member]) -> Vec<(String, Tensor)> {
    let mut state = vec![];
    for (i, member) in members.iter().enumerate() {
        let Some(kept) = &member.kept else { continue };
        state.push((format!("{i}.step"), scalar(kept.steps)));
        for (name, tensor) in kept.tensors.iter() {
            state.push((format!("{i}.{name}"), tensor.copy_to(tensor.device())));
        }
    }
    state
}

/// Restores the state of the members, and returns the learning rates of their groups; after an error,
/// nothing has changed.
fn load(
    kind: &str,
    rules: &[&dyn Rule],
    members: &mut [Member],
    state: &State,
) -> Result<Vec<f64>> {
    let lrs = (0..rules.len()).map(|i| scalar_of(state, &name_of_lr(kind, i)));
    let lrs: Vec<f64> = lrs.collect::<Result<_>>()?;
    let mut known = lrs.len();
    let mut loaded = Vec::with_capacity(members.len());
    for (i, member) in members.iter().enumerate() {
        let named = |name: &str| format!("{i}.{name}");
        let rule = rules[member.group];
        let mut names = rule.state_names().iter().chain(&["step"]);
        if !names.any(|name| state.contains_key(&named(name))) {
            loaded.push(None);
            continue;
        }
        let steps = scalar_of(state, &named("step"))?;
        let mut tensors = BTreeMap::new();
        for name in rule.state_names() {
            if rule.needs(name) || state.contains_key(&named(name)) {
                let tensor = fitting(state, &named(name), &member.parameter)?;
                tensors.insert(*name, tensor);
            }
        }
        known += tensors.len() + 1;
        let tensors = Arc::new(tensors);
        loaded.push(Some(ParameterState { steps, tensors }));
    }
    if known != state.len() {
        let entries = state.len();
        return Err(foreign(format!(
            "it has {entries} entries instead of {known}"
        )));
    }
    for (member, kept) in members.iter_mut().zip(loaded) {
        member.kept = kept;
    }
    Ok(lrs)
}

fn name_of_lr(kind: &str, group: usize) -> String {
    match group {
        0 => format!("{kind}.lr"),
        _ => format!("{kind}.lr.{group}"),
    }
}

/// Returns a copy of the tensor of this name if it fits the parameter. The shape of a lazy parameter is
/// checked at the next step.
fn fitting(state: &State, name: &str, parameter: &Parameter) -> Result<Tensor> {
    let tensor = state.get(name).ok_or_else(|| missing(name))?;
    let refusal = parameter.spec().and_then(|spec| {
        // Older checkpoints have the state of a parameter with 16 bits in its own type.
        let is_precise = tensor.dtype() == precise(spec.dtype());
        let dtype = if is_precise {
            spec.dtype()
        } else {
            tensor.dtype()
        };
        spec.refusal(&tensor.to_dtype(dtype))
    });
    match refusal {
        Some(refusal) => Err(foreign(format!("{name} is {refusal}"))),
        None => attempt(|| tensor.copy_to(tensor.device())),
    }
}

fn missing(name: &str) -> crate::error::Error {
    foreign(format!("it has no {name}"))
}

/// Reads a scalar of an optimiser's state.
fn scalar_of(state: &State, name: &str) -> Result<f64> {
    let number = state.get(name).and_then(|t| t.raw().to_scalar().ok());
    number.ok_or_else(|| missing(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Layer, LazyLinear, Linear, ParametersExt};
    use crate::optim::{Adam, AdamW, Optimizer, SGD};
    use crate::tensor::ones;

    /// Returns a layer after one step, and the state of its optimiser.
    fn stepped(make: Make) -> (Linear, Vec<(String, Tensor)>) {
        let net = Linear::new(2, 1);
        let loss = net.forward(&ones((1, 2)));
        let gradients = loss.sum_all().backward();
        let mut optimizer = make(net.parameters());
        optimizer.step(&gradients);
        let state = optimizer.state().unwrap();
        (net, state)
    }

    type Make = fn(Vec<Parameter>) -> Box<dyn Optimizer>;

    #[test]
    fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
        let (net, state) = stepped(|p| Box::new(Adam::new(p, 0.1)));
        let refused = |mut optimizer: Box<dyn Optimizer>, state: &[(String, Tensor)]| {
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
        let sgd = Box::new(SGD::new(all(), 0.5).momentum(0.9));
        assert_eq!(refused(sgd, &state), "it has no SGD.lr");
        assert_eq!(
            refused(Box::new(AdamW::new(all(), 0.5)), &state),
            "it has no AdamW.lr"
        );
        let other = Linear::new(3, 1).parameters();
        let adam = |parameters| Box::new(Adam::new(parameters, 0.5));
        assert_eq!(
            refused(adam(other), &state),
            "0.exp_avg is [1, 2] instead of [1, 3]"
        );
        let fewer = adam(all()[..1].to_vec());
        assert_eq!(refused(fewer, &state), "it has 7 entries instead of 4");
        for (i, (name, _)) in state.iter().enumerate() {
            let cut = [&state[..i], &state[i + 1..]].concat();
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
        let loss = lazy.forward(&ones((1, 3)));
        let gradients = loss.sum_all().backward();
        let message = attempt(|| adam.step(&gradients)).unwrap_err().to_string();
        assert!(message.contains("[1, 2] instead of [1, 3]"), "{message}");
    }

    /// As in PyTorch, the bias correction of a parameter counts from its own first step.
    #[test]
    fn adam_counts_the_steps_of_each_parameter() {
        let one = || Parameter::new(&ones(1));
        let makes: [Make; 2] = [
            |p| Box::new(Adam::new(p, 0.1)),
            |p| Box::new(AdamW::new(p, 0.1).weight_decay(0.0)),
        ];
        for make in makes {
            let (a, b, stranger) = (one(), one(), one());
            let step = |optimizer: &mut dyn Optimizer, of: &[&Parameter]| {
                let tensors: Vec<Tensor> = of.iter().map(|p| p.tensor()).collect();
                let loss = Tensor::cat(&tensors, 0).sum_all();
                optimizer.step(&loss.backward())
            };
            let mut optimizer = make(vec![a.clone(), b.clone()]);
            assert!(attempt(|| step(&mut *optimizer, &[&stranger])).is_err());
            step(&mut *optimizer, &[&a]);
            let mut resumed = make(vec![a.clone(), b.clone()]);
            let state = optimizer.state().unwrap();
            resumed.load_state(&state).unwrap();
            step(&mut *resumed, &[&a, &b]);
            // With a gradient of 1, each bias-corrected step is as large as the learning rate.
            for (parameter, want) in [(a, 0.8), (b, 0.9)] {
                let value = parameter.tensor().to_vec1::<f32>()[0];
                assert!((value - want).abs() < 1e-5, "{value} is not {want}");
            }
        }
    }
}
