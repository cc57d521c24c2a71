//! What is noted of the layers that run on a thread.
//!
//! A summary must list the layers that a model's own `forward` calls, and `forward` has no argument through which to
//! pass a recorder. So the recorder is a thread-local variable, and each layer reports its output with
//! [`record_output`]. A summary, a measurement, the search for the first output that is not finite, and the figure beside
//! an error all read this recorder.

use super::clock::Clock;
use super::frame::{Frame, chain_of};
use super::row::{Cost, Row, layer_table};
use crate::error::{self, OrRaise, Result, attempt};
use crate::nn::{Layer, Parameter, Parameters, state_of};
use crate::notebook::{at_end_of_cell, display, is_profiled};
use crate::ops::all_finite;
use crate::plot::Chain;
use crate::tensor::{self, Counters, Field, Raw, Tensor, measure};
use candle_core::{DType, Device, Shape};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem;

thread_local! {
    static RECORDER: RefCell<Recorder> = const {
        RefCell::new(Recorder {
            rows: None,
            failed: None,
            clock: None,
            watch: None,
            running: Vec::new(),
        })
    };
}

struct Recorder {
    /// The layers of a forward pass on made-up values.
    rows: Option<Vec<Row>>,
    /// The layers around the one that has refused its input in that pass.
    failed: Option<Chain>,
    /// The measurement, if there is one.
    clock: Option<Clock>,
    /// The first layer whose output is not finite, if it is looked for.
    watch: Option<Option<NotFinite>>,
    /// The chains of layers that are running, the outermost first.
    running: Vec<Frame>,
}

fn with<T>(work: impl FnOnce(&mut Recorder) -> T) -> T {
    RECORDER.with_borrow_mut(work)
}

/// A field of the recorder that has another value until this is dropped, also after a panic.
struct Scope<T> {
    outer: T,
    field: fn(&mut Recorder) -> &mut T,
}

impl<T: Default> Scope<T> {
    fn new(value: T, field: fn(&mut Recorder) -> &mut T) -> Self {
        let outer = with(|recorder| mem::replace(field(recorder), value));
        Self { outer, field }
    }

    fn take(&self) -> T {
        with(|recorder| mem::take((self.field)(recorder)))
    }
}

impl<T> Drop for Scope<T> {
    fn drop(&mut self) {
        with(|recorder| mem::swap((self.field)(recorder), &mut self.outer));
    }
}

/// Reports a layer's output, and returns it.
#[doc(hidden)]
pub fn record_output(layer: &dyn Parameters, output: Tensor) -> Tensor {
    with_clock(|clock| clock.passed(layer, &output));
    with(|recorder| {
        if let Some(first @ None) = &mut recorder.watch
            && matches!(all_finite(output.raw()), Ok(false))
        {
            let parameter = state_of(layer).into_iter().next();
            *first = Some(NotFinite {
                layer: layer.describe(),
                parameter: parameter.map(|entry| entry.parameter),
            });
        }
        if let Some(rows) = &mut recorder.rows {
            rows.push(Row::of(layer, output.dims()));
        }
    });
    output
}

/// Returns a layer's output as [`record_output`] does, or panics with the error of the operation.
#[track_caller]
pub(crate) fn output_of(layer: &dyn Parameters, output: candle_core::Result<Raw>) -> Tensor {
    record_output(layer, output.or_raise().into())
}

/// Runs a layer, and reports its output unless the layer, or a part of it, has reported one.
pub(crate) fn watched(layer: &dyn Layer, input: &Tensor) -> Tensor {
    let count = || with(|recorder| recorder.rows.as_ref().map(Vec::len));
    let before = count();
    let output = layer.forward(input);
    match before.is_some() && before == count() {
        true => record_output(layer, output),
        false => output,
    }
}

/// What a forward pass on made-up values has shown.
pub(crate) struct Recording {
    /// The made-up values.
    pub(super) input: Option<Tensor>,
    pub(crate) output: Result<Tensor>,
    pub(crate) rows: Vec<Row>,
    /// The chain in which a layer has refused its input, if the layer is part of one.
    pub(crate) failed: Option<Chain>,
}

/// Runs the model on zeros of this shape, of the type and on the device of its parameters.
pub(crate) fn trial(model: &dyn Layer, input: &Shape) -> Recording {
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
    let rows = Scope::new(Some(Vec::new()), |recorder| &mut recorder.rows);
    let failed = Scope::new(None, |recorder| &mut recorder.failed);
    Recording {
        input: None,
        output: attempt(run),
        rows: rows.take().unwrap_or_default(),
        failed: failed.take(),
    }
}

/// Returns whether a forward pass is being recorded. Its input is made up, so layers must not update
/// their running statistics.
pub(crate) fn is_recording() -> bool {
    with(|recorder| recorder.rows.is_some())
}

/// Returns whether this thread reports each layer, to a summary or a measurement.
pub(crate) fn needs_each_layer() -> bool {
    is_recording() || is_measured()
}

/// A layer whose output is not finite.
#[doc(hidden)]
pub struct NotFinite {
    /// The layer's description.
    pub layer: String,
    /// Its first parameter, by which its place in a model is found.
    pub parameter: Option<Parameter>,
}

/// Runs forward passes, and returns the first layer whose output has NaN or infinite elements. Layers do not update
/// their running statistics.
#[doc(hidden)]
pub fn first_not_finite(run: impl FnOnce()) -> Option<NotFinite> {
    let watch = Scope::new(Some(None), |recorder| &mut recorder.watch);
    run();
    watch.take().flatten()
}

/// Returns whether the outputs of layers are looked at.
pub(crate) fn is_watching() -> bool {
    with(|recorder| recorder.watch.is_some())
}

