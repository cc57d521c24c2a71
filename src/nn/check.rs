//! The checks of [`ops::check`] with a layer's description at the beginning of the message.

use crate::error::explain;
use crate::nn::Parameters;
use crate::ops::check;
use candle_core::{Error, Result, Tensor};
use std::fmt;

/// Returns the beginning of an operation's error messages: the layer's description, which is formatted
/// only if there is an error.
pub(crate) fn name(layer: &dyn Parameters) -> impl fmt::Display {
    fmt::from_fn(move |f| f.write_str(&layer.describe()))
}

/// Checks that an input is a batch of images, and returns its dimensions.
pub(crate) fn image(layer: &dyn Parameters, x: &Tensor) -> Result<(usize, usize, usize, usize)> {
    check::images(&name(layer), x)
}

/// Returns the error for an input whose shape the layer cannot take.
pub(crate) fn refused(layer: &dyn Parameters, x: &Tensor, expected: impl fmt::Display) -> Error {
    check::wrong_shape(&name(layer), x, expected)
}

/// Checks that sizes are at least 1.
pub(crate) fn positive(layer: &str, sizes: &[(&str, usize)]) -> Result<()> {
    check::positive(&layer, sizes)
}

/// Checks that an input is a batch of sequences, and returns its dimensions.
pub(crate) fn sequences(layer: &dyn Parameters, x: &Tensor) -> Result<(usize, usize, usize)> {
    check::sequences(&name(layer), x)
}

/// Checks that a setting is a probability.
pub(crate) fn probability(layer: &str, setting: &str, p: f64) -> Result<()> {
    match (0.0..=1.0).contains(&p) {
        true => Ok(()),
        false => Err(explain(
            format!("{layer}: {setting} is {p}, which is not a probability"),
            format!("Choose {setting} from 0 (drops nothing) to 1 (drops everything)"),
        )),
    }
}
