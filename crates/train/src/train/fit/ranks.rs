//! A training that several processes share.

use crate::data::{AnyLoader, Share};
use crate::distributed::Communicator;
use crate::error::{self, Error, Problem, Result, refuse};
use crate::nn::{Parameter, ParametersExt, files, state_of};
use crate::optim::variables;
use crate::tensor::{
    GradStore, SyncStats, Tensor, generator_state, no_grad, restore_generator, with_device,
    with_seed, zeros,
};
use crate::train::model::{AnyModel, Steps};
use crate::train::recorder::collect;
use crate::train::{Callback, Flow, Trainer};
use candle_core::{DType, Device};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The number of elements that are summed over the ranks at once: they fit into the cache of a core.
const BUCKET: usize = 1 << 18;

/// The number of values before the counts of gradients: the loss, and whether a process was asked to end.
const HEADER: usize = 2;

/// The connection to the other processes.
pub(super) struct Ranks {
    communicator: Arc<dyn Communicator>,
    /// Whether a process was asked to end.
    pub(super) must_end: bool,
}

impl Ranks {
    pub(super) fn new(communicator: Arc<dyn Communicator>) -> Self {
        Self {
            communicator,
            must_end: false,
        }
    }

    pub(super) fn shared(&self, loader: &AnyLoader) -> AnyLoader {
        let world = self.communicator.world();
        loader.shared(world.rank, world.size)
    }

    /// Returns the connection with which layers compute over the parts of a batch on all ranks.
    pub(super) fn across(&self, share: Share) -> SyncStats {
        let communicator = self.communicator.clone();
        SyncStats {
            sum: Arc::new(move |values| Ok(communicator.all_reduce(values)?)),
            own: share.own,
            len: share.part.len,
            total: share.part.total,
        }
    }

    /// Sets the random generators of all ranks to the state of that of rank 0, so that they shuffle alike.
    pub(super) fn share_random(&self) -> Result<()> {
        let (seed, stream, position) = generator_state();
        let stream = stream.to_le_bytes();
        let state = [&seed[..], &stream, &position.to_le_bytes()].concat();
        let state = self.communicator.sent_by_first(state)?;
        let (seed, rest) = state.split_at(32);
        let (stream, position) = rest.split_at(8);
        restore_generator((
            array(seed),
            u64::from_le_bytes(array(stream)),
            u128::from_le_bytes(array(position)),
        ));
        Ok(())
    }

    /// Returns an error if ranks differ in data or settings, and sets the weights of all to those of rank 0.
    pub(super) fn begin(
        &self,
        trainer: &Trainer,
        steps: &dyn Steps,
        model: &dyn AnyModel,
        (train, validate): (&AnyLoader, Option<&AnyLoader>),
    ) -> Result<()> {
        let mut lines = description(trainer, steps, model, train, validate);
        let on_gpus = self.communicator.sums_on_gpus();
        lines.push(format!("sums of gradients on GPUs: {on_gpus}"));
        self.compare(&lines)?;
        for entry in state_of(model) {
            self.share_tensor(&entry.parameter)?;
        }
        self.compare(&[format!(
            "the loss of the first examples: {:.3e}",
            first_loss(trainer, steps, model, train)?
        )])
    }

    /// Returns an error on all ranks if the lines of a rank differ from those of rank 0.
    fn compare(&self, own: &[String]) -> Result<()> {
        let first = self
            .communicator
            .sent_by_first(own.join("\n").into_bytes())?;
        let first = String::from_utf8_lossy(&first);
        let first: Vec<&str> = first.lines().collect();
        let found = (0..own.len().max(first.len()))
            .map(|i| (first.get(i).copied(), own.get(i).map(String::as_str)))
            .find(|(first, own)| first != own)
            .map(|(first, own)| {
                let (first, own) = (first.unwrap_or("nothing"), own.unwrap_or("nothing"));
                format!("expected {first}, as on rank 0, found {own}")
            });
        let world = self.communicator.world();
        let mut differs = vec![0.0; world.size];
        differs[world.rank] = f32::from(u8::from(found.is_some()));
        let differs = self.communicator.sums(&differs)?;
        let Some(rank) = differs.iter().position(|differs| *differs > 0.0) else {
            return Ok(());
        };
        // The text of that rank is sent to all as a sum, to which the other ranks add zeros.
        let text = found.filter(|_| rank == world.rank).unwrap_or_default();
        let mut bytes: Vec<f32> = text.bytes().map(f32::from).collect();
        bytes.resize(1000, 0.0);
        let bytes: Vec<u8> = self
            .communicator
            .sums(&bytes)?
            .iter()
            .map(|b| *b as u8)
            .collect();
        let text = String::from_utf8_lossy(&bytes);
        let problem = text.trim_end_matches('\0').to_owned();
        Err(Problem::Rank { rank, problem }
            .with_advice("Start the same program with the same data and settings on all ranks"))
    }

