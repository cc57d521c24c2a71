//! Rules of kernels, which are closures.

use super::rule::{Backward, Downstream, Upstream};
use candle_core::Result;

/// What a rule needs besides the gradient of the output: see the methods of [`Backward`] for each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Needs {
    pub(crate) output: bool,
    pub(crate) inputs: bool,
    pub(crate) reads: [bool; 3],
}

/// A rule of two closures.
pub(crate) struct Kernel<B, R> {
    needs: Needs,
    backward: B,
    recorded: R,
}

/// Returns a rule: `backward` computes the gradients as constants, `recorded` with operations that are recorded.
pub(crate) fn kernel<B, R>(needs: Needs, backward: B, recorded: R) -> Kernel<B, R>
where
    B: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    Kernel {
        needs,
        backward,
        recorded,
    }
}

impl<B, R> Backward for Kernel<B, R>
where
    B: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    fn needs_output(&self) -> bool {
        self.needs.output
    }

    fn keeps(&self) -> [bool; 3] {
        [self.needs.inputs; 3]
    }

    fn reads(&self, _: [bool; 3]) -> [bool; 3] {
        self.needs.reads
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        (self.backward)(upstream)
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        (self.recorded)(upstream)
    }
}
