//! The checks of `ops::check` with a layer's description at the beginning of the message. They panic at the
//! place that called the layer.

use crate::error::{Error, OrRaise, raise};
use crate::nn::Parameters;
use crate::ops::check;
use crate::tensor::Tensor;
use std::fmt;

/// Returns the beginning of an operation's error messages: the layer's description, which is formatted
/// only if there is an error.
pub fn name(layer: &dyn Parameters) -> impl fmt::Display {
    fmt::from_fn(move |f| f.write_str(&layer.describe()))
}

/// Checks that an input is a batch of images, and returns its dimensions.
#[track_caller]
pub fn image(layer: &dyn Parameters, x: &Tensor) -> (usize, usize, usize, usize) {
    check::images(&name(layer), x.raw()).or_raise()
}

/// Returns the error for an input whose shape the layer cannot take.
pub fn refused(layer: &dyn Parameters, x: &Tensor, expected: impl fmt::Display) -> Error {
    check::wrong_shape(&name(layer), x.raw(), expected).into()
}

/// Checks that sizes are at least 1.
#[track_caller]
pub fn positive(layer: &str, sizes: &[(&str, usize)]) {
    check::positive(&layer, sizes).or_raise();
}

/// Checks that an input is a batch of sequences, and returns its dimensions.
#[track_caller]
pub(crate) fn sequences(layer: &dyn Parameters, x: &Tensor) -> (usize, usize, usize) {
    check::sequences(&name(layer), x.raw()).or_raise()
}

/// Returns the first two dimensions of sequences, as messages name them.
pub(crate) fn order(batch_first: bool) -> &'static str {
    match batch_first {
        true => "batch, steps",
        false => "steps, batch",
    }
}

/// Checks that a setting is a probability.
#[track_caller]
pub fn probability(layer: &str, setting: &str, p: f64) {
    raise!(if !(0.0..=1.0).contains(&p);
        "{layer}: {setting} is {p}, which is not a probability";
        "Choose {setting} from 0 (drops nothing) to 1 (drops everything)");
}

#[track_caller]
pub fn above_zero(layer: &str, setting: &str, value: f64) {
    if !(value > 0.0 && value.is_finite()) {
        let (expected, advice) = (
            format!("{setting} above 0"),
            "A small value is common, such as 1e-5",
        );
        raise!(argument(layer, value); expected, advice)
    }
}