    /// Sets the buffers of all ranks, such as running means, to those of rank 0.
    pub(super) fn share_buffers(&self, model: &dyn AnyModel) -> Result<()> {
        let mut buffers = state_of(model).into_iter().filter(|entry| !entry.trained);
        buffers.try_for_each(|entry| self.share_tensor(&entry.parameter))
    }

    fn share_tensor(&self, parameter: &Parameter) -> Result<()> {
        let tensor = Tensor::from(&parameter.try_var()?);
        // `f64` represents the values of every dtype that a model has exactly.
        let values: Vec<f64> = tensor.to_dtype(DType::F64).to_vec();
        let bytes = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let bytes = self.communicator.sent_by_first(bytes)?;
        let (values, _) = bytes.as_chunks();
        let values = values.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let values = Tensor::from_vec_on(values.collect(), tensor.shape(), &Device::Cpu);
        parameter.try_set(&values.to_dtype(tensor.dtype()))
    }

    /// Replaces the gradients by their means over the examples of all ranks; `fraction` is the part of
    /// the examples that this rank has. Returns the mean of the losses, weighted in the same way.
    pub(super) fn reduce(
        &mut self,
        model: &dyn AnyModel,
        gradients: &mut GradStore,
        fraction: f64,
        (loss, loss_fraction): (&Tensor, f64),
    ) -> Result<Tensor> {
        let vars = variables(&model.parameters());
        let own_loss = match loss_fraction {
            0.0 => 0.0,
            fraction => loss.item() as f32 * fraction as f32,
        };
        let asked = f32::from(u8::from(self.communicator.is_asked_to_end()));
        let mut values = vec![own_loss, asked];
        // Whether each gradient exists: a layer may be used on some ranks only.
        let has = |var: &Tensor| f32::from(u8::from(gradients.get(var).is_some()));
        values.extend(vars.iter().map(has));
        self.communicator.all_reduce(&mut values)?;
        self.must_end |= values[1] > 0.0;
        let counts = &values[HEADER..];
        let found = vars.into_iter().zip(counts).filter(|(_, n)| **n > 0.0);
        let on_gpus = self.communicator.sums_on_gpus();
        let (on_gpus, others): (Vec<Tensor>, Vec<Tensor>) = found
            .map(|(var, _)| var)
            .partition(|var| on_gpus && var.device().is_cuda());
        self.reduce_on_gpus(&on_gpus, gradients, fraction)?;
        for bucket in buckets(&others) {
            self.reduce_bucket(bucket, gradients, fraction as f32)?;
        }
        Ok(Tensor::from_vec_on(vec![values[0]], (), loss.device()).to_dtype(loss.dtype()))
    }

    fn reduce_on_gpus(
        &self,
        vars: &[Tensor],
        gradients: &mut GradStore,
        fraction: f64,
    ) -> Result<()> {
        let weighted = vars.iter().map(|var| match gradients.get(var) {
            Some(gradient) if fraction > 0.0 => {
                (gradient.to_dtype(DType::F32) * fraction).contiguous()
            }
            _ => with_device(var.device(), || zeros(var.shape())),
        });
        let sums = self.communicator.sums_of_tensors(weighted.collect())?;
        for (var, sums) in vars.iter().zip(sums) {
            gradients.insert(var, sums.to_dtype(var.dtype()));
        }
        Ok(())
    }

