//! Constructors of the errors.

use super::{Error, Problem};
use candle_core::DType;
use std::fmt::Display;
use std::path::Path;

/// Returns the error `operation: expected …, found …`, for an argument or a setting that is out of its range.
pub(crate) fn argument(
    operation: impl Display,
    expected: impl Display,
    found: impl Display,
    advice: impl Display,
) -> Error {
    Problem::Argument {
        operation: operation.to_string(),
        expected: expected.to_string(),
        found: found.to_string(),
    }
    .with_advice(advice)
}

/// Returns the error `operation: expected …, found shape [2, 3]`.
pub(crate) fn shape(
    operation: impl Display,
    expected: impl Display,
    found: &[usize],
    advice: impl Display,
) -> Error {
    Problem::Shape {
        operation: operation.to_string(),
        expected: expected.to_string(),
        found: found.to_vec(),
    }
    .with_advice(advice)
}

/// Returns the error `operation: expected …, found i64`.
pub(crate) fn dtype(
    operation: impl Display,
    expected: impl Display,
    found: DType,
    advice: impl Display,
) -> Error {
    Problem::DType {
        operation: operation.to_string(),
        expected: expected.to_string(),
        found,
    }
    .with_advice(advice)
}

/// Returns the error `operation: example 7 is out of range: there are 4, counted from 0`.
pub(crate) fn index(
    operation: impl Display,
    kind: &str,
    index: i64,
    len: usize,
    advice: impl Display,
) -> Error {
    Problem::Index {
        operation: operation.to_string(),
        kind: kind.to_owned(),
        index,
        len,
    }
    .with_advice(advice)
}

/// Returns the error `there is no metric named "…"`, with the names that exist as advice.
pub(crate) fn name<N: AsRef<str>>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = N>,
) -> Error {
    let known = known.into_iter().map(|name| name.as_ref().to_owned());
    let known: Vec<String> = known.collect();
    let advice = match known[..] {
        [] => format!("There is no {kind} at all"),
        _ => format!("Choose one of: {}", known.join(", ")),
    };
    Problem::Name {
        kind: kind.to_owned(),
        name: name.to_owned(),
        known,
    }
    .with_advice(advice)
}

/// Returns the error `operation: problem`, for a method that was called too early.
pub(crate) fn state(operation: impl Display, problem: impl Display, advice: impl Display) -> Error {
    Problem::State {
        operation: operation.to_string(),
        problem: problem.to_string(),
    }
    .with_advice(advice)
}

/// Returns the error `cannot read the image leaf.png: reason`.
pub(crate) fn file(action: &str, path: &Path, reason: impl Display, advice: impl Display) -> Error {
    Problem::File {
        action: action.to_owned(),
        path: path.to_owned(),
        reason: reason.to_string(),
    }
    .with_advice(advice)
}

/// Returns the error `source: expected …, found …`, for a text or a file's content in another form.
pub(crate) fn parse(
    source: impl Display,
    expected: impl Display,
    found: impl Display,
    advice: impl Display,
) -> Error {
    Problem::Parse {
        source: source.to_string(),
        expected: expected.to_string(),
        found: found.to_string(),
    }
    .with_advice(advice)
}

/// Returns the error of a long computation that the user asked to stop.
pub(crate) fn interrupted() -> Error {
    Problem::Interrupted.with_advice(
        "Run the cell again to start over; the variables of earlier cells are still there",
    )
}

/// Returns the error of a GPU that cannot be used.
pub(crate) fn gpu(problem: impl Display, advice: impl Display) -> Error {
    Problem::Gpu {
        problem: problem.to_string(),
    }
    .with_advice(advice)
}

/// Returns an error with these two lines, for a problem that has no variant of its own.
pub(crate) fn explain(problem: impl Display, advice: impl Display) -> Error {
    Problem::Other {
        problem: problem.to_string(),
    }
    .with_advice(advice)
}
