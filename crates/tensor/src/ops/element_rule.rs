//! The backward pass of operations on each element.

use super::engine::autograd::{Backward, Downstream, Held, Upstream};
use crate::tensor::Raw;
use candle_core::Result;

/// Returns the gradient of the input with this index, in the shape of the output.
pub(super) type Gradient = Box<dyn Fn(&Upstream<'_>, usize) -> Result<Raw> + Send + Sync>;

/// The backward pass of an operation on each element of inputs that are broadcast.
pub(super) struct ElementRule {
    pub(super) shapes: Vec<Vec<usize>>,
    /// The inputs from which the gradients are computed, and whether the output is needed.
    pub(super) keeps: [bool; 3],
    pub(super) needs_output: bool,
    pub(super) is_sigmoid: bool,
    /// The memory that the operation holds besides.
    pub(super) held: Option<Raw>,
    /// Computes constants. Where it is missing, `recorded` does.
    pub(super) kernel: Option<Gradient>,
    pub(super) recorded: Gradient,
}

impl ElementRule {
    /// Returns a rule that keeps nothing, and computes with recorded operations.
    pub(super) fn new(
        inputs: &[&Raw],
        recorded: impl Fn(&Upstream<'_>, usize) -> Result<Raw> + Send + Sync + 'static,
    ) -> Self {
        ElementRule {
            shapes: inputs.iter().map(|x| x.dims().to_vec()).collect(),
            keeps: [false; 3],
            needs_output: false,
            is_sigmoid: false,
            held: None,
            kernel: None,
            recorded: Box::new(recorded),
        }
    }

    fn gradients(&self, upstream: &Upstream<'_>, of: &Gradient) -> Result<Downstream> {
        upstream.each(|i| of(upstream, i)?.sum_to(&self.shapes[i]))
    }
}

impl Backward for ElementRule {
    fn hold(&self, held: &mut Held) {
        self.held.iter().for_each(|x| held.tensor(x));
    }

    fn is_sigmoid(&self) -> bool {
        self.is_sigmoid
    }

    fn needs_output(&self) -> bool {
        self.needs_output
    }

    fn keeps(&self) -> [bool; 3] {
        self.keeps
    }

    fn takes_views(&self) -> bool {
        true
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        self.gradients(upstream, self.kernel.as_ref().unwrap_or(&self.recorded))
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        self.gradients(upstream, &self.recorded)
    }
}