    fn reduce_bucket(
        &self,
        vars: &[Tensor],
        gradients: &mut GradStore,
        fraction: f32,
    ) -> Result<()> {
        let len = vars.iter().map(Tensor::elem_count).sum();
        let mut values = Vec::with_capacity(len);
        // The number of elements that are summed already: a large gradient is summed in parts, while each
        // is in the cache.
        let mut summed = 0;
        for var in vars {
            let gradient = gradients.get(var).filter(|_| fraction > 0.0);
            let gradient = gradient.map(on_cpu);
            for start in (0..var.elem_count()).step_by(BUCKET) {
                let part = start..var.elem_count().min(start + BUCKET);
                match &gradient {
                    Some(gradient) => append(&mut values, gradient, part, fraction)?,
                    None => values.resize(values.len() + part.len(), 0.0),
                }
                if values.len() == len || values.len() - summed >= BUCKET {
                    self.communicator.all_reduce(&mut values[summed..])?;
                    summed = values.len();
                }
            }
        }
        let shares_memory = vars.len() > 1;
        let mut start = 0;
        for var in vars {
            let end = start + var.elem_count();
            let (shape, device) = (var.shape(), var.device());
            let sums = match shares_memory {
                true => values[start..end].to_vec(),
                false => std::mem::take(&mut values),
            };
            let sums = Tensor::from_vec_on(sums, shape, device);
            gradients.insert(var, sums.to_dtype(var.dtype()));
            start = end;
        }
        Ok(())
    }
}

/// Divides parameters into groups whose gradients are summed together; a large parameter has a group of
/// its own.
fn buckets(vars: &[Tensor]) -> impl Iterator<Item = &[Tensor]> {
    let mut elements = vars.first().map_or(0, Tensor::elem_count);
    vars.chunk_by(move |_, next| {
        let fits = elements + next.elem_count() <= BUCKET;
        elements = next.elem_count() + if fits { elements } else { 0 };
        fits
    })
}

fn on_cpu(gradient: &Tensor) -> Tensor {
    let gradient = gradient.to_device(&Device::Cpu);
    gradient.to_dtype(DType::F32).contiguous()
}

/// Appends some elements of a gradient on the CPU, times a factor.
fn append(values: &mut Vec<f32>, gradient: &Tensor, part: Range<usize>, factor: f32) -> Result<()> {
    let (storage, layout) = gradient.raw().storage_and_layout();
    let candle_core::Storage::Cpu(storage) = &*storage else {
        refuse!(state("the sum of gradients");
            "a gradient is not on the CPU", "Please report this bug");
    };
    let start = layout.start_offset();
    let elements = &storage.as_slice::<f32>()?[start + part.start..start + part.end];
    values.extend(elements.iter().map(|value| value * factor));
    Ok(())
}

/// Returns the settings and properties that must be the same on all ranks, one line for each.
fn description(
    trainer: &Trainer,
    steps: &dyn Steps,
    model: &dyn AnyModel,
    train: &AnyLoader,
    validate: Option<&AnyLoader>,
) -> Vec<String> {
    let loader = |name: &str, loader: &AnyLoader| format!("{name} data {}", loader.show_text());
    let lrs = steps.optimizer(model).lrs();
    let mut lines = vec![
        format!("Taper {}", env!("CARGO_PKG_VERSION")),
        loader("training", train),
        validate.map_or("no validation data".to_owned(), |v| loader("validation", v)),
        format!(
            "max_epochs {}, gradient_clip_val {}, accumulate_grad_batches {}, log_every {:?}, sync_batch_norm {}, {} callbacks",
            trainer.max_epochs,
            trainer.clip,
            trainer.accumulate,
            trainer.log_every,
            trainer.sync_batch_norm,
            trainer.callbacks.len()
        ),
        format!("learning rates {lrs:?}"),
        schedule(trainer, train, &lrs),
    ];
    lines.extend(state_of(model).iter().map(|entry| {
        let var = entry.parameter.try_var();
        let shape = var.map(|var| format!("{:?} {:?}", var.dims(), var.dtype()));
        format!("the tensor {} {}", entry.name, shape.unwrap_or_default())
    }));
    lines
}

