//! A training step on several devices at the same time.

use super::split::{no_devices, split};
use crate::data::{AnyBatch, BatchData};
use crate::device::explain_gpu;
use crate::error::{self, Error, Problem, Result, attempt, refuse};
use crate::nn::{Parameter, Parameters, ParametersExt, state_of};
use crate::ops;
use crate::optim::variables;
use crate::tensor::{
    GradStore, Metric, Part, SyncStats, Tensor, draw_seed, fork, with_across, with_part, with_seed,
};
use crate::train::Module;
use crate::train::model::{AnyModel, Steps, device_of, steps};
use crate::train::recorder;
use candle_core::Device;
use std::thread;
use taper_compute::threads::share_threads;

/// A model with a replica on each of several devices, which share the work on every batch.
///
/// Each device computes loss and gradients of its part of the batch, on a thread of its own; the
/// gradients are summed on the first. After the optimiser's step, [`broadcast`](Self::broadcast)
/// copies the new weights to all. The result is that of one device with the whole batch, up to the
/// rounding of sums, except that batch normalisation sees the parts and that dropout draws other values
/// for each part; the loss must be a mean over the examples. A device may occur in the list more than
/// once; replicas on the CPU share its cores.
///
/// From d2l's chapter *Training on Multiple GPUs*.
///
/// ```
/// use taper::prelude::*;
///
/// let model = Classifier::new(Linear::new(2, 3), 0.1);
/// let mut optimizer = model.configure_optimizers();
/// let mut parallel = DataParallel::new(model, &[cpu(), cpu()])?;
/// let batch = Batch { x: ones((4, 2)), y: tensor(&[0, 1, 2, 1]) };
///
/// let Gradients { loss, gradients } = parallel.backward(&batch)?;
/// optimizer.step(&gradients);
/// parallel.broadcast()?;
/// assert!(parallel.backward(&batch)?.loss.item() < loss.item());
/// let model = parallel.into_model();
/// # Ok::<(), Error>(())
/// ```
pub struct DataParallel<M> {
    model: M,
    others: Vec<Box<dyn AnyModel>>,
    devices: Vec<Device>,
}

/// The result of a step on a batch.
pub struct Gradients {
    /// The mean loss of the batch, on the first device: `()`.
    pub loss: Tensor,
    /// The gradients of the first device's parameters.
    pub gradients: GradStore,
}

// The bounds are on the methods, so that an editor that does not expand the derive finds the methods.
impl<M> DataParallel<M> {
    /// Moves the model to the first device and copies it to the others.
    ///
    /// # Errors
    /// If there are no devices, or one does not have enough memory, or the model has lazy parameters that
    /// are not initialised yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3), 0.1);
    /// let parallel = DataParallel::new(model, &try_all_gpus())?;
    /// assert_eq!(parallel.model().num_parameters(), 9);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(mut model: M, devices: &[Device]) -> Result<Self>
    where
        M: Parameters + Send + Sync + 'static,
    {
        let parameters = model.parameters();
        parameters.iter().try_for_each(|p| p.try_var().map(drop))?;
        let others = replicate(&mut model, devices)?;
        let devices = devices.to_vec();
        Ok(Self {
            model,
            others,
            devices,
        })
    }

    /// Returns the loss and the gradients of a batch, which may be on any device. Each device computes
    /// those of its part.
    ///
    /// # Errors
    /// If the batch does not fit the model; with a single device, this is a panic in the model's own code.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3), 0.1);
    /// let parallel = DataParallel::new(model, &[cpu(), cpu(), cpu()])?;
    /// let batch = Batch { x: ones((2, 2)), y: tensor(&[0, 1]) };
    /// let loss = parallel.backward(&batch)?.loss; // fewer examples than devices are enough
    /// assert_eq!(loss.dims(), [0; 0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn backward<B: BatchData, Y: BatchData>(&self, batch: &B) -> Result<Gradients>
    where
        M: Module<B, Y>,
    {
        let parts = split(batch, &self.devices)?;
        let done = backward(steps::<M, B, Y>(), &self.model, &self.others, &parts, None);
        let (gradients, _) = explain_gpu(done, &self.devices[0], None)?;
        Ok(gradients)
    }

