//! Rules that consist of closures.

use super::node::record;
use super::rule::{Backward, Downstream, Upstream, no_second_derivative};
use crate::tensor::{Candle, Raw};
use candle_core::Result;

/// What a rule needs besides the gradient of the output: see the methods of [`Backward`] for each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Needs {
    pub(crate) output: bool,
    pub(crate) inputs: bool,
    pub(crate) reads: [bool; 3],
    pub(crate) takes_views: bool,
}

/// A rule of closures.
pub(crate) struct Closures<B, R> {
    needs: Needs,
    /// Computes the gradients as constants; without it, `recorded` does.
    backward: Option<B>,
    /// Computes the gradients with operations that are recorded.
    recorded: R,
}

/// Returns the rule of a kernel: `backward` computes the gradients as constants, `recorded` with operations that are
/// recorded.
pub(crate) fn kernel<B, R>(needs: Needs, backward: B, recorded: R) -> Closures<B, R>
where
    B: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    Closures {
        needs,
        backward: Some(backward),
        recorded,
    }
}

/// Returns the output of an operation with this rule, which computes with operations. So it works on every device, and
/// has gradients itself. The rule finds the inputs and the output in its argument.
pub(crate) fn composed(
    values: Candle,
    inputs: &[&Raw],
    rule: impl Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
) -> Raw {
    let needs = Needs {
        output: true,
        inputs: true,
        reads: [true; 3],
        takes_views: true,
    };
    record(values, inputs, || operations(needs, rule))
}

/// Returns the output of a linear operation: `adjoint` computes the gradients of the inputs from the output's alone.
pub(crate) fn linear(
    values: Candle,
    inputs: &[&Raw],
    adjoint: impl Fn(&Raw, [bool; 3]) -> Result<Downstream> + Send + Sync + 'static,
) -> Raw {
    let needs = Needs {
        takes_views: true,
        ..Needs::default()
    };
    let rule = move |upstream: &Upstream<'_>| adjoint(upstream.gradient, upstream.wanted);
    record(values, inputs, || operations(needs, rule))
}

/// Returns a rule that computes with operations.
fn operations<R>(
    needs: Needs,
    recorded: R,
) -> Closures<fn(&Upstream<'_>) -> Result<Downstream>, R> {
    Closures {
        needs,
        backward: None,
        recorded,
    }
}

/// Returns the output of an operation that has no second derivatives: `adjoint` computes constants.
pub(crate) fn first_order(
    values: Candle,
    inputs: &[&Raw],
    name: &'static str,
    adjoint: impl Fn(&Candle) -> Result<Candle> + Send + Sync + 'static,
) -> Raw {
    let backward = move |upstream: &Upstream<'_>| {
        let of_x = adjoint(upstream.gradient.values())?;
        Ok([Some(of_x.into()), None, None])
    };
    let recorded = move |_: &Upstream<'_>| Err(no_second_derivative(name));
    record(values, inputs, || {
        kernel(Needs::default(), backward, recorded)
    })
}

impl<B, R> Backward for Closures<B, R>
where
    B: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    #[cfg(test)]
    fn is_composed(&self) -> bool {
        self.backward.is_none()
    }

    fn needs_output(&self) -> bool {
        self.needs.output
    }

    fn takes_views(&self) -> bool {
        self.needs.takes_views
    }

    fn keeps(&self) -> [bool; 3] {
        [self.needs.inputs; 3]
    }

    fn reads(&self, _: [bool; 3]) -> [bool; 3] {
        self.needs.reads
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        match &self.backward {
            Some(backward) => backward(upstream),
            None => (self.recorded)(upstream),
        }
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        (self.recorded)(upstream)
    }
}
