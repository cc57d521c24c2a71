//! Losses and gradients that are not finite. On the CPU they end the training before the step, so the weights stay what
//! they were; to look at those on a GPU would wait for it at each step.

use super::Fit;
use super::ranks::is_divergence;
use crate::data::{AnyBatch, Search};
use crate::error::{Error, Problem, Result, attempt};
use crate::nn::{ParametersExt, first_not_finite, state_of};
use crate::ops::all_finite;
use crate::tensor::{GradStore, Tensor, generator_state, restore_generator};
use crate::train::recorder::collect;
use candle_core::DType;

/// What is said of values that are not finite.
const WRONG: &str = "has NaN or infinite values";

impl Fit<'_> {
    /// Returns whether losses and gradients are looked at in each step.
    fn looks(&self) -> bool {
        self.trainer.in_use.iter().all(|device| device.is_cpu())
    }

    /// Returns an error if the loss of a batch, from which no step was made yet, is not finite.
    pub(super) fn check_loss(&self, loss: &Tensor, batch: &dyn AnyBatch) -> Result<()> {
        if !self.looks() || all_finite(loss.raw())? {
            return Ok(());
        }
        let value = loss.to_dtype(DType::F64).mean_all().item();
        let (cause, advice) = self.cause(batch)?;
        let is_manual = !self.steps.is_automatic(self.model);
        let state = match is_manual {
            true => "manual_step has made its step already",
            false => "the weights are those before this step",
        };
        let problem = self.loss(value, (self.step + 1, self.batch + 1), cause);
        Err(problem.with_advice(format_args!("{advice}; {state}")))
    }

    /// Returns an error if the mean loss of all ranks is not finite; then all ranks return it. It is on the CPU already.
    pub(super) fn check_mean_loss(&self, loss: &Tensor) -> Result<()> {
        let value = loss.to_dtype(DType::F64).item();
        if value.is_finite() {
            return Ok(());
        }
        let advice = self.remedies(&["look for NaN or infinite values in the data"]);
        let advice = format!("{advice}; the weights are those before this step");
        let problem = self.loss(value, (self.step + 1, self.batch + 1), String::new());
        Err(problem.with_advice(advice))
    }

    /// Returns an error if a gradient of the next step is not finite. `norm` is known if they were clipped.
    pub(super) fn check_gradients(
        &self,
        gradients: &GradStore,
        norm: Option<&Tensor>,
    ) -> Result<()> {
        if !self.looks() {
            return Ok(());
        }
        let finite = match norm {
            Some(norm) => all_finite(norm.raw())?,
            None => {
                let mut all = gradients.all().map(looks_finite);
                all.try_fold(true, |finite, found| Ok::<_, Error>(finite && found?))?
            }
        };
        let wrong = |parameter: &Tensor| {
            let gradient = gradients.get(parameter);
            gradient.is_some_and(|gradient| matches!(all_finite(gradient.raw()), Ok(false)))
        };
        let named = || self.model.named_parameters().into_iter();
        match finite {
            true => Ok(()),
            false => match named().find(|(_, parameter)| wrong(&parameter.tensor())) {
                None => Ok(()), // of a tensor that the optimiser does not change
                Some((name, _)) => Err(self.wrong_gradient(name)),
            },
        }
    }

    fn wrong_gradient(&self, parameter: String) -> Error {
        let problem = Problem::Gradient {
            parameter,
            epoch: self.epoch + 1,
            step: self.step + 1,
            batch: self.batch + 1,
        };
        problem.with_advice(
            "An operation has no finite derivative there, as sqrt and log of 0 and a division by 0: keep its input away from \
             0, as in (x + 1e-8).sqrt(), or lower the learning rate; the weights are those before this step",
        )
    }

    /// Returns the problem of a loss at this step and batch.
    pub(super) fn loss(&self, loss: f64, (step, batch): (usize, usize), cause: String) -> Problem {
        Problem::Loss {
            loss,
            epoch: self.epoch + 1,
            step,
            batch,
            cause,
        }
    }

    /// Returns what helps if steps are too large, and further advice.
    pub(super) fn remedies(&self, further: &[&str]) -> String {
        let mut all = vec!["Lower the learning rate"];
        if self.trainer.clip == 0.0 {
            all.push("clip the gradients (.gradient_clip_val(1.0))");
        }
        all.extend(further);
        match &all[..] {
            [one] => (*one).to_owned(),
            [one, other] => format!("{one}, or {other}"),
            [first @ .., last] => format!("{}, or {last}", first.join(", ")),
            [] => String::new(),
        }
    }

    /// Looks for what else is not finite: in the batch, in the parameters, then in the outputs of layers. Returns what it
    /// found, and advice.
    fn cause(&self, batch: &dyn AnyBatch) -> Result<(String, String)> {
        let mut found = None;
        batch.search(&mut Search::new(&mut |name, x| {
            if found.is_none()
                && let Some(example) = first_wrong(x)
            {
                let name = if name.is_empty() { "the batch" } else { name };
                found = Some(format!(
                    "{name} {WRONG}, first in example {example} of the batch (counted from 0)"
                ));
            }
        }));
        if let Some(cause) = found {
            let advice = "Remove or replace such values in the data; x.isfinite() finds them";
            return Ok((cause, advice.to_owned()));
        }
        for entry in state_of(self.model) {
            if !all_finite(&entry.parameter.base_values()?)? {
                let cause = format!("the parameter {} {WRONG}", entry.name);
                return Ok((cause, self.remedies(&["begin with other weights"])));
            }
        }
        let Some(layer) = self.layer(batch)? else {
            let cause = "the batch, the parameters and the outputs of the layers are finite";
            let further = "look for a division by 0 or a logarithm of 0 in the loss";
            return Ok((cause.to_owned(), self.remedies(&[further])));
        };
        let cause = "the batch and the parameters are finite";
        let cause = format!("the output of {layer} {WRONG}; {cause}");
        Ok((cause, self.remedies(&[])))
    }

    /// Computes the loss again, and returns the first layer whose output is not finite.
    fn layer(&self, batch: &dyn AnyBatch) -> Result<Option<String>> {
        let examples = batch.examples()?;
        let batch = batch.part_on(0, examples, &self.trainer.in_use[0])?;
        let random = generator_state();
        let found = first_not_finite(|| {
            // The same computation has succeeded with these shapes.
            let step = || collect(examples, || self.steps.training(self.model, &*batch));
            let _ = attempt(step);
        });
        restore_generator(random);
        let Some(found) = found else {
            return Ok(None);
        };
        let layer = found.layer.lines().next().unwrap_or_default().to_owned();
        let own = found.parameter.and_then(|own| {
            let state = state_of(self.model);
            let entry = state
                .into_iter()
                .find(|entry| entry.parameter.is_same(&own));
            let name = entry?.name;
            Some(name.rsplit_once('.')?.0.to_owned())
        });
        Ok(Some(match own {
            Some(path) => format!("{layer}, {path} of the model,"),
            None => layer,
        }))
    }
}

