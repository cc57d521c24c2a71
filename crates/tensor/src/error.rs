//! Errors with two lines: what was expected and found, then what to do.
//!
//! What depends on files, data, devices or other processes returns an [`Error`], to which `?` converts Candle's
//! errors. Taper's own errors are [`TaperError`]s inside an [`Error`]; [`of`] returns the one that an error contains.
//!
//! Operations on tensors and layers panic with such an error; [`attempt`] returns it.

use candle_core::DType;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

mod advice;
mod candle;
mod construct;
mod macros;
mod note;
mod opaque;
mod raise;
mod text;

#[doc(hidden)]
pub use advice::{AnyError, described, of_any};
#[doc(hidden)]
pub use construct::{
    argument, dtype, explain, file, gpu, index, interrupted, name, outside, parse, shape, state,
};
#[doc(hidden)]
pub use macros::{problem, raise, refuse};
pub(crate) use note::Note;
pub use opaque::Error;
pub use raise::attempt;
#[doc(hidden)]
pub use raise::{OrRaise, composed, draw_with, is_attempted, is_error, panic_text, raise};

/// The result of a fallible function: `Result<Batch>` fails with an [`Error`]. With two types
/// it is Rust's own `Result`, so code that is written for that one compiles in a notebook too.
///
/// ```
/// use taper::prelude::*;
///
/// fn first_digit() -> Result<Batch> {
///     Digits::new().train()?.get(&[0])
/// }
///
/// fn parse(text: &str) -> Result<f64, std::num::ParseFloatError> {
///     text.parse()
/// }
///
/// assert_eq!(first_digit()?.x.dims(), [1, 1, 8, 8]);
/// assert_eq!(parse("1.5"), Ok(1.5));
/// # Ok::<(), Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of Taper: what is wrong, and what to do about it.
///
/// It is displayed in two lines, one for each.
///
/// ```
/// use taper::error::{self, Problem};
/// use taper::prelude::*;
///
/// let data = TensorDataset::new(zeros((4, 2)), zeros(4))?;
/// let error = data.get(&[7]).unwrap_err();
/// match error::of(&error).map(|error| &error.problem) {
///     Some(Problem::Index { index, len, .. }) => assert_eq!((*index, *len), (7, 4)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TaperError {
    /// What is wrong.
    pub problem: Problem,
    /// What to do.
    pub advice: String,
}

/// What is wrong, with what was expected and what was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// An argument or a setting is out of its range, or does not fit another one.
    Argument {
        /// The function, type or layer that was called.
        operation: String,
        /// The values that are accepted.
        expected: String,
        /// The value that was passed.
        found: String,
    },
    /// A tensor has the wrong shape.
    Shape {
        /// The function, type or layer that was called.
        operation: String,
        /// The shapes that are accepted.
        expected: String,
        /// The shape of the tensor.
        found: Vec<usize>,
    },
    /// A tensor has the wrong element type.
    DType {
        /// The function, type or layer that was called.
        operation: String,
        /// The element types that are accepted.
        expected: String,
        /// The element type of the tensor.
        found: DType,
    },
    /// A tensor is on the wrong device.
    Device {
        /// The function, type or layer that was called.
        operation: String,
        /// The device on which the tensor is expected.
        expected: String,
        /// The label of the tensor's device, as in `cuda:0`.
        found: String,
    },
    /// An index is out of range.
    Index {
        /// The function, type or layer that was called.
        operation: String,
        /// What is counted, such as `example` or `class`.
        kind: String,
        /// The index that was passed.
        index: i64,
        /// How many there are, counted from 0.
        len: usize,
    },
    /// There is nothing of this name.
    Name {
        /// What is named, such as `metric` or `parameter`.
        kind: String,
        /// The name that was passed.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A method was called too early, or in a state that does not allow it.
    State {
        /// The function, type or layer that was called.
        operation: String,
        /// What is missing.
        problem: String,
    },
    /// A file or a folder is missing, or cannot be read or written.
    File {
        /// What was tried, such as `read the image`.
        action: String,
        /// The file or the folder.
        path: PathBuf,
        /// Why that failed.
        reason: String,
    },
    /// A text or the content of a file has another form than expected.
    Parse {
        /// What was read.
        source: String,
        /// The form that is accepted.
        expected: String,
        /// What was found instead.
        found: String,
    },
    /// The loss is infinite or not a number.
    Loss {
        /// The loss.
        loss: f64,
        /// The epoch, counted from 1.
        epoch: usize,
        /// The step, counted from 1 through all epochs.
        step: usize,
        /// The batch, counted from 1 in its epoch.
        batch: usize,
        /// What else is not finite: a part of the batch, a parameter, or the output of a layer; empty if that is not
        /// known.
        cause: String,
    },
    /// The loss is finite, but a gradient has infinite elements or NaN.
    Gradient {
        /// The name of the parameter.
        parameter: String,
        /// The epoch, counted from 1.
        epoch: usize,
        /// The step, counted from 1 through all epochs.
        step: usize,
        /// The batch, counted from 1 in its epoch.
        batch: usize,
    },
    /// One of the processes that train together differs from rank 0.
    Rank {
        /// The rank of the process, counted from 0.
        rank: usize,
        /// How it differs from rank 0.
        problem: String,
    },
    /// There is no GPU that can be used, or its driver or a library failed.
    Gpu {
        /// What is wrong.
        problem: String,
    },
    /// The memory of a GPU is full.
    OutOfMemory {
        /// How many bytes were requested, where that is known.
        requested: Option<usize>,
        /// How many bytes of the GPU are free, and how many it has, where that is known.
        available: Option<(usize, usize)>,
    },
    /// The user asked to stop.
    Interrupted,
    /// Anything else.
    Other {
        /// What is wrong.
        problem: String,
    },
}

