//! Records the layers that a forward pass calls.
//!
//! This is the only ambient state of `nn`. A summary must list the layers that a model's own `forward`
//! calls, and `forward` has no argument through which to pass a recorder. So the recorder is a
//! thread-local variable, which is set during one forward pass, and each layer reports its output with
//! [`seen`].

use super::row::Row;
use super::{clock, finite};
use crate::error::{OrRaise, Result, attempt};
use crate::nn::{Layer, Parameters, state_of};
use crate::plot::Chain;
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Device, Shape};
use std::cell::RefCell;

thread_local! {
    /// The rows of the forward pass that is being recorded on this thread, if one is.
    static ROWS: RefCell<Option<Vec<Row>>> = const { RefCell::new(None) };
    /// The chain of layers in which the forward pass has failed.
    static REST: RefCell<Option<Chain>> = const { RefCell::new(None) };
}

/// What a forward pass on made-up values has shown.
pub(in crate::nn) struct Recording {
    /// The made-up values.
    pub(super) input: Option<Tensor>,
    pub(in crate::nn) output: Result<Tensor>,
    pub(in crate::nn) rows: Vec<Row>,
    /// The chain in which a layer has refused its input, if the layer is part of one.
    pub(in crate::nn) rest: Option<Chain>,
}

/// Runs the model on zeros of this shape, of the type and on the device of its parameters.
pub(in crate::nn) fn trial(model: &dyn Layer, input: &Shape) -> Recording {
    let state = state_of(model);
    let trained = state.iter().filter(|entry| entry.trained);
    let first = { trained }.find_map(|entry| entry.parameter.try_var().ok());
    let (device, dtype) = match &first {
        Some(values) => (values.device(), values.dtype()),
        None => (&Device::Cpu, DType::F32),
    };
    let run = |dtype| {
        let zeros = Raw::zeros(input, dtype, device).map(Tensor::from);
        let input = zeros.as_ref().ok().cloned();
        let recording = record(|| model.forward(&zeros.or_raise()));
        Recording { input, ..recording }
    };
    let recording = run(dtype);
    if recording.output.is_err() && recording.rows.is_empty() {
        // The first layer may take integers, as an embedding does.
        let second = run(DType::U32);
        if second.output.is_ok() || !second.rows.is_empty() {
            return second;
        }
    }
    recording
}

/// Runs a model, and returns its output and a row for each layer that reported its output.
pub(super) fn record(run: impl FnOnce() -> Tensor) -> Recording {
    /// Restores the rows of an outer recording when it is dropped, also after a panic.
    struct Restore(Option<Vec<Row>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            ROWS.set(self.0.take());
        }
    }
    let _restore = Restore(ROWS.replace(Some(Vec::new())));
    REST.take();
    let output = attempt(run);
    Recording {
        input: None,
        output,
        rows: ROWS.take().unwrap_or_default(),
        rest: REST.take(),
    }
}

/// Returns whether a forward pass is being recorded that fails, and whose chain is not kept yet.
pub(in crate::nn) fn wants_rest() -> bool {
    is_recording() && REST.with_borrow(Option::is_none)
}

/// Keeps the chain in which the forward pass that is being recorded fails.
pub(in crate::nn) fn keep_rest(chain: Option<Chain>) {
    REST.set(chain);
}

/// Returns whether a forward pass is being recorded. Its input is made up, so layers must not update
/// their running statistics.
pub(in crate::nn) fn is_recording() -> bool {
    ROWS.with_borrow(Option::is_some)
}

/// Reports a layer's output to the summary or the measurement, if one is being made, and returns it.
pub(in crate::nn) fn seen(layer: &dyn Parameters, output: Tensor) -> Tensor {
    clock::passed(layer, &output);
    finite::passed(layer, &output);
    ROWS.with_borrow_mut(|rows| {
        if let Some(rows) = rows {
            rows.push(Row::of(layer, output.dims()));
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
