//! The devices that are checked, and the comparison of a card's values with the CPU's.

use taper::prelude::*;

/// What a computation returns: tensors with names.
pub(crate) type Values = Vec<(String, Tensor)>;

/// A computation whose values must be the same on each device.
pub(crate) struct Computation {
    pub(crate) name: &'static str,
    /// The seed of its random values.
    pub(crate) seed: u64,
    pub(crate) run: Run,
}

type Run = Box<dyn Fn(&Device) -> Result<Values>>;

/// The cards of this machine.
pub(crate) struct Machine {
    pub(crate) cards: Vec<Device>,
    /// A fault of a card, which shows that the checks can fail.
    pub(crate) fault: Option<Fault>,
}

/// Makes the card's result of one computation wrong.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The first value of the last tensor is NaN.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests have this fault"))]
    NaN(String),
    /// The first value of the last tensor is off by a hundredth of the largest.
    Off(String),
    /// The last tensor, such as a gradient, is missing.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests have this fault"))]
    Missing(String),
}

/// The result of a check.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed(String),
    Failed(String),
    /// The check was not made, because the machine lacks what it needs.
    Absent(String),
}

impl Machine {
    /// Returns the first card.
    pub(crate) fn card(&self) -> &Device {
        &self.cards[0]
    }

    /// Compares the values of computations on the CPU with those on a card. A difference may be at most
    /// `near` times the largest value of its tensor.
    pub(crate) fn compare(&self, computations: &[Computation], near: f64) -> Outcome {
        let (mut failed, mut largest, mut tensors) = (vec![], 0f64, 0);
        for computation in computations {
            match self.differences(computation) {
                Ok(differences) => {
                    tensors += differences.len();
                    for (name, shape, off) in differences {
                        if off > near {
                            failed.push(format!(
                                "{}: {name} is wrong by {off:.1e} where {near:.0e} is allowed, shape {shape:?}, seed {}",
                                computation.name, computation.seed
                            ));
                        }
                        largest = largest.max(off);
                    }
                }
                Err(error) => failed.push(format!(
                    "{}: {}, seed {}",
                    computation.name,
                    first_line(&error),
                    computation.seed
                )),
            }
        }
        match (failed.is_empty(), tensors) {
            (true, 1..) => Outcome::Passed(format!(
                "computations: {}, tensors: {tensors}, off by at most {largest:.0e} (allowed: {near:.0e})",
                computations.len()
            )),
            (true, 0) => Outcome::Failed("nothing was compared".to_owned()),
            (false, _) => Outcome::Failed(failed.join("; ")),
        }
    }

    /// Returns the name and shape of each tensor, and the largest difference relative to its largest value.
    fn differences(&self, computation: &Computation) -> Result<Vec<(String, Vec<usize>, f64)>> {
        let run = |device: &Device| {
            let seeded = || with_seed(computation.seed, || (computation.run)(device));
            attempt(|| seeded().map(|tensors| values(&tensors))).flatten()
        };
        let expected = run(&cpu())?;
        let got = self.with_fault(computation.name, run(self.card())?);
        let names = |values: &[Host]| -> Vec<String> {
            values.iter().map(|host| host.name.clone()).collect()
        };
        if names(&got) != names(&expected) {
            let (got, expected) = (names(&got).join(" "), names(&expected).join(" "));
            return Err(Error::msg(format_args!("expected {expected}, found {got}")));
        }
        let both = expected.into_iter().zip(got);
        Ok(both
            .map(|(a, b)| {
                let off = match a.shape == b.shape {
                    true => difference(&a.values, &b.values),
                    false => f64::INFINITY,
                };
                (a.name, a.shape, off)
            })
            .collect())
    }

    fn with_fault(&self, name: &str, mut got: Vec<Host>) -> Vec<Host> {
        let change = |values: &mut Vec<Host>, f: &dyn Fn(f64, f64) -> f64| {
            if let Some(Host { values, .. }) = values.last_mut() {
                let size = values.iter().fold(0f64, |size, x| size.max(x.abs()));
                values[0] = f(values[0], size);
            }
        };
        match &self.fault {
            Some(Fault::NaN(wrong)) if wrong == name => change(&mut got, &|_, _| f64::NAN),
            Some(Fault::Off(wrong)) if wrong == name => {
                change(&mut got, &|x, size| x + size / 100.0)
            }
            Some(Fault::Missing(wrong)) if wrong == name => drop(got.pop()),
            _ => {}
        }
        got
    }
}

/// A tensor's values on the host.
struct Host {
    name: String,
    shape: Vec<usize>,
    values: Vec<f64>,
}

/// Fetches the values. They are compared on the host: a card's own maximum may leave out NaN.
fn values(tensors: &Values) -> Vec<Host> {
    let host = |(name, tensor): &(String, Tensor)| Host {
        name: name.clone(),
        shape: tensor.dims().to_vec(),
        values: tensor.to_device(&cpu()).to_dtype(DType::F64).to_vec(),
    };
    tensors.iter().map(host).collect()
}

/// Returns the largest difference relative to the largest value; infinite if a value is not finite or the
/// lengths differ.
fn difference(expected: &[f64], got: &[f64]) -> f64 {
    let all_finite = expected.iter().chain(got).all(|x| x.is_finite());
    if expected.len() != got.len() || expected.is_empty() || !all_finite {
        return f64::INFINITY;
    }
    let size = expected.iter().fold(0f64, |size, x| size.max(x.abs()));
    let off = expected.iter().zip(got).map(|(a, b)| (a - b).abs());
    off.fold(0f64, f64::max) / size.max(f64::MIN_POSITIVE)
}

/// Returns the gradients of a model's parameters; an error if one is missing.
pub(crate) fn gradients_of(model: &dyn Parameters, gradients: &GradStore) -> Result<Values> {
    let named = model.named_parameters().into_iter();
    let gradient = |(name, parameter): (String, Parameter)| {
        let gradient = gradients.get(&parameter.tensor()).cloned();
        let missing = || Error::msg(format_args!("no gradient of {name}"));
        Ok((format!("gradient of {name}"), gradient.ok_or_else(missing)?))
    };
    named.map(gradient).collect()
}

/// Returns the values of a model's parameters.
pub(crate) fn values_of(model: &dyn Parameters) -> Values {
    let named = model.named_parameters().into_iter();
    named
        .map(|(name, parameter)| (name, parameter.tensor()))
        .collect()
}

pub(crate) fn first_line(error: &Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_or_has_another_length_differs() {
        assert_eq!(difference(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
        for wrong in [vec![1.0, f64::NAN], vec![1.0], vec![1.0, 2.1], vec![]] {
            assert!(difference(&[1.0, 2.0], &wrong) > 1e-4, "{wrong:?}");
        }
        assert_eq!(difference(&[], &[]), f64::INFINITY);
    }
}