    /// Copies the first device's weights to all others.
    ///
    /// # Errors
    /// If a device cannot be reached.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3), 0.1);
    /// let mut parallel = DataParallel::new(model, &[cpu(), cpu()])?;
    /// parallel.model().parameter("bias").set(&ones(3));
    /// assert!(parallel.broadcast().is_ok());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn broadcast(&mut self) -> Result<()>
    where
        M: Parameters + Send + Sync + 'static,
    {
        broadcast(&self.model, &self.others)
    }

    /// Sets all replicas to training mode: dropout is on, batch normalisation uses the statistics
    /// of the batch.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(seq![Linear::new(2, 3), Dropout::new(0.999)], 0.1);
    /// let parallel = DataParallel::new(model, &[cpu(), cpu()])?;
    /// parallel.train();
    /// let y = parallel.model().forward(&ones((500, 2))); // (500, 3)
    /// let zeros = y.eq(0.0).mean_all().item();
    /// assert!(zeros > 0.5); // dropout is on
    /// # Ok::<(), Error>(())
    /// ```
    pub fn train(&self)
    where
        M: Parameters + Send + Sync + 'static,
    {
        set_training(&self.model, &self.others, true);
    }

    /// Sets all replicas to evaluation mode; see [`train`](Self::train).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(seq![Linear::new(2, 3), Dropout::new(0.999)], 0.1);
    /// let parallel = DataParallel::new(model, &[cpu(), cpu()])?;
    /// parallel.eval();
    /// let y = parallel.model().forward(&ones((500, 2))); // (500, 3)
    /// let zeros = y.eq(0.0).mean_all().item();
    /// assert!(zeros < 0.5); // dropout is off
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eval(&self)
    where
        M: Parameters + Send + Sync + 'static,
    {
        set_training(&self.model, &self.others, false);
    }

    /// Returns the model on the first device.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let parallel = DataParallel::new(Classifier::new(Linear::new(2, 3), 0.1), &[cpu()])?;
    /// assert_eq!(parallel.model().num_parameters(), 9);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Returns the model on the first device; the other replicas are dropped.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let parallel = DataParallel::new(Classifier::new(Linear::new(2, 3), 0.1), &[cpu()])?;
    /// assert_eq!(parallel.into_model().num_parameters(), 9);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn into_model(self) -> M {
        self.model
    }
}

/// Sets all replicas to training or evaluation mode.
pub(crate) fn set_training(model: &dyn AnyModel, others: &[Box<dyn AnyModel>], training: bool) {
    model.set_training(training);
    others.iter().for_each(|other| other.set_training(training));
}

/// Moves the model to the first device and returns replicas for the others.
pub(crate) fn replicate(
    model: &mut dyn AnyModel,
    devices: &[Device],
) -> Result<Vec<Box<dyn AnyModel>>> {
    let [first, others @ ..] = devices else {
        return Err(no_devices("DataParallel"));
    };
    attempt(|| model.to_device(first))?;
    let model = &*model;
    others
        .iter()
        .map(|device| model.copied_to(device))
        .collect()
}

/// What a rank computes together with the others: its examples, and the connection of the layers.
#[derive(Clone)]
pub(crate) struct OfRank {
    pub(crate) part: Part,
    pub(crate) across: Option<SyncStats>,
}

impl OfRank {
    /// Runs a step on `len` of the rank's examples, from `start` on.
    fn run<T>(&self, start: usize, len: usize, step: impl FnOnce() -> T) -> T {
        let part = Part {
            start: self.part.start + start,
            len,
            ..self.part
        };
        with_across(self.across.clone(), || with_part(part, step))
    }
}

/// The result of a step, and the metrics that the model plotted.
type Done = (Gradients, Vec<Metric>);

