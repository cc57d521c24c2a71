//! Event files that TensorBoard reads.

#[cfg(test)]
mod tests;

use super::record::{Message, write_record};
use crate::error::{Result, explain};
use crate::plot::{Number, Values, image_pixels};
use candle_core::Tensor;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bins of a histogram in an event file.
const BINS: usize = 30;

/// Writes what training measures to a folder for TensorBoard, as PyTorch's `SummaryWriter` does.
/// As a callback, `Trainer::new(10).callback(writer)`, it writes what the history gets.
///
/// `tensorboard --logdir runs` then shows it. What is written reaches the file with
/// [`flush`](Self::flush) and when the writer is dropped.
///
/// ```
/// use taper::prelude::*;
///
/// # let folder = std::env::temp_dir().join(format!("taper_runs_{}", std::process::id()));
/// let mut writer = SummaryWriter::new(&folder)?;
/// for step in 0..100 {
///     writer.add_scalar("Train/Loss", 1.0 / (step + 1) as f64, step)?;
/// }
/// writer.flush()?;
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct SummaryWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl SummaryWriter {
    /// Begins a new event file in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let writer = SummaryWriter::new("runs/lenet")?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(folder: impl AsRef<Path>) -> Result<Self> {
        let time = now();
        let (seconds, nanoseconds) = (time as u64, (time.fract() * 1e9) as u64);
        let process = std::process::id();
        let name = format!("events.out.tfevents.{seconds}.{process}.{nanoseconds}.taper");
        let path = folder.as_ref().join(name);
        let made = std::fs::create_dir_all(&folder).and_then(|()| File::create_new(&path));
        let file = BufWriter::new(made.map_err(|error| unwritable(&path, &error))?);
        let mut writer = SummaryWriter { path, file };
        writer.write(&first_event(time))?;
        Ok(writer)
    }

    /// The file that is written.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// println!("{}", SummaryWriter::new("runs/lenet")?.path().display());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a number, or a tensor of one such as a loss; those of one tag become a line over the
    /// steps.
    ///
    /// # Errors
    /// If the file cannot be written, or a tensor has more than one number or cannot be fetched.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let mut writer = SummaryWriter::new("runs/lenet")?;
    /// writer.add_scalar("Train/Loss", 0.25, 100)?;
    /// writer.add_scalar("Train/Loss", &tensor(0.125, &cpu())?, 200)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_scalar(&mut self, tag: &str, value: impl Scalar, step: usize) -> Result<()> {
        self.write_scalar(tag, value.scalar()?, step)
    }

    fn write_scalar(&mut self, tag: &str, value: f64, step: usize) -> Result<()> {
        let value = Message::new().float(2, value as f32);
        self.write(&event(now(), step, tag, value))
    }

    /// Writes how values are spread, such as a layer's weights.
    ///
    /// # Errors
    /// If the file cannot be written, or a tensor cannot be fetched.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let mut writer = SummaryWriter::new("runs/lenet")?;
    /// writer.add_histogram("weights", &randn((10, 10), &cpu())?, 0)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_histogram(&mut self, tag: &str, values: &dyn Values, step: usize) -> Result<()> {
        let histogram = histogram(&values.values()?);
        self.write(&event(
            now(),
            step,
            tag,
            Message::new().message(5, &histogram),
        ))
    }

    /// Writes an image; see [`Images`](crate::plot::Images) for what counts as one.
    ///
    /// # Errors
    /// If the tensor is no image, or the file cannot be written.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let mut writer = SummaryWriter::new("runs/lenet")?;
    /// writer.add_image("input", &rand((3, 32, 32), &cpu())?, 0)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_image(&mut self, tag: &str, image: &Tensor, step: usize) -> Result<()> {
        let pixels = image_pixels(image)?;
        let image = Message::new()
            .integer(1, pixels.height as u64)
            .integer(2, pixels.width as u64)
            .integer(3, 3)
            .bytes(4, &pixels.encode_png());
        self.write(&event(now(), step, tag, Message::new().message(4, &image)))
    }

    /// Writes the settings of a run and what it reached, for TensorBoard's page *HParams*: one call
    /// per folder. Settings are numbers, texts or truth values: [`HParam`].
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let mut writer = SummaryWriter::new("runs/lenet-1")?;
    /// writer.add_hparams(&[("lr", 0.1), ("batch_size", 64.0)], &[("accuracy", 0.98)])?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_hparams<H: Clone + Into<HParam>>(
        &mut self,
        hparams: &[(&str, H)],
        metrics: &[(&str, f64)],
    ) -> Result<()> {
        let hparams = hparams.iter().cloned();
        let hparams: Vec<_> = hparams.map(|(name, value)| (name, value.into())).collect();
        self.write(&event(now(), 0, HPARAMS_TAG, session_start(&hparams)))?;
        metrics
            .iter()
            .try_for_each(|(tag, value)| self.write_scalar(tag, *value, 0))
    }

    /// Hands everything written so far to the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// SummaryWriter::new("runs/lenet")?.flush()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn flush(&mut self) -> Result<()> {
        self.file
            .flush()
            .map_err(|error| unwritable(&self.path, &error))
    }

    fn write(&mut self, event: &Message) -> Result<()> {
        write_record(&mut self.file, event.as_bytes())
            .map_err(|error| unwritable(&self.path, &error))
    }
}

