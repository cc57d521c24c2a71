//! The settings of a training, and its results.

use super::history::Epoch;
use super::model::{AnyModel, device_of};
use super::{Callback, History, Interval, split_and_load};
use crate::data::BatchData;
use crate::device::DeviceExt;
use crate::distributed::Communicator;
use crate::erased::Erased;
use crate::error::{Result, attempt, refuse};
use crate::nn::Parameters;
use crate::notebook::{Show, debug_as_shown};
use crate::optim::{LrSchedule, Schedule};
use crate::plot::ProgressBoard;
use crate::tensor::with_precision;
use candle_core::{DType, Device};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Trains models: runs the epochs and steps on the chosen devices, and records the metrics.
///
/// It draws on a live board, shows a progress bar, and stops between two steps when the user asks
/// to; model and [`history`](Self::history) are then kept as they are. From d2l's chapter
/// *Object-Oriented Design for Implementation*.
///
/// ```
/// use taper::prelude::*;
///
/// struct Points;
///
/// impl DataModule for Points {
///     fn train_dataloader(&self) -> Result<DataLoader> {
///         let x = tensor(&[[0.0, 1.0], [1.0, 0.0]]); // (2, 2)
///         let data = TensorDataset::new(x, tensor(&[0, 1]))?;
///         Ok(DataLoader::new(data).batch_size(2))
///     }
/// }
///
/// let mut model = Classifier::new(LazyLinear::new(2), 0.5);
/// let history = Trainer::new(20).fit(&mut model, &Points)?;
/// assert_eq!(history.last("train_accuracy"), Some(1.0));
/// # Ok::<(), Error>(())
/// ```
pub struct Trainer(Erased<State>);

/// The settings of a trainer, and its results.
#[doc(hidden)]
pub struct State {
    pub(super) max_epochs: usize,
    gpus: usize,
    chosen: Vec<Device>,
    pub(super) in_use: Vec<Device>,
    pub(super) clip: f64,
    pub(super) accumulate: usize,
    pub(super) schedule: Box<dyn LrSchedule>,
    pub(super) schedule_by_step: bool,
    pub(super) log_every: Option<usize>,
    pub(super) callbacks: Vec<Box<dyn Callback>>,
    pub(super) resume_from: Option<PathBuf>,
    pub(super) board: ProgressBoard,
    /// Whether the metrics are drawn.
    pub(super) has_board: bool,
    pub(super) history: History,
    /// The connection to the other processes that train the model.
    pub(super) ranks: Option<Arc<dyn Communicator>>,
    pub(super) sync_batch_norm: bool,
    precision: DType,
}

