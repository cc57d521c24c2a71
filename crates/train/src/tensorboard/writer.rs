//! Writes event files for TensorBoard.

#[cfg(test)]
mod tests;

use super::record::{Message, write_record};
use crate::error::{Result, problem, refuse};
use crate::plot::{Number, Values, image_pixels};
use crate::tensor::Tensor;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of bins of a histogram.
const BINS: usize = 30;

/// Logs metrics, histograms and images for TensorBoard, like PyTorch's `SummaryWriter`.
///
/// As a callback, `Trainer::new(10).callback(writer)`, it logs the metrics of the history.
/// `tensorboard --logdir runs` shows the log. Events are buffered: they reach the file with
/// [`flush`](Self::flush), or when the writer is dropped.
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
/// assert!(writer.path().metadata()?.len() > 100 * 30); // bytes
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct SummaryWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl SummaryWriter {
    /// Creates an event file in this folder. Creates the folder if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the folder or the file cannot be created.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_new_{}", std::process::id()));
    /// let writer = SummaryWriter::new(&folder)?;
    /// assert!(writer.path().starts_with(&folder));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(folder: impl AsRef<Path>) -> Result<Self> {
        Self::in_folder(folder.as_ref())
    }

    fn in_folder(folder: &Path) -> Result<Self> {
        let time = now();
        let (seconds, nanoseconds) = (time as u64, (time.fract() * 1e9) as u64);
        let process = std::process::id();
        let name = format!("events.out.tfevents.{seconds}.{process}.{nanoseconds}.taper");
        let path = folder.join(name);
        let made = std::fs::create_dir_all(folder).and_then(|()| File::create_new(&path));
        let file = BufWriter::new(made.map_err(|error| unwritable(&path, &error))?);
        let mut writer = SummaryWriter { path, file };
        writer.write(&first_event(time))?;
        Ok(writer)
    }

    /// Returns the path of the event file.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_path_{}", std::process::id()));
    /// let writer = SummaryWriter::new(&folder)?;
    /// assert!(writer.path().exists());
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Logs a number, or a tensor with one element such as a loss. TensorBoard draws the values of a
    /// tag as a curve over the steps.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or a tensor has more than one element or cannot
    /// be copied from its device.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_add_scalar_{}", std::process::id()));
    /// let mut writer = SummaryWriter::new(&folder)?;
    /// writer.add_scalar("Train/Loss", 0.25, 100)?;
    /// writer.add_scalar("Train/Loss", &tensor(0.125), 200)?;
    /// assert!(writer.add_scalar("Train/Loss", &zeros(2), 300).is_err());
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn add_scalar(&mut self, tag: &str, value: impl Scalar, step: usize) -> Result<()> {
        self.write_scalar(tag, value.scalar()?, step)
    }

    fn write_scalar(&mut self, tag: &str, value: f64, step: usize) -> Result<()> {
        let value = Message::new().float(2, value as f32);
        self.write(&event(now(), step, tag, value))
    }

    /// Logs the distribution of values, such as a layer's weights.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or a tensor cannot be copied from its device.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_add_histogram_{}", std::process::id()));
    /// let mut writer = SummaryWriter::new(&folder)?;
    /// writer.add_histogram("weights", &randn((10, 10)), 0)?;
    /// writer.flush()?;
    /// assert!(writer.path().metadata()?.len() > 500);
    /// # std::fs::remove_dir_all(folder)?;
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

    /// Logs an image; see [`Images`](crate::plot::Images) for the shapes of images.
    ///
    /// # Errors
    /// Returns an error if the tensor is not an image, or the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_add_image_{}", std::process::id()));
    /// let mut writer = SummaryWriter::new(&folder)?;
    /// writer.add_image("input", &rand((3, 32, 32)), 0)?;
    /// assert!(writer.add_image("input", &rand(3), 0).is_err());
    /// # std::fs::remove_dir_all(folder)?;
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

    /// Logs the hyperparameters of a run and its metrics, for TensorBoard's *HParams* tab: one call per
    /// folder. A hyperparameter is a number, a text or a boolean: [`HParam`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_add_hparams_{}", std::process::id()));
    /// let mut writer = SummaryWriter::new(&folder)?;
    /// writer.add_hparams(&[("lr", 0.1), ("batch_size", 64.0)], &[("accuracy", 0.98)])?;
    /// writer.flush()?;
    /// assert!(writer.path().metadata()?.len() > 100);
    /// # std::fs::remove_dir_all(folder)?;
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

    /// Writes all buffered events to the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_flush_{}", std::process::id()));
    /// let mut writer = SummaryWriter::new(&folder)?;
    /// writer.add_scalar("loss", 0.5, 0)?;
    /// writer.flush()?;
    /// assert!(writer.path().metadata()?.len() > 0);
    /// # std::fs::remove_dir_all(folder)?;
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