/// Up to this many elements, all are looked at in each step.
const SMALL: usize = 1 << 14;

/// Returns whether a gradient is finite. Of a large one, it looks at the first element of each row and at the first row:
/// NaN in the gradient of a unit, or in an input, makes a whole row or column of the weight's gradient NaN.
fn looks_finite(gradient: &Tensor) -> Result<bool> {
    if gradient.elem_count() <= SMALL || gradient.rank() < 2 {
        return Ok(all_finite(gradient.raw())?);
    }
    let mut first = gradient.raw().clone();
    for dim in 1..first.rank() {
        first = first.narrow(dim, 0, 1)?;
    }
    Ok(all_finite(&gradient.raw().get(0)?)? && all_finite(&first)?)
}

/// Returns the first example with an element that is not finite.
fn first_wrong(x: &Tensor) -> Option<usize> {
    if all_finite(x.raw()).unwrap_or(true) {
        return None;
    }
    let examples = x.dims().first().copied().unwrap_or(1);
    let is_wrong = |i: &usize| x.rank() == 0 || !all_finite(x.get(*i).raw()).unwrap_or(true);
    (0..examples).find(is_wrong)
}

/// Returns the error of a search for the learning rate, unless it says that the rate was too large.
pub(super) fn unless_divergence(done: Result<()>) -> Result<bool> {
    match done {
        Err(error) if is_divergence(&error) => Ok(false),
        done => done.map(|()| true),
    }
}
