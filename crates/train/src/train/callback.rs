//! Callbacks, which run between the steps and epochs of a training.

use super::unfinished::Unfinished;
use super::{Epoch, History, Interval};
use crate::data::{AnyBatch, BatchData};
use crate::error::Result;
use crate::nn::Parameters;
use crate::optim::Optimizer;
use crate::tensor::{GradStore, Tensor};
use std::any::Any;

/// Runs while a model trains: writes logs, saves checkpoints, stops the training early.
///
/// A closure that takes an [`Interval`] is a callback as well.
///
/// ```
/// use taper::prelude::*;
///
/// /// Stops as soon as the training loss is below a limit.
/// struct Until(f64);
///
/// impl Callback for Until {
///     fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
///         let good = end.epoch.metric("train_loss").is_some_and(|loss| loss < self.0);
///         Ok(if good { Flow::Stop } else { Flow::Continue })
///     }
/// }
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let mut trainer = Trainer::new(100)
///     .callback(Until(100.0))
///     .callback(|interval: &Interval| println!("{}", interval.show_text()));
/// assert_eq!(trainer.fit(&mut model, &Digits::new())?.epochs.len(), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait Callback: Send {
    /// Runs in each step, after the gradients are computed and before they are clipped and the optimiser
    /// uses them. With [`Flow::Stop`] this step is the last one; the validation follows it. If a step
    /// accumulates several batches, the gradients are the mean over these batches, and the batch and the
    /// loss are the last ones. If the module makes its [own steps](crate::train::Module::manual_step), it runs after
    /// each, without gradients.
    ///
    /// # Errors
    /// As for [`on_interval`](Callback::on_interval).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// /// Trains the bias alone, and stops after some steps.
    /// struct BiasOnly { steps: usize }
    ///
    /// impl Callback for BiasOnly {
    ///     fn on_step(&mut self, step: &mut Step<'_>) -> Result<Flow> {
    ///         for (name, parameter) in step.model.named_parameters() {
    ///             if name.ends_with("weight") {
    ///                 step.gradients.remove(&parameter.tensor());
    ///             }
    ///         }
    ///         assert_eq!(step.batch::<Batch>().map(Batch::len), Some(64));
    ///         Ok(if step.step == self.steps { Flow::Stop } else { Flow::Continue })
    ///     }
    /// }
    ///
    /// let mut model = Classifier::new(seq![Flatten, Linear::new(64, 10)], 0.1);
    /// let weight = model.net.parameter("1.weight").tensor().copy_to(&cpu());
    /// let mut trainer = Trainer::new(10).callback(BiasOnly { steps: 5 });
    /// let history = trainer.fit(&mut model, &Digits::new().batch_size(64))?;
    /// assert_eq!(history.intervals[0].step, 5);
    /// let change = (model.net.parameter("1.weight").tensor() - weight).abs().sum_all();
    /// assert_eq!(change.item(), 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    fn on_step(&mut self, step: &mut Step<'_>) -> Result<Flow> {
        let _ = step;
        Ok(Flow::Continue)
    }

    /// Runs after each interval, when its metrics have been fetched from the device.
    ///
    /// # Errors
    /// An error, such as that of a failed write, ends the training.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// struct Steps(Vec<usize>);
    ///
    /// impl Callback for Steps {
    ///     fn on_interval(&mut self, interval: &Interval) -> Result<()> {
    ///         self.0.push(interval.step);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut steps = Steps(vec![]);
    /// steps.on_interval(&Interval { step: 7, ..Interval::default() })?;
    /// assert_eq!(steps.0, [7]);
    /// # Ok::<(), Error>(())
    /// ```
    fn on_interval(&mut self, interval: &Interval) -> Result<()> {
        let _ = interval;
        Ok(())
    }

    /// Runs after each epoch and its validation.
    ///
    /// # Errors
    /// As for [`on_interval`](Callback::on_interval).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// struct Once;
    ///
    /// impl Callback for Once {
    ///     fn on_epoch_end(&mut self, _: &EpochEnd<'_>) -> Result<Flow> {
    ///         Ok(Flow::Stop)
    ///     }
    /// }
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let mut trainer = Trainer::new(10).callback(Once);
    /// assert_eq!(trainer.fit(&mut model, &Digits::new())?.epochs.len(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        let _ = end;
        Ok(Flow::Continue)
    }

    /// Runs when training has ended: after the last epoch, or after an error, a panic or an interrupt. It may
    /// change the model.
    ///
    /// # Errors
    /// As for [`on_interval`](Callback::on_interval). If training itself failed, its error is returned
    /// instead.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// /// Sets the parameters of a finished model to 0.
    /// struct Forget;
    ///
    /// impl Callback for Forget {
    ///     fn on_fit_end(&mut self, end: &FitEnd<'_>) -> Result<()> {
    ///         assert!(end.completed);
    ///         for parameter in end.model.parameters() {
    ///             parameter.set(&parameter.tensor().zeros_like());
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// Trainer::new(1).callback(Forget).fit(&mut model, &Digits::new())?;
    /// let bias = model.net.parameter("1.bias").tensor();
    /// assert_eq!(bias.to_vec1::<f32>(), [0.0; 10]);
    /// # Ok::<(), Error>(())
    /// ```
    fn on_fit_end(&mut self, end: &FitEnd<'_>) -> Result<()> {
        let _ = end;
        Ok(())
    }

    /// Runs when the processes that train together are asked to end, between two steps. `end.epoch` is
    /// empty except for the number of completed epochs. [`Checkpoint`](super::Checkpoint) saves the state,
    /// from which the epoch is continued.
    ///
    /// # Errors
    /// As for [`on_interval`](Callback::on_interval).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// struct Report;
    ///
    /// impl Callback for Report {
    ///     fn on_interrupt(&mut self, end: &EpochEnd<'_>) -> Result<()> {
    ///         eprintln!("stopped after step {}", end.step);
    ///         Ok(())
    ///     }
    /// }
    /// assert!(!Report.on_first_rank_only());
    /// ```
    fn on_interrupt(&mut self, end: &EpochEnd<'_>) -> Result<()> {
        let _ = end;
        Ok(())
    }

    /// Returns whether the callback runs on rank 0 alone if several processes train together, because it
    /// writes a file or prints. By default it runs on all ranks, and must change the gradients of all
    /// in the same way. A closure runs on rank 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Checkpoint::new("run.safetensors").on_first_rank_only());
    /// assert!(!EarlyStopping::new("val_loss", 3).on_first_rank_only());
    /// ```
    fn on_first_rank_only(&self) -> bool {
        false
    }
}