/// What every event file begins with.
fn first_event(time: f64) -> Message {
    Message::new().double(1, time).bytes(3, b"brain.Event:2")
}

/// TensorFlow's `Event` with a `Summary` of one value; the field numbers are those of its
/// `event.proto` and `summary.proto`.
fn event(time: f64, step: usize, tag: &str, value: Message) -> Message {
    let value = value.bytes(1, tag.as_bytes());
    let summary = Message::new().message(1, &value);
    Message::new()
        .double(1, time)
        .integer(2, step as u64)
        .message(5, &summary)
}

/// The tag by which TensorBoard's plugin `hparams` knows its data.
/// A setting of a run: a number, a text or a truth value.
///
/// ```no_run
/// use taper::prelude::*;
///
/// let mut writer = SummaryWriter::new("runs/lenet-2")?;
/// let hparams: [(&str, HParam); 2] = [("lr", 0.1.into()), ("optimizer", "adam".into())];
/// writer.add_hparams(&hparams, &[("accuracy", 0.98)])?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum HParam {
    /// A learning rate, say.
    Number(f64),
    /// A name.
    Text(String),
    /// Whether something is on.
    Bool(bool),
}

impl HParam {
    /// `Value` of `struct.proto`.
    fn message(&self) -> Message {
        match self {
            HParam::Number(number) => Message::new().double(2, *number),
            HParam::Text(text) => Message::new().bytes(3, text.as_bytes()),
            HParam::Bool(is) => Message::new().integer(4, u64::from(*is)),
        }
    }
}

impl From<f64> for HParam {
    fn from(number: f64) -> Self {
        HParam::Number(number)
    }
}

impl From<&str> for HParam {
    fn from(text: &str) -> Self {
        HParam::Text(text.to_owned())
    }
}

impl From<bool> for HParam {
    fn from(is: bool) -> Self {
        HParam::Bool(is)
    }
}

/// What [`SummaryWriter::add_scalar`] takes: a number of any type, or a tensor of one.
pub trait Scalar {
    /// The number.
    ///
    /// # Errors
    /// If a tensor has more than one number, or cannot be fetched from its device.
    ///
    /// ```
    /// use taper::prelude::*;
    /// use taper::Scalar;
    ///
    /// assert_eq!((&tensor(0.5, &cpu())?).scalar()?, 0.5);
    /// # Ok::<(), Error>(())
    /// ```
    fn scalar(self) -> Result<f64>;
}

impl<N: Number> Scalar for N {
    fn scalar(self) -> Result<f64> {
        Ok(self.to_f64())
    }
}

impl Scalar for &Tensor {
    fn scalar(self) -> Result<f64> {
        match self.values()?[..] {
            [number] => Ok(number),
            _ => Err(explain(
                format!("add_scalar takes one number, not {:?}", self.dims()),
                "Take the mean, loss.mean_all()?, or write add_histogram",
            )),
        }
    }
}

const HPARAMS_TAG: &str = "_hparams_/session_start_info";

/// The plugin's `SessionStartInfo`, as metadata of an empty tensor.
fn session_start(hparams: &[(&str, HParam)]) -> Message {
    let entries = hparams.iter().fold(Message::new(), |info, (name, value)| {
        let value = value.message();
        info.message(
            1,
            &Message::new().bytes(1, name.as_bytes()).message(2, &value),
        )
    });
    let content = Message::new().message(3, &entries.double(5, now()));
    let plugin = Message::new().bytes(1, b"hparams").message(2, &content);
    let no_elements = Message::new().message(2, &Message::new());
    let tensor = Message::new().integer(1, 1).message(2, &no_elements);
    Message::new()
        .message(9, &Message::new().message(1, &plugin))
        .message(8, &tensor)
}

/// TensorFlow's `HistogramProto`; what is not finite is left out.
fn histogram(values: &[f64]) -> Message {
    let finite: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    let low = finite.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let high = finite.iter().copied().reduce(f64::max).unwrap_or(0.0);
    let width = if high > low {
        (high - low) / BINS as f64
    } else {
        1.0
    };
    let mut counts = vec![0.0; BINS];
    for value in &finite {
        counts[(((value - low) / width) as usize).min(BINS - 1)] += 1.0;
    }
    let limits: Vec<f64> = (1..=BINS).map(|i| low + width * i as f64).collect();
    Message::new()
        .double(1, low)
        .double(2, high)
        .double(3, finite.len() as f64)
        .double(4, finite.iter().sum())
        .double(5, finite.iter().map(|value| value * value).sum())
        .doubles(6, &limits)
        .doubles(7, &counts)
}

/// Seconds since 1970.
fn now() -> f64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(0.0, |time| time.as_secs_f64())
}

fn unwritable(path: &Path, error: &std::io::Error) -> candle_core::Error {
    explain(
        format_args!("cannot write {}: {error}", path.display()),
        "Choose a folder that you may write to, on a disk that is not full",
    )
}
