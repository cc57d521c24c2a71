//! The chains of layers that are running on a thread, for the error of a layer that cannot take its input.
//!
//! An error is reported where the panic begins, and so before it reaches [`Sequential`](crate::nn::Sequential):
//! the shapes so far are noted while a chain runs.

use crate::error;
use crate::nn::{Layer, summary};
use crate::notebook::display;
use crate::plot::{Chain, Outcome, Step};
use crate::tensor::Tensor;
use std::cell::RefCell;
use std::marker::PhantomData;

thread_local! {
    /// The running chains, the outermost first.
    static RUNNING: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

struct Frame {
    layers: *const [Box<dyn Layer>],
    /// The shape of the input, then of each output so far.
    shapes: Vec<Vec<usize>>,
}

/// A chain that runs while this lives.
pub(super) struct Running<'a> {
    layers: PhantomData<&'a [Box<dyn Layer>]>,
}

impl<'a> Running<'a> {
    pub(super) fn begin(layers: &'a [Box<dyn Layer>], input: &Tensor) -> Self {
        error::draw_with(draw);
        if RUNNING.with_borrow(Vec::is_empty) {
            summary::begin_pass();
        }
        let shapes = vec![input.dims().to_vec()];
        RUNNING.with_borrow_mut(|running| running.push(Frame { layers, shapes }));
        let layers = PhantomData;
        Running { layers }
    }

    /// Notes the output of the next layer.
    pub(super) fn passed(&self, output: &Tensor) {
        summary::settled();
        RUNNING.with_borrow_mut(|running| {
            if let Some(frame) = running.last_mut() {
                frame.shapes.push(output.dims().to_vec());
            }
        });
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && summary::wants_rest() {
            summary::keep_rest(of_running());
        }
        RUNNING.with_borrow_mut(Vec::pop);
    }
}

/// Shows the figure of the chains that are running on this thread; returns their text, or `None` if none runs.
fn draw() -> Option<String> {
    let chain = of_running()?;
    display(&chain.figure());
    Some(chain.text())
}

/// Returns the layers of the running chains: those that have returned, the one that refuses its input, and those
/// behind it.
fn of_running() -> Option<Chain> {
    RUNNING.with_borrow(|frames| {
        let first = frames.first()?;
        let mut steps = vec![Step::new("", "input", shape(&first.shapes[0]))];
        let mut path = String::new();
        for frame in frames {
            steps.extend(passed(frame, &path));
            path += &format!("{}.", frame.at());
        }
        let last = frames.len() - 1;
        let mut path = path.trim_end_matches('.').to_owned();
        for (depth, frame) in frames.iter().enumerate().rev() {
            if depth == last {
                steps.push(step(
                    &path,
                    frame.layers().get(frame.at()).map(|layer| &**layer),
                    Outcome::Refused,
                ));
            }
            path.truncate(path.rfind('.').map_or(0, |dot| dot + 1));
            for (i, layer) in frame.layers().iter().enumerate().skip(frame.at() + 1) {
                steps.push(step(
                    &format!("{path}{i}"),
                    Some(&**layer),
                    Outcome::Waiting,
                ));
            }
            path.truncate(path.len().saturating_sub(1));
        }
        Some(Chain { steps })
    })
}

impl Frame {
    fn layers(&self) -> &[Box<dyn Layer>] {
        // SAFETY: `Running` removes the frame before the borrow of the layers ends.
        unsafe { &*self.layers }
    }

    /// Returns the index of the layer that is running.
    fn at(&self) -> usize {
        self.shapes.len() - 1
    }
}

/// Returns the layers of a chain that have returned.
fn passed(frame: &Frame, path: &str) -> Vec<Step> {
    let outputs = frame.shapes.iter().skip(1);
    let outputs = frame.layers().iter().zip(outputs).enumerate();
    outputs
        .map(|(i, (layer, output))| step(&format!("{path}{i}"), Some(&**layer), shape(output)))
        .collect()
}

fn step(path: &str, layer: Option<&dyn Layer>, outcome: Outcome) -> Step {
    let description = layer.map_or(String::new(), |layer| layer.describe());
    Step::new(path, &description, outcome)
}

fn shape(dims: &[usize]) -> Outcome {
    Outcome::Shape(dims.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::{Flatten, Linear, ReLU};
    use crate::tensor::zeros;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn text_of(compute: impl FnOnce() -> Tensor) -> String {
        let caught = catch_unwind(AssertUnwindSafe(compute)).map(drop);
        *caught.unwrap_err().downcast::<String>().expect("a text")
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
        assert!(RUNNING.with_borrow(Vec::is_empty), "nothing is left behind");
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
        assert!(RUNNING.with_borrow(Vec::is_empty));
    }
}
