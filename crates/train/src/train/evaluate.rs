//! Running a model without training it: validation, test, prediction.

use super::model::{AnyModel, Steps, device_of, steps};
use super::recorder::{Recorder, collect};
use super::{Metrics, Module, Trainer};
use crate::data::{AnyBatch, AnyLoader, BatchData, DataLoader, DataModule, typed};
use crate::device::explain_gpu;
use crate::distributed::Communicator;
use crate::error::{Error, Result, problem};
use crate::nn::evaluating;
use crate::notebook::check_interrupt;
use crate::tensor::no_grad;
use candle_core::Device;
use std::collections::BTreeMap;

impl Trainer {
    /// Returns the metrics of a model on the validation set: what `validation_step` plots, as
    /// `val_…`, averaged over the examples.
    ///
    /// Meanwhile the model is in evaluation mode, on the device where it is, and no operations are
    /// recorded for gradients.
    ///
    /// # Errors
    /// If there is no validation set, the data returns an error, or the user stops the evaluation.
    ///
    /// # Panics
    /// If the model panics. Its mode is then as before.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let metrics = Trainer::new(1).validate(&model, &Digits::new())?;
    /// assert!(metrics["val_accuracy"] < 0.5); // it has not been trained
    /// # Ok::<(), Error>(())
    /// ```
    pub fn validate<M, B, Y>(&self, model: &M, data: &impl DataModule<B>) -> Result<Metrics>
    where
        M: Module<B, Y>,
        B: BatchData,
        Y: BatchData,
    {
        let loader = data.val_loader()?;
        let ranks = self.ranks.as_deref();
        evaluate(Pass::Validation, steps::<M, B, Y>(), model, loader, ranks)
    }

    /// Returns the metrics of a model on the test set: what `validation_step` plots, as `test_…`. A
    /// [`DataLoader`] can be passed as the test set.
    ///
    /// # Errors
    /// As for [`validate`](Self::validate), as are the panics.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let loader = DataLoader::new(Digits::new().val()?).batch_size(100);
    /// let metrics = Trainer::new(1).test(&model, &loader)?;
    /// assert!(metrics.keys().eq(["test_accuracy", "test_loss"]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn test<M, B, Y>(&self, model: &M, data: &impl DataModule<B>) -> Result<Metrics>
    where
        M: Module<B, Y>,
        B: BatchData,
        Y: BatchData,
    {
        let loader = data.test_loader()?;
        let ranks = self.ranks.as_deref();
        evaluate(Pass::Test, steps::<M, B, Y>(), model, loader, ranks)
    }

    /// Returns the outputs of a model for all batches of a loader, joined and on the CPU:
    /// `(examples, …)`.
    ///
    /// # Errors
    /// If the shapes of the outputs differ in more than the number of examples; else as for
    /// [`validate`](Self::validate), as are the panics.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let loader = DataLoader::new(Digits::new().val()?);
    /// let logits = Trainer::new(1).predict(&model, &loader)?;
    /// assert_eq!(logits.dims(), [360, 10]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn predict<M, B, Y>(&self, model: &M, loader: &DataLoader<B>) -> Result<Y>
    where
        M: Module<B, Y>,
        B: BatchData,
        Y: BatchData,
    {
        let outputs = outputs(steps::<M, B, Y>(), model, loader.clone().into_any())?;
        let outputs: Vec<Y> = outputs.into_iter().map(typed).collect();
        Y::collate(&Vec::from_iter(&outputs))
    }
}

/// The data set on which a model is evaluated; it names the metrics, `val_…` or `test_…`.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pass {
    Validation,
    Test,
}

/// Evaluates a model on the device where it is, and restores its mode.
fn evaluate(
    pass: Pass,
    steps: &dyn Steps,
    model: &dyn AnyModel,
    loader: Option<AnyLoader>,
    ranks: Option<&dyn Communicator>,
) -> Result<Metrics> {
    let device = device_of(model);
    let mut loader = loader.ok_or_else(|| no_data(pass))?.moved_to(&device);
    if let Some(ranks) = ranks {
        let world = ranks.world();
        loader = loader.shared(world.rank, world.size);
    }
    let evaluate = || evaluated(pass, steps, model, &loader, &device, ranks);
    let metrics = evaluating(model, evaluate);
    explain_gpu(metrics, &device, None).map(Metrics::from)
}

/// Returns the means of the metrics that the model plots in its validation steps.
pub(super) fn evaluated(
    pass: Pass,
    steps: &dyn Steps,
    model: &dyn AnyModel,
    loader: &AnyLoader,
    device: &Device,
    ranks: Option<&dyn Communicator>,
) -> Result<BTreeMap<String, f64>> {
    let mut recorder = Recorder::default();
    for (index, batch) in loader.batches().enumerate() {
        check_interrupt()?;
        let batch = batch?.moved_to(device)?;
        let step = || no_grad(|| steps.validation(model, &*batch));
        recorder.add(loader.share(index), collect(batch.examples()?, step).1);
    }
    let mut fetched = recorder.fetch()?;
    if let Some(ranks) = ranks {
        fetched.reduce(ranks)?;
    }
    let means = fetched.means();
    Ok(match pass {
        Pass::Validation => means,
        Pass::Test => means.into_iter().map(as_test).collect(),
    })
}

fn as_test((name, mean): (String, f64)) -> (String, f64) {
    match name.strip_prefix("val_") {
        Some(metric) => (format!("test_{metric}"), mean),
        None => (name, mean),
    }
}

/// Returns the outputs for all batches, on the CPU.
fn outputs(
    steps: &dyn Steps,
    model: &dyn AnyModel,
    loader: AnyLoader,
) -> Result<Vec<Box<dyn AnyBatch>>> {
    let device = device_of(model);
    let output = |batch: Result<Box<dyn AnyBatch>>| {
        check_interrupt()?;
        let batch = batch?;
        no_grad(|| steps.forward(model, &*batch)).moved_to(&Device::Cpu)
    };
    let batches = loader.moved_to(&device).batches();
    let outputs = evaluating(model, || batches.map(output).collect::<Result<_>>());
    explain_gpu(outputs, &device, None)
}

fn no_data(pass: Pass) -> Error {
    let (operation, method) = match pass {
        Pass::Validation => ("Trainer::validate", "val_dataloader"),
        Pass::Test => ("Trainer::test", "test_dataloader"),
    };
    problem!(state(operation);
        "the data has no loader for this: its {method} returns None",
        "Implement {method}, or pass a loader to test(&model, &loader)")
}