/// Computes a step on a batch that is split into parts. The first part is for `model`, the next ones are for
/// `others`.
///
/// On one device, a panic in the model goes on: its message names the place. On several, it becomes the error.
pub(crate) fn backward(
    steps: &dyn Steps,
    model: &dyn AnyModel,
    others: &[Box<dyn AnyModel>],
    parts: &[Box<dyn AnyBatch>],
    rank: Option<&OfRank>,
) -> Result<Done> {
    let Some((first, rest)) = parts.split_first() else {
        refuse!(argument("DataParallel::backward", "none");
            "at least one example", "Pass a batch with examples");
    };
    let lens: Vec<usize> = parts
        .iter()
        .map(|part| part.examples())
        .collect::<Result<_>>()?;
    let examples: usize = lens.iter().sum();
    // A seed for each part: dropout does not depend on the order in which the threads run, and the next
    // random values of the data do not depend on the number of devices.
    let seed = draw_seed();
    let seeded = |i: usize, model: &dyn AnyModel, part: &dyn AnyBatch| {
        let (start, len) = (lens[..i].iter().sum(), lens[i]);
        let step = || recorder::collect(len, || steps.training(model, part));
        with_seed(seed.wrapping_add(i as u64), || {
            let (loss, metrics) = match rank {
                Some(rank) => rank.run(start, len, step),
                None => step(),
            };
            let gradients = one_part(&loss, len as f64 / examples.max(1) as f64)?;
            Ok((gradients, metrics))
        })
    };
    if rest.is_empty() {
        return seeded(0, model, &**first);
    }
    let all = std::iter::once(model).chain(others.iter().map(|other| &**other));
    let on_cpu = all
        .take(parts.len())
        .filter(|model| is_on_cpu(*model))
        .count();
    let caught = |i: usize, model: &dyn AnyModel, part: &dyn AnyBatch| {
        let computations = if is_on_cpu(model) { on_cpu } else { 1 };
        let step = || attempt(|| seeded(i, model, part)).flatten();
        let done = share_threads(computations, step);
        done.map_err(|error| of_part(error, lens[i], examples))
    };
    let context = fork();
    let (own, rest) = thread::scope(|scope| {
        let work = others.iter().zip(rest).enumerate();
        let caught = &caught;
        let threads: Vec<_> = work
            .map(|(i, (other, part))| {
                let context = context.clone();
                scope.spawn(move || context.run(|| caught(i + 1, &**other, &**part)))
            })
            .collect();
        let own = caught(0, model, &**first);
        let rest = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        (own, rest.collect::<Result<Vec<Done>>>())
    });
    let (mut total, rest) = (own?, rest?);
    attempt(|| {
        let own = model.parameters();
        for (other, part) in others.iter().zip(rest) {
            add(&mut total, &own, part, &(**other).parameters());
        }
        total
    })
}

fn is_on_cpu(model: &dyn AnyModel) -> bool {
    device_of(model).is_cpu()
}

/// Changes the advice of an error if a layer refuses a part of a single example, although the user's
/// batch has more examples.
fn of_part(error: Error, len: usize, examples: usize) -> Error {
    let problem = error::of(&error).map(|error| &error.problem);
    match problem {
        Some(problem @ (Problem::Shape { .. } | Problem::Other { .. }))
            if len == 1 && examples > 1 =>
        {
            problem.clone().with_advice(format_args!(
                "One device had only one of the batch's {examples} examples: train on fewer devices, or leave \
                 out the last, smaller batch (.drop_last(true))"
            ))
        }
        _ => error,
    }
}

/// Returns the loss and the gradients of one part, weighted with its share of the batch.
fn one_part(loss: &Tensor, share: f64) -> Result<Gradients> {
    refuse!(if loss.elem_count() != 1; shape("training_step", loss.dims());
        "a loss of one element", "Return the mean: loss.mean_all()");
    attempt(|| {
        let loss = match share {
            1.0 => loss.clone(),
            _ => loss * share,
        };
        Gradients {
            gradients: ops::backward(&loss),
            loss: loss.detach(),
        }
    })
}

/// Adds the loss, gradients and metrics of another device to those of the first device.
fn add(
    (total, metrics): &mut Done,
    own: &[Parameter],
    (mut part, more): Done,
    theirs: &[Parameter],
) {
    metrics.extend(more);
    total.loss = &total.loss + part.loss.to_device(total.loss.device());
    for (own, their) in variables(own).iter().zip(variables(theirs)) {
        let Some(gradient) = part.gradients.remove(&their) else {
            continue;
        };
        let gradient = gradient.to_device(own.device());
        let sum = match total.gradients.get(own) {
            Some(sum) => sum + gradient,
            None => gradient,
        };
        total.gradients.insert(own, sum);
    }
}

/// Copies the model's parameters and buffers to its replicas.
pub(crate) fn broadcast(model: &dyn AnyModel, others: &[Box<dyn AnyModel>]) -> Result<()> {
    let own = state_of(model);
    for other in others {
        for (own, their) in own.iter().zip(state_of(&**other)) {
            let values = Tensor::from(&own.parameter.try_var()?);
            their.parameter.try_set(&values)?;
        }
    }
    Ok(())
}
