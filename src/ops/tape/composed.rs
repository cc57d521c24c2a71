//! Rules that are composed of operations.

use super::node::record;
use super::rule::{Backward, Downstream, Upstream, no_second_derivative};
use crate::tensor::{Candle, Raw};
use candle_core::Result;

/// Returns the output of an operation with this rule, which computes with operations. So it works on every device, and
/// has gradients itself. The rule finds the inputs and the output in its argument.
pub(crate) fn composed(
    values: Candle,
    inputs: &[&Raw],
    rule: impl Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
) -> Raw {
    record(values, inputs, || Composed(Box::new(rule)))
}

/// Returns the output of a linear operation: `adjoint` computes the gradients of the inputs from the output's alone.
pub(crate) fn linear(
    values: Candle,
    inputs: &[&Raw],
    adjoint: impl Fn(&Raw, [bool; 3]) -> Result<Downstream> + Send + Sync + 'static,
) -> Raw {
    record(values, inputs, || Linear(Box::new(adjoint)))
}

type Adjoint = dyn Fn(&Raw, [bool; 3]) -> Result<Downstream> + Send + Sync;

struct Linear(Box<Adjoint>);

impl Backward for Linear {
    #[cfg(test)]
    fn is_composed(&self) -> bool {
        true
    }

    fn takes_views(&self) -> bool {
        true
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        (self.0)(upstream.gradient, upstream.wanted)
    }
}

/// The rule of a kernel's output, computed with operations from the gradient alone.
pub(crate) struct ByOperations<R>(pub(crate) R);

impl<R> Backward for ByOperations<R>
where
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    fn takes_views(&self) -> bool {
        true
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        (self.0)(upstream)
    }
}

/// Returns the output of an operation that has no second derivatives: `adjoint` computes constants.
pub(crate) fn first_order(
    values: Candle,
    inputs: &[&Raw],
    name: &'static str,
    adjoint: impl Fn(&Candle) -> Result<Candle> + Send + Sync + 'static,
) -> Raw {
    record(values, inputs, || FirstOrder {
        name,
        adjoint: Box::new(adjoint),
    })
}

type Constant = dyn Fn(&Candle) -> Result<Candle> + Send + Sync;

struct FirstOrder {
    name: &'static str,
    adjoint: Box<Constant>,
}

impl Backward for FirstOrder {
    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let of_x = (self.adjoint)(upstream.gradient.values())?;
        Ok([Some(of_x.into()), None, None])
    }

    fn recorded(&self, _: &Upstream<'_>) -> Result<Downstream> {
        Err(no_second_derivative(self.name))
    }
}

type Rule = dyn Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync;

struct Composed(Box<Rule>);

impl Backward for Composed {
    #[cfg(test)]
    fn is_composed(&self) -> bool {
        true
    }

    fn needs_output(&self) -> bool {
        true
    }

    fn takes_views(&self) -> bool {
        true
    }

    fn keeps(&self) -> [bool; 3] {
        [true; 3]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        (self.0)(upstream)
    }
}