impl<F: FnMut(&Interval) + Send> Callback for F {
    fn on_interval(&mut self, interval: &Interval) -> Result<()> {
        self(interval);
        Ok(())
    }

    fn on_first_rank_only(&self) -> bool {
        true
    }
}

/// What a callback decides: whether training continues after a step or an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continues with the next step or epoch.
    Continue,
    /// Stops the training and keeps the model as it is.
    Stop,
}

/// The state of a training after an epoch, which [`Callback::on_epoch_end`] receives.
pub struct EpochEnd<'a> {
    /// The metrics of the epoch.
    pub epoch: &'a Epoch,
    /// The metrics of all epochs so far, including this one.
    pub history: &'a History,
    /// The number of steps since training began.
    pub step: usize,
    /// The model, on the first device.
    pub model: &'a dyn Parameters,
    /// The optimiser.
    pub optimizer: &'a dyn Optimizer,
    /// The state of the next epoch, if it was interrupted.
    pub(super) unfinished: Option<&'a Unfinished>,
}

/// The state of a training in a step, which [`Callback::on_step`] receives; it may change the gradients.
pub struct Step<'a> {
    /// The number of this step, counted from 1 since training began.
    pub step: usize,
    /// The number of steps that the model's parameters have made.
    #[doc(hidden)]
    pub done: usize,
    /// The number of the epoch, counted from 1.
    pub epoch: usize,
    /// The loss of the batch: `()`.
    pub loss: &'a Tensor,
    /// The model, on the first device.
    pub model: &'a dyn Parameters,
    /// The gradients of its parameters. The optimiser uses them as the callbacks have changed them.
    pub gradients: &'a mut GradStore,
    pub(super) batch: &'a dyn AnyBatch,
}

impl Step<'_> {
    /// Returns the batch; `None` if the batches of this training have another type.
    ///
    /// [`Callback::on_step`] has an example.
    pub fn batch<B: BatchData>(&self) -> Option<&B> {
        (self.batch as &dyn Any).downcast_ref()
    }
}

/// The state of a training at its end, which [`Callback::on_fit_end`] receives.
pub struct FitEnd<'a> {
    /// The model, on the first device, in evaluation mode.
    pub model: &'a dyn Parameters,
    /// The metrics of the training.
    pub history: &'a History,
    /// Whether the training ended after its last epoch or by a callback, and not by an error, a panic or an
    /// interrupt.
    pub completed: bool,
}
