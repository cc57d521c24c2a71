//! What a measured closure returns.

use crate::error::{Error, Result};
use crate::tensor::{GradStore, Tensor};

/// What the closure of a [`benchmark`](super::benchmark) returns: tensors, gradients, scalars, lists of them,
/// nothing, or a `Result`, whose error ends the measurement.
#[diagnostic::on_unimplemented(
    message = "a benchmark's closure cannot return `{Self}`",
    note = "end its last line with `;`, so that it returns nothing"
)]
pub trait Outcome {
    /// Returns the error, if the work failed.
    #[doc(hidden)]
    fn failure(self) -> Option<Error>;
}

impl<T> Outcome for Result<T> {
    fn failure(self) -> Option<Error> {
        self.err()
    }
}

macro_rules! never_fails {
    ($($type:ty)*) => {$(
        impl Outcome for $type {
            fn failure(self) -> Option<Error> {
                None
            }
        }
    )*};
}
never_fails!(() Tensor GradStore bool f32 f64 i32 i64 u32 usize String);

impl<T> Outcome for Vec<T> {
    fn failure(self) -> Option<Error> {
        None
    }
}

impl<T> Outcome for Option<T> {
    fn failure(self) -> Option<Error> {
        None
    }
}

impl<A: Outcome, B: Outcome> Outcome for (A, B) {
    fn failure(self) -> Option<Error> {
        self.0.failure().or(self.1.failure())
    }
}