/// Returns the event with which every event file begins.
fn first_event(time: f64) -> Message {
    Message::new().double(1, time).bytes(3, b"brain.Event:2")
}

/// Encodes TensorFlow's `Event` with a `Summary` of one value. The field numbers are those of
/// `event.proto` and `summary.proto`.
fn event(time: f64, step: usize, tag: &str, value: Message) -> Message {
    let value = value.bytes(1, tag.as_bytes());
    let summary = Message::new().message(1, &value);
    Message::new()
        .double(1, time)
        .integer(2, step as u64)
        .message(5, &summary)
}

/// A hyperparameter of a run: a number, a text or a boolean.
///
/// ```
/// use taper::prelude::*;
///
/// # let folder = std::env::temp_dir().join(format!("taper_hparam_{}", std::process::id()));
/// let mut writer = SummaryWriter::new(&folder)?;
/// let hparams: [(&str, HParam); 2] = [("lr", 0.1.into()), ("optimizer", "adam".into())];
/// writer.add_hparams(&hparams, &[("accuracy", 0.98)])?;
/// assert_eq!(hparams[1].1, HParam::Text("adam".to_owned()));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum HParam {
    /// A number, such as a learning rate.
    Number(f64),
    /// A text, such as the name of an optimiser.
    Text(String),
    /// A boolean, such as whether dropout is used.
    Bool(bool),
}

impl HParam {
    /// Encodes `Value` of `struct.proto`.
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

/// A value for [`SummaryWriter::add_scalar`]: a number of any type, or a tensor with one element.
pub trait Scalar {
    /// Returns the value as `f64`.
    ///
    /// # Errors
    /// Returns an error if a tensor has more than one element, or cannot be copied from its device.
    ///
    /// ```
    /// use taper::prelude::*;
    /// use taper::tensorboard::Scalar;
    ///
    /// assert_eq!((&tensor(0.5)).scalar()?, 0.5);
    /// # Ok::<(), Error>(())
    /// ```
    fn scalar(self) -> Result<f64>;
}

/// Implements [`Scalar`] for each type: an implementation for all [`Number`]s would exclude the one for tensors.
macro_rules! scalars {
    ($($number:ty)*) => {$(
        impl Scalar for $number {
            fn scalar(self) -> Result<f64> {
                Ok(self.to_f64())
            }
        }
    )*};
}

scalars!(f32 f64 i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl Scalar for &Tensor {
    fn scalar(self) -> Result<f64> {
        match self.values()?[..] {
            [number] => Ok(number),
            _ => refuse!(
                ("add_scalar: expected one element, found a tensor of shape {:?}", self.dims());
                "Take the mean, as in loss.mean_all(), or use add_histogram"),
        }
    }
}

/// The tag by which TensorBoard's plugin `hparams` recognises its data.
const HPARAMS_TAG: &str = "_hparams_/session_start_info";

/// Encodes the plugin's `SessionStartInfo` as metadata of an empty tensor.
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

/// Encodes TensorFlow's `HistogramProto`. Leaves out values that are not finite.
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

/// Returns the seconds since 1970.
fn now() -> f64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(0.0, |time| time.as_secs_f64())
}

fn unwritable(path: &Path, error: &std::io::Error) -> crate::error::Error {
    problem!(
        ("cannot write {}: {error}", path.display());
        "Choose a folder that you may write to, on a disk that is not full")
}
