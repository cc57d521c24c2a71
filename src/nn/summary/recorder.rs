//! Records the layers that a forward pass calls.
//!
//! This is the only ambient state of `nn`. A summary must list the layers that a model's own `forward`
//! calls, and `forward` has no argument through which to pass a recorder. So the recorder is a
//! thread-local variable, which is set during one forward pass, and each layer reports its output with
//! [`seen`].

use crate::error::{Error, OrRaise, Result, attempt};
use crate::nn::{Layer, Parameters, state, state_of};
use crate::tensor::{Raw, Tensor};
use std::cell::RefCell;

thread_local! {
    /// The rows of the forward pass that is being recorded on this thread, if one is.
    static ROWS: RefCell<Option<Vec<Row>>> = const { RefCell::new(None) };
}

/// A line of a summary.
#[derive(Clone, PartialEq)]
pub(super) struct Row {
    pub(super) layer: String,
    pub(super) output: Vec<usize>,
    pub(super) parameters: usize,
}

impl Row {
    pub(super) fn of(layer: &dyn Parameters, output: &Tensor) -> Self {
        let description = layer.describe();
        let name = description.split('(').next().unwrap_or_default();
        Self {
            layer: name.to_owned(),
            output: output.dims().to_vec(),
            parameters: state::count(&state_of(layer)),
        }
    }
}

/// Runs the model, and returns its output and a row for each layer that reported its output.
pub(super) fn record(
    model: &dyn Layer,
    input: candle_core::Result<Raw>,
) -> (Result<Tensor>, Vec<Row>) {
    /// Restores the rows of an outer recording when it is dropped, also after a panic.
    struct Restore(Option<Vec<Row>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            ROWS.set(self.0.take());
        }
    }
    let _restore = Restore(ROWS.replace(Some(Vec::new())));
    let input = input.map_err(Error::from);
    let output = input.and_then(|input| attempt(|| model.forward(&input.into())));
    (output, ROWS.take().unwrap_or_default())
}

/// Returns whether a forward pass is being recorded. Its input is made up, so layers must not update
/// their running statistics.
pub(in crate::nn) fn is_recording() -> bool {
    ROWS.with_borrow(Option::is_some)
}

/// Reports a layer's output to the summary, if one is being made, and returns it.
pub(in crate::nn) fn seen(layer: &dyn Parameters, output: Tensor) -> Tensor {
    ROWS.with_borrow_mut(|rows| {
        if let Some(rows) = rows {
            rows.push(Row::of(layer, &output));
        }
    });
    output
}

/// Returns a layer's output as [`seen`] does, or panics with the error of the operation.
#[track_caller]
pub(in crate::nn) fn output_of(layer: &dyn Parameters, output: candle_core::Result<Raw>) -> Tensor {
    seen(layer, output.or_raise().into())
}

/// Runs a layer, and reports its output unless the layer, or a part of it, has reported one.
pub(in crate::nn) fn watched(layer: &dyn Layer, input: &Tensor) -> Tensor {
    let count = || ROWS.with_borrow(|rows| rows.as_ref().map(Vec::len));
    let before = count();
    let output = layer.forward(input);
    match before.is_some() && before == count() {
        true => seen(layer, output),
        false => output,
    }
}