/// Describes a schedule by what it returns in some epochs, with a metric that does not improve.
fn schedule(trainer: &Trainer, train: &AnyLoader, lrs: &[f64]) -> String {
    let schedule = &trainer.schedule;
    let (unit, per_epoch) = match trainer.schedule_by_step {
        true => ("step", train.num_batches().div_ceil(trainer.accumulate)),
        false => ("epoch", 1),
    };
    let base = lrs.first().copied().unwrap_or(1.0);
    // Trainings that only a callback ends have any number of epochs.
    let epochs = trainer.max_epochs.min(10_000);
    let lr = |i: usize| {
        let epoch = i * epochs / 10;
        let values = vec![1.0; epoch];
        let lr = schedule.lr_after(&values, base, epoch * per_epoch);
        format!("{lr:.3e}")
    };
    let lrs = Vec::from_iter((0..10).map(lr)).join(", ");
    let metric = schedule.metric().unwrap_or("no metric");
    format!("a schedule by {unit} and {metric}, with the learning rates {lrs}")
}

/// Returns the loss of some examples without dropout, as many as rank 0 computes in a step; with a sampler, of
/// the first example. If the data of ranks differ, so do these losses.
fn first_loss(
    trainer: &Trainer,
    steps: &dyn Steps,
    model: &dyn AnyModel,
    train: &AnyLoader,
) -> Result<f32> {
    let batch = with_seed(0, || train.example())?;
    let ranks = trainer.ranks.as_ref().map_or(1, |ranks| ranks.world().size);
    let len = batch.examples()?.div_ceil(ranks);
    let first = batch.part_on(0, len, &trainer.in_use[0])?;
    model.set_training(false);
    let step = || no_grad(|| steps.training(model, &*first));
    let (loss, _) = with_seed(0, || collect(len, step));
    Ok(loss.to_dtype(DType::F32).mean_all().to_scalar())
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes
        .try_into()
        .expect("rank 0 sent the state of its generator")
}

/// Returns the content of a file; on all ranks that of rank 0.
pub(super) fn read(ranks: Option<&dyn Communicator>, path: &Path) -> Result<Vec<u8>> {
    match ranks {
        None => files::read(path),
        Some(ranks) if ranks.world().rank == 0 => ranks.sent_by_first(files::read(path)?),
        Some(ranks) => ranks.sent_by_first(vec![]),
    }
}

/// Returns a filter for the callbacks that run on this rank.
pub(super) fn runs_on(
    ranks: &Option<Arc<dyn Communicator>>,
) -> impl Fn(&&mut Box<dyn Callback>) -> bool + use<> {
    let is_first = is_first(ranks);
    move |callback| is_first || !callback.on_first_rank_only()
}

/// Calls the callbacks that run on this rank, until one fails. Returns whether one of them asks to stop.
pub(super) fn call_each(
    callbacks: &mut [Box<dyn Callback>],
    ranks: &Option<Arc<dyn Communicator>>,
    mut call: impl FnMut(&mut dyn Callback) -> Result<Flow>,
) -> Result<Flow> {
    let mut flow = Flow::Continue;
    for callback in callbacks.iter_mut().filter(runs_on(ranks)) {
        if call(&mut **callback)? == Flow::Stop {
            flow = Flow::Stop;
        }
    }
    Ok(flow)
}

pub(super) fn is_first(ranks: &Option<Arc<dyn Communicator>>) -> bool {
    ranks.as_ref().is_none_or(|ranks| ranks.world().rank == 0)
}

/// Returns whether all ranks return this error, at the same step.
pub(super) fn is_by_all(error: &Error) -> bool {
    let problem = error::of(error).map(|error| &error.problem);
    matches!(
        problem,
        Some(Problem::Interrupted | Problem::Loss { .. } | Problem::Rank { .. })
    )
}

/// Returns whether a loss or a gradient was not finite.
pub(super) fn is_divergence(error: &Error) -> bool {
    let problem = error::of(error).map(|error| &error.problem);
    matches!(
        problem,
        Some(Problem::Loss { .. } | Problem::Gradient { .. })
    )
}

/// Returns the error of all ranks after one was asked to end.
pub(super) fn asked_to_end() -> Error {
    Problem::Interrupted.with_advice("A process was asked to end, by a signal")
}
