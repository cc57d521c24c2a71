//! Errors that help: one line says what is wrong, the next says what to do.

use candle_core::Error;
use std::fmt::Display;

/// What a fallible function gives: `Result<Tensor>` fails with Candle's [`Error`]. With two types it
/// is Rust's own, so nothing that is written for that one stops compiling in a notebook.
///
/// ```
/// use taper::prelude::*;
///
/// fn ones_like(x: &Tensor) -> Result<Tensor> {
///     ones(x.shape(), x.device())
/// }
///
/// fn parse(text: &str) -> Result<f64, std::num::ParseFloatError> {
///     text.parse()
/// }
///
/// assert_eq!(ones_like(&tensor(&[2.0], &cpu())?)?.to_vec1::<f32>()?, [1.0]);
/// assert_eq!(parse("1.5"), Ok(1.5));
/// # Ok::<(), Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A Candle error, so that `?` works in every cell. It never carries a backtrace: its two lines are
/// meant to be all that one needs.
pub(crate) fn explain(what: impl Display, what_to_do: impl Display) -> Error {
    Error::Msg(format!("{what}\n{what_to_do}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_prints_its_two_lines_and_nothing_else() {
        let error = explain("the cup is empty", "Fill it");
        assert_eq!(format!("{error:?}"), "the cup is empty\nFill it");
    }
}
