//! The type [`Error`].

use super::candle::of_error;
use candle_core::Error as Inner;
use std::fmt::{self, Debug, Display, Formatter};
use std::io;
use std::mem::ManuallyDrop;
use std::num::{ParseFloatError, ParseIntError, TryFromIntError};
use std::string::FromUtf8Error;

/// Why a fallible function failed: an error of Taper, of Candle or of Rust's standard library.
///
/// `?` makes one of the errors of these. [`of`](super::of) returns Taper's.
///
/// ```
/// use taper::prelude::*;
///
/// fn number(text: &str) -> Result<i32> {
///     Ok(text.trim().parse()?)
/// }
///
/// assert_eq!(number(" 7 ")?, 7);
/// assert!(number("seven").is_err());
/// # Ok::<(), Error>(())
/// ```
// A cell that calls a fallible function would compile how each of Candle's errors is dropped. This type is
// dropped by one function, which is compiled in this crate.
pub struct Error(ManuallyDrop<Box<Inner>>);

impl Error {
    /// Creates an error with this message.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Error::msg("the cup is empty").to_string(), "the cup is empty");
    /// ```
    pub fn msg(message: impl Display) -> Self {
        Self::of_text(&message)
    }

    #[inline(never)]
    fn of_text(message: &dyn Display) -> Self {
        Self::from(Inner::Msg(message.to_string()))
    }

    /// Borrows the Candle error behind this one. One of Taper's is in its variant `Io`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = Error::msg("torn");
    /// assert!(matches!(error.as_candle(), taper::candle_core::Error::Msg(text) if text == "torn"));
    /// ```
    pub fn as_candle(&self) -> &Inner {
        &self.0
    }
}

impl Drop for Error {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: the field is not used after this.
        unsafe { ManuallyDrop::drop(&mut self.0) }
    }
}

impl Debug for Error {
    #[inline(never)]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Writes the message as an error that ends a cell shows it, with what to do in the last line.
impl Display for Error {
    #[inline(never)]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&of_error(self.as_candle()))
    }
}

impl std::error::Error for Error {
    #[inline(never)]
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.as_candle().source()
    }
}

impl From<Error> for Inner {
    #[inline(never)]
    fn from(error: Error) -> Inner {
        let mut error = ManuallyDrop::new(error);
        // SAFETY: neither `error` nor its field is used or dropped after this.
        *unsafe { ManuallyDrop::take(&mut error.0) }
    }
}

impl From<Inner> for Error {
    #[inline(never)]
    fn from(error: Inner) -> Error {
        Error(ManuallyDrop::new(Box::new(error)))
    }
}

macro_rules! from {
    ($($error:ty)*) => {$(
        impl From<$error> for Error {
            #[inline(never)]
            fn from(error: $error) -> Error {
                Error::from(Inner::from(error))
            }
        }
    )*};
}
from!(io::Error ParseIntError TryFromIntError FromUtf8Error);

impl From<ParseFloatError> for Error {
    #[inline(never)]
    fn from(error: ParseFloatError) -> Error {
        Error::from(Inner::wrap(error))
    }
}