/// Returns the error of Taper inside another error; `None` if the error is not Taper's.
///
/// ```
/// use taper::error::{self, Problem};
/// use taper::prelude::*;
///
/// let error = device("abacus").unwrap_err();
/// let error = error::of(&error).expect("one of Taper's");
/// assert!(matches!(&error.problem, Problem::Name { name, .. } if name == "abacus"));
/// assert!(error.advice.starts_with("Write \"cpu\""));
///
/// let error = Error::msg("torn");
/// assert_eq!(error::of(&error), None); // none of Taper's
/// ```
pub fn of(error: &Error) -> Option<&TaperError> {
    in_candles(error.as_candle())
}

/// Returns the error of Taper inside one of Candle's.
pub(crate) fn in_candles(error: &candle_core::Error) -> Option<&TaperError> {
    use candle_core::Error;
    match error {
        Error::Io(error) => error.get_ref()?.downcast_ref(),
        Error::Context { inner, .. }
        | Error::WithPath { inner, .. }
        | Error::WithBacktrace { inner, .. } => in_candles(inner),
        _ => None,
    }
}

impl From<TaperError> for Error {
    #[inline(never)]
    fn from(error: TaperError) -> Error {
        Error::from(candle_core::Error::from(error))
    }
}

/// Wraps Taper's error in Candle's `Error::Io`, the only variant that returns the wrapped error
/// unchanged. It has no backtrace: the two lines are enough.
impl From<TaperError> for candle_core::Error {
    fn from(error: TaperError) -> Self {
        Self::Io(io::Error::new(error.problem.kind(), error))
    }
}

impl Problem {
    /// Returns the error that has this problem.
    #[doc(hidden)]
    pub fn with_advice(self, advice: impl Display) -> Error {
        let advice = advice.to_string();
        Error::from(TaperError {
            problem: self,
            advice,
        })
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Argument { .. }
            | Self::Shape { .. }
            | Self::DType { .. }
            | Self::Device { .. }
            | Self::Index { .. } => ErrorKind::InvalidInput,
            Self::Name { .. } => ErrorKind::NotFound,
            Self::Parse { .. } => ErrorKind::InvalidData,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::Interrupted => ErrorKind::Interrupted,
            _ => ErrorKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_displayed_as_its_two_lines() {
        let error = argument("Cup::fill", "a volume above 0", 0, "Pour some water");
        let text = "Cup::fill: expected a volume above 0, found 0\nPour some water";
        assert_eq!(error.to_string(), text);
        assert_eq!(format!("{error:?}"), text);
    }

    #[test]
    fn the_typed_error_is_found_inside_the_context_that_candle_adds() {
        let is_interrupt =
            |error: &Error| of(error).is_some_and(|e| e.problem == Problem::Interrupted);
        let error = interrupted();
        assert!(is_interrupt(&error));
        let error = candle_core::Error::from(error);
        let error = error.with_path("cup.png").context("reading the cup");
        assert!(is_interrupt(&error.into()));
        assert_eq!(of(&Error::from(io::Error::other("torn"))), None);
        assert_eq!(of(&Error::msg("interrupted")), None);
    }
}
