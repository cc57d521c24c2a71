//! The chains of layers that are running, for the error of a layer that cannot take its input.

use crate::nn::Layer;
use crate::plot::{Chain, Outcome, Step};

/// A chain of layers that is running.
pub(super) struct Frame {
    layers: *const [Box<dyn Layer>],
    /// The shape of the input, then of each output so far.
    shapes: Vec<Vec<usize>>,
}

impl Frame {
    /// # Safety
    /// The frame is dropped before the borrow of the layers ends.
    pub(super) unsafe fn new(layers: &[Box<dyn Layer>], input: &[usize]) -> Self {
        let shapes = vec![input.to_vec()];
        Self { layers, shapes }
    }

    /// Notes the shape of the next output.
    pub(super) fn push(&mut self, output: &[usize]) {
        self.shapes.push(output.to_vec());
    }

    fn layers(&self) -> &[Box<dyn Layer>] {
        // SAFETY: `new` requires that they live.
        unsafe { &*self.layers }
    }

    /// Returns the index of the layer that is running.
    fn at(&self) -> usize {
        self.shapes.len() - 1
    }

    /// Returns a layer as a step of the figure.
    fn step(&self, path: &str, index: usize, outcome: Outcome) -> Step {
        let layer = self.layers().get(index);
        let description = layer.map_or(String::new(), |layer| layer.describe());
        Step::new(path, &description, outcome)
    }
}

/// Returns the layers of the running chains: those that have returned, the one that refuses its input, and those
/// behind it.
pub(super) fn chain_of(frames: &[Frame]) -> Option<Chain> {
    let shape = |dims: &[usize]| Outcome::Shape(dims.to_vec());
    let first = frames.first()?;
    let mut steps = vec![Step::new("", "input", shape(&first.shapes[0]))];
    // The indices of the layers that are running, each with a dot: `3.0.`
    let mut path = String::new();
    for frame in frames {
        for (i, output) in frame.shapes[1..].iter().enumerate() {
            steps.push(frame.step(&format!("{path}{i}"), i, shape(output)));
        }
        path += &format!("{}.", frame.at());
    }
    let mut path = path.trim_end_matches('.');
    for (depth, frame) in frames.iter().enumerate().rev() {
        if depth == frames.len() - 1 {
            steps.push(frame.step(path, frame.at(), Outcome::Refused));
        }
        let parent = path.rfind('.').map_or("", |dot| &path[..=dot]);
        for i in frame.at() + 1..frame.layers().len() {
            steps.push(frame.step(&format!("{parent}{i}"), i, Outcome::Waiting));
        }
        path = parent.trim_end_matches('.');
    }
    Some(Chain { steps })
}
