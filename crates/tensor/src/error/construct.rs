//! Constructors of the errors.

use super::{Error, Problem};
use candle_core::DType;
use std::fmt::Display;
use std::path::Path;

/// Makes the constructors: a row has the variant with its fields. A field is any text, or has a type and the method that
/// makes the field of it. The advice is the last argument of all.
macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $variant:ident($($field:ident $(: $type:ty = $value:ident)?),*);)*) => {$(
        $(#[$doc])*
        #[doc(hidden)]
        pub fn $name($($field: constructors!(@type $($type)?),)* advice: impl Display) -> Error {
            $(let $field = constructors!(@value $field $($value)?);)*
            Problem::$variant { $($field),* }.with_advice(advice)
        }
    )*};
    (@type) => { impl Display };
    (@type $type:ty) => { $type };
    (@value $field:ident) => { $field.to_string() };
    (@value $field:ident $value:ident) => { $field.$value() };
}

constructors! {
    /// Returns the error `operation: expected …, found …`, for an argument or a setting that is out of its range.
    argument => Argument(operation, expected, found);
    /// Returns the error `operation: expected …, found shape [2, 3]`.
    shape => Shape(operation, expected, found: &[usize] = to_vec);
    /// Returns the error `operation: expected …, found i64`.
    dtype => DType(operation, expected, found: DType = into);
    /// Returns the error `operation: example 7 is out of range: there are 4, counted from 0`.
    index => Index(operation, kind, index: i64 = into, len: usize = into);
    /// Returns the error `operation: problem`, for a method that was called too early.
    state => State(operation, problem);
    /// Returns the error `cannot read the image leaf.png: reason`.
    file => File(action, path: &Path = into, reason);
    /// Returns the error `source: expected …, found …`, for a text or a file's content in another form.
    parse => Parse(source, expected, found);
    /// Returns the error of a GPU that cannot be used.
    gpu => Gpu(problem);
    /// Returns an error with these two lines, for a problem that has no variant of its own.
    explain => Other(problem);
}

/// Returns the error of an index above the last; `empty` is the advice if there is none.
#[doc(hidden)]
pub fn outside(operation: &str, kind: &str, found: usize, len: usize, empty: &str) -> Error {
    let advice = match len {
        0 => empty.to_owned(),
        _ => format!("Use indices from 0 to {}", len - 1),
    };
    index(operation, kind, found as i64, len, advice)
}

/// Returns the error `there is no metric named "…"`, with the names that exist as advice.
#[doc(hidden)]
pub fn name<N: AsRef<str>>(kind: &str, name: &str, known: impl IntoIterator<Item = N>) -> Error {
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

/// Returns the error of a long computation that the user asked to stop.
#[doc(hidden)]
pub fn interrupted() -> Error {
    Problem::Interrupted.with_advice(
        "Run the cell again to start over; the variables of earlier cells are still there",
    )
}
