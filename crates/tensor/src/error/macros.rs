//! Macros that state a condition, and the two lines of the error if it holds.
//!
//! The second part is the kind of the error with what it is about, in the order of the message: the operation that was
//! called, and what was found. It is the name of a function of [`error`](super), or is left out for an error of no
//! kind. The third part has the two lines: what was expected, and what to do. Each is a format string, a format string
//! with its arguments in parentheses, or a variable.
//!
//! ```ignore
//! refuse!(if k > size; argument("topk", k); "at most {size} elements", "Choose a smaller k");
//! raise!(shape("solve", b.dims()); ("{n} rows for a matrix of shape {:?}", a.dims()), "Pass as many rows");
//! problem!("the matrix is singular"; "Add a small number to the diagonal")
//! ```

/// Creates the error.
#[doc(hidden)]
#[macro_export]
macro_rules! problem {
    (@text $text:literal) => { format_args!($text) };
    (@text ($($text:tt)*)) => { format_args!($($text)*) };
    (@text $text:ident) => { $text };
    ($kind:ident $(($operation:expr $(, $found:expr)?))?; $expected:tt, $advice:tt) => {
        $crate::error::$kind(
            $($operation,)?
            $crate::error::problem!(@text $expected),
            $($($found,)?)?
            $crate::error::problem!(@text $advice),
        )
    };
    ($kind:ident($($about:expr),*); $advice:tt) => {
        $crate::error::$kind($($about,)* $crate::error::problem!(@text $advice))
    };
    ($problem:tt; $advice:tt) => {
        $crate::error::explain(
            $crate::error::problem!(@text $problem),
            $crate::error::problem!(@text $advice),
        )
    };
}

/// Returns the error from the function, as Taper's or Candle's, if a condition holds, or in any case.
#[doc(hidden)]
#[macro_export]
macro_rules! refuse {
    (if $wrong:expr; $($problem:tt)*) => {
        if $wrong {
            $crate::error::refuse!($($problem)*)
        }
    };
    ($($problem:tt)*) => {
        return Err(From::from($crate::error::problem!($($problem)*)))
    };
}

/// Panics with the error if a condition holds, or in any case.
#[doc(hidden)]
#[macro_export]
macro_rules! raise {
    (if $wrong:expr; $($problem:tt)*) => {
        if $wrong {
            $crate::error::raise!($($problem)*)
        }
    };
    ($($problem:tt)*) => {
        $crate::error::raise($crate::error::problem!($($problem)*))
    };
}

pub use crate::{problem, raise, refuse};