impl Trainer {
    /// Creates a trainer for this many epochs.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// assert_eq!(Trainer::new(2).fit(&mut model, &Digits::new())?.epochs.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(max_epochs: usize) -> Self {
        Self(Erased::new(State {
            max_epochs,
            gpus: 0,
            chosen: vec![],
            in_use: vec![],
            clip: 0.0,
            accumulate: 1,
            schedule: Box::new(Schedule::Constant),
            schedule_by_step: false,
            log_every: None,
            callbacks: vec![],
            resume_from: None,
            board: ProgressBoard::new(),
            has_board: true,
            history: History::default(),
            ranks: None,
            sync_batch_norm: false,
            precision: DType::F32,
        }))
    }

    setters! {
        /// Trains on the first `n` GPUs, each with its part of every batch; with 0, on the model's device. If several
        /// processes train [together](Self::distributed), each uses `n` GPUs of its own.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
        /// let mut trainer = Trainer::new(1).num_gpus(num_gpus().min(1)); // one if there is one
        /// assert!(trainer.fit(&mut model, &Digits::new()).is_ok());
        /// ```
        pub fn num_gpus(self, n: usize): self.gpus = n;

        /// Trains on these devices instead of [`num_gpus`](Self::num_gpus); a device may occur in the list twice.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
        /// let mut trainer = Trainer::new(1).devices(&[cpu(), cpu()]);
        /// trainer.fit(&mut model, &Digits::new())?;
        /// assert!(trainer.show_text().ends_with("on cpu, cpu"));
        /// # Ok::<(), Error>(())
        /// ```
        pub fn devices(self, devices: &[Device]): self.chosen = devices.to_vec();

        /// Sets the maximum norm of the gradients; larger gradients are scaled down to it. 0 means no limit.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
        /// let mut trainer = Trainer::new(1).gradient_clip_val(0.0001);
        /// let history = trainer.fit(&mut model, &Digits::new())?;
        /// assert!(history.last("val_loss") > Some(2.0)); // it has hardly moved
        /// # Ok::<(), Error>(())
        /// ```
        pub fn gradient_clip_val(self, max_norm: f64): self.clip = max_norm;

        /// Makes one step for every `batches` batches, with the mean gradient of their examples, as if they
        /// were one batch; at the end of an epoch also for fewer. Dropout and batch normalisation still see
        /// each batch.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
        /// let mut trainer = Trainer::new(1).accumulate_grad_batches(4);
        /// let history = trainer.fit(&mut model, &Digits::new())?; // of 23 batches
        /// assert_eq!(history.intervals.last().unwrap().step, 6);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn accumulate_grad_batches(self, batches: usize): self.accumulate = batches.max(1);

        /// Sets the type in which linear layers and products of matrices compute during [`fit`](Self::fit): with
        /// `DType::BF16`, they round their inputs to 16 bits, which a GPU multiplies several times as fast, and add up in
        /// `f32`. Weights, gradients, the optimiser's state and all other operations stay in `f32`, so small updates are
        /// not lost. As PyTorch's `autocast`, or Lightning's `bf16-mixed`. On the CPU the values are the same, and nothing
        /// is faster.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.5);
        /// let history = Trainer::new(3).precision(DType::BF16).fit(&mut model, &Digits::new())?;
        /// assert!(history.last("val_accuracy") > Some(0.8));
        /// assert_eq!(model.parameters()[0].tensor().dtype(), DType::F32);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn precision(self, dtype: DType): self.precision = dtype;
    }

    /// Sets the learning rate of each epoch by a schedule.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let mut trainer = Trainer::new(3).schedule(Schedule::cosine(10).warmup(1));
    /// let history = trainer.fit(&mut model, &Digits::new())?;
    /// assert_eq!((history.epochs[0].lr, history.epochs[1].lr), (0.05, 0.1));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn schedule(self, schedule: impl LrSchedule + 'static) -> Self {
        self.scheduled(Box::new(schedule), false)
    }

    /// Sets the learning rate of each step by a schedule.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let mut trainer = Trainer::new(1).log_every(1).schedule_steps(Schedule::cosine(100).warmup(1));
    /// let history = trainer.fit(&mut model, &Digits::new())?;
    /// assert_eq!((history.intervals[0].lr, history.intervals[1].lr), (0.05, 0.1));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn schedule_steps(self, schedule: impl LrSchedule + 'static) -> Self {
        self.scheduled(Box::new(schedule), true)
    }

    #[inline(never)]
    fn scheduled(mut self, schedule: Box<dyn LrSchedule>, by_step: bool) -> Self {
        self.schedule = schedule;
        self.schedule_by_step = by_step;
        self
    }

    setters! {
        /// Sets after how many batches the metrics are fetched from the device, drawn, and passed to the
        /// callbacks; the default is twice an epoch. Batches are steps unless
        /// [`accumulate_grad_batches`](Self::accumulate_grad_batches) is set. With 1, the loop waits for
        /// the device at every batch, which makes training on a GPU slower.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
        /// let history = Trainer::new(1).log_every(5).fit(&mut model, &Digits::new())?;
        /// assert_eq!(history.intervals.len(), 5); // of 23 steps
        /// # Ok::<(), Error>(())
        /// ```
        pub fn log_every(self, steps: usize): self.log_every = Some(steps.max(1));
    }

    /// Adds a callback.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let mut trainer = Trainer::new(100).callback(EarlyStopping::new("val_loss", 1).min_delta(0.5));
    /// assert!(trainer.fit(&mut model, &Digits::new())?.epochs.len() < 100);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn callback(self, callback: impl Callback + 'static) -> Self {
        self.with_callback(Box::new(callback))
    }

    #[inline(never)]
    fn with_callback(mut self, callback: Box<dyn Callback>) -> Self {
        self.callbacks.push(callback);
        self
    }

    /// Resumes the training from a [`Checkpoint`](super::Checkpoint), with the same results as if it
    /// had never stopped. The history and the board begin with the metrics of the checkpoint.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let path = std::env::temp_dir().join(format!("taper_checkpoint_resume_{}", std::process::id()));
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// Trainer::new(1).callback(Checkpoint::new(&path)).fit(&mut model, &Digits::new())?;
    /// let history = Trainer::new(2).resume_from(&path).fit(&mut model, &Digits::new())?;
    /// assert_eq!(history.epochs.len(), 2);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn resume_from(self, path: impl AsRef<Path>) -> Self {
        self.resumed(path.as_ref())
    }

    #[inline(never)]
    fn resumed(mut self, path: &Path) -> Self {
        self.resume_from = Some(path.to_owned());
        self
    }

    /// Continues the history of a checkpoint, and draws its curves.
    pub(super) fn continue_history(&mut self, history: History) {
        for interval in &history.intervals {
            self.draw_interval(interval);
        }
        for epoch in &history.epochs {
            self.draw_epoch(epoch);
        }
        self.history = history;
    }

    /// Moves the model to the device on which it will be trained: the first requested GPU or device,
    /// or else the device on which it is. [`fit`](Self::fit) does this.
    ///
    /// # Errors
    /// If there are fewer GPUs than requested, or a device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut model = Classifier::new(Linear::new(2, 2), 0.5);
    /// let mut trainer = Trainer::new(1).devices(&[cpu()]);
    /// trainer.prepare_model(&mut model)?;
    /// assert!(trainer.show_text().ends_with("on cpu"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn prepare_model<M>(&mut self, model: &mut M) -> Result<()>
    where
        M: Parameters + Send + Sync + 'static,
    {
        self.prepare(model)
    }

    pub(super) fn prepare(&mut self, model: &mut dyn AnyModel) -> Result<()> {
        self.in_use = match (&self.chosen[..], self.gpus) {
            ([], 0) => vec![self.gpu_of_rank()?.unwrap_or_else(|| device_of(model))],
            ([], n) => self.gpus_of_rank(n)?,
            (chosen, 0) => chosen.to_vec(),
            (_, n) => {
                refuse!(argument("Trainer", format_args!("both, {n} GPUs and a list of devices"));
                    "num_gpus or devices", "Leave one of them out");
            }
        };
        refuse!(if !matches!(self.precision, DType::F32 | DType::BF16);
            argument("precision", self.precision.as_str());
            "f32 or bf16", "Write DType::BF16: small gradients would be 0 in f16");
        self.check_sync_batch_norm()?;
        attempt(|| model.to_device(&self.in_use[0]))
    }

    /// Splits a batch into parts, each on the device that works on it. [`fit`](Self::fit) does
    /// this.
    ///
    /// # Errors
    /// If a device does not have enough memory, or no model was prepared.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut trainer = Trainer::new(1).devices(&[cpu(), cpu()]);
    /// trainer.prepare_model(&mut Classifier::new(Linear::new(2, 2), 0.5))?;
    /// let batch = Batch { x: ones((4, 2)), y: zeros(4) };
    /// assert_eq!(trainer.prepare_batch(&batch)?.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn prepare_batch<B: BatchData>(&self, batch: &B) -> Result<Vec<B>> {
        split_and_load(batch, self.prepared()?)
    }

    fn prepared(&self) -> Result<&[Device]> {
        match &self.in_use[..] {
            [] => refuse!(state("prepare_batch");
                "the trainer has no device yet", "Call .prepare_model(&mut model) first"),
            devices => Ok(devices),
        }
    }

    /// Returns the metrics so far, also after an error or an interrupt.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Trainer::new(10).history().epochs.is_empty());
    /// ```
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the board with the curves of the last training, to show or save it again.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Trainer::new(10).board().svg().starts_with("<svg "));
    /// ```
    pub fn board(&self) -> &ProgressBoard {
        &self.board
    }
}

impl State {
    /// Runs a part of a training in its precision.
    pub(super) fn in_precision<T>(&self, work: impl FnOnce() -> T) -> T {
        with_precision(
            Some(self.precision).filter(|dtype| *dtype != DType::F32),
            work,
        )
    }

    pub(super) fn draw_interval(&self, interval: &Interval) {
        if self.has_board {
            interval.draw(&self.board);
        }
    }

    pub(super) fn draw_epoch(&self, epoch: &Epoch) {
        if self.has_board {
            epoch.draw_validation(&self.board);
        }
    }
}

#[doc(hidden)]
impl Deref for Trainer {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

#[doc(hidden)]
impl DerefMut for Trainer {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

impl Show for Trainer {
    fn show_text(&self) -> String {
        let epochs = self.history.epochs.len();
        let devices: Vec<String> = self.in_use.iter().map(DeviceExt::label).collect();
        let place = match &devices[..] {
            [] => String::new(),
            devices => format!(" on {}", devices.join(", ")),
        };
        format!(
            "Trainer(max_epochs={}), {epochs} epochs done{place}",
            self.max_epochs
        )
    }
}

debug_as_shown!(Trainer);