/// Runs `work`. Returns its result, the layers that were called, and what they took.
pub(super) fn measured<T>(work: impl FnOnce() -> T) -> (T, Vec<(Row, Cost)>) {
    let clock = Scope::new(Some(Clock::new()), |recorder| &mut recorder.clock);
    let _counters = tensor::Scope::new(Field::Counters(Some(Counters::default())));
    let result = work();
    (result, clock.take().map_or(vec![], Clock::end))
}

/// Returns whether this thread is measured. A cell with `%%profile` is, from its first layer on.
fn is_measured() -> bool {
    let is_measured = with(|recorder| recorder.clock.is_some());
    if is_measured || !is_profiled() {
        return is_measured;
    }
    measure(Some(Counters::default()));
    with(|recorder| recorder.clock = Some(Clock::new()));
    at_end_of_cell(|| {
        let clock = with(|recorder| recorder.clock.take());
        let (rows, costs): (Vec<Row>, Vec<Cost>) =
            clock.map_or(vec![], Clock::end).into_iter().unzip();
        measure(None);
        display(&layer_table(&rows, &costs, None).bundle());
    });
    true
}

fn with_clock(change: impl FnOnce(&mut Clock)) {
    if is_measured() {
        with(|recorder| recorder.clock.as_mut().map(change));
    }
}

/// Reports that a model begins, or a chain of layers that is in no other one.
pub(crate) fn begin_pass() {
    with_clock(Clock::begin_pass);
}

/// Reports that what was computed so far is a part of a layer, which calls others next.
pub(crate) fn record_part(layer: &dyn Parameters) {
    with_clock(|clock| clock.part(layer));
}

/// A chain of layers that runs while this lives.
///
/// An error is reported where the panic begins, and so before it reaches [`Sequential`](crate::nn::Sequential): the
/// shapes so far are noted while a chain runs.
pub(crate) struct Running<'a> {
    layers: PhantomData<&'a [Box<dyn Layer>]>,
}

impl<'a> Running<'a> {
    pub(crate) fn begin(layers: &'a [Box<dyn Layer>], input: &Tensor) -> Self {
        error::draw_with(draw);
        if with(|recorder| recorder.running.is_empty()) {
            begin_pass();
        }
        // SAFETY: `drop` removes the frame before the borrow of the layers ends.
        let frame = unsafe { Frame::new(layers, input.dims()) };
        with(|recorder| recorder.running.push(frame));
        let layers = PhantomData;
        Running { layers }
    }

    /// Notes the output of the next layer, whose input has been dropped.
    pub(crate) fn passed(&self, output: &Tensor) {
        with_clock(Clock::input_dropped);
        with(|recorder| {
            if let Some(frame) = recorder.running.last_mut() {
                frame.push(output.dims());
            }
        });
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        with(|recorder| {
            let fails = std::thread::panicking() && recorder.rows.is_some();
            if fails && recorder.failed.is_none() {
                recorder.failed = chain_of(&recorder.running);
            }
            recorder.running.pop();
        });
    }
}

/// Shows the figure of the chains that are running on this thread; returns their text, or `None` if none runs.
fn draw() -> Option<String> {
    // The panic may have begun in the description of a layer, for the recorder itself.
    let chain = RECORDER.with(|recorder| chain_of(&recorder.try_borrow().ok()?.running))?;
    display(&chain.figure());
    Some(chain.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Flatten, Linear, ReLU};
    use crate::tensor::zeros;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn text_of(compute: impl FnOnce() -> Tensor) -> String {
        let caught = catch_unwind(AssertUnwindSafe(compute)).map(drop);
        *caught.unwrap_err().downcast::<String>().expect("a text")
    }

    fn is_running() -> bool {
        with(|recorder| !recorder.running.is_empty())
    }

    #[test]
    fn the_error_draws_the_chain() {
        let net = crate::seq![Flatten, Linear::new(4, 3), ReLU, Linear::new(2, 1), ReLU];
        let text = text_of(|| net.forward(&zeros((5, 2, 2))));
        let (lines, chain) = text.split_once("\n\n").expect("a chain");
        assert!(lines.starts_with("Linear(in_features=2, out_features=1, bias=true) cannot take"));
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let chain: Vec<String> = chain.lines().map(words).collect();
        assert_eq!(
            chain,
            [
                "input (5, 2, 2)",
                "0 Flatten(start_dim=1, end_dim=-1) (5, 4)",
                "1 Linear(in_features=4, out_features=3, bias=true) (5, 3)",
                "2 ReLU() (5, 3)",
                "✗ 3 Linear(in_features=2, out_features=1, bias=true) does not fit",
                "4 ReLU()",
            ]
        );
        assert!(!is_running(), "nothing is left behind");
    }

    #[test]
    fn chains_in_a_chain_have_paths() {
        let block = crate::seq![ReLU, Linear::new(2, 2), ReLU];
        let net = crate::seq![Flatten, block, ReLU];
        let text = text_of(|| net.forward(&zeros((1, 3))));
        let paths: Vec<&str> = { text.lines().skip(4) }
            .map(|line| {
                line.trim_start_matches(['✗', ' '])
                    .split(' ')
                    .next()
                    .unwrap_or("")
            })
            .collect();
        assert_eq!(paths, ["0", "1.0", "1.1", "1.2", "2"], "{text}");
        assert!(text.contains("\n✗ 1.1  Linear"), "{text}");
    }

    #[test]
    fn a_value_of_an_attempt_has_two_lines() {
        let net = crate::seq![Linear::new(4, 3)];
        let error = attempt(|| net.forward(&zeros((5, 2)))).unwrap_err();
        assert_eq!(error.to_string().lines().count(), 2);
        assert!(!is_running());
    }
}
