//! Rules that are closures.

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
}

/// A rule of one or two closures.
pub(crate) struct Closures<B, R> {
    needs: Needs,
    /// Computes constants. Where it is missing, `recorded` does.
    backward: Option<B>,
    recorded: R,
    #[cfg(test)]
    is_composed: bool,
}

/// The type of a missing closure.
type Missing = fn(&Upstream<'_>) -> Result<Downstream>;

/// Returns a rule: `backward` computes the gradients as constants, `recorded` with operations that are recorded.
pub(crate) fn kernel<B, R>(needs: Needs, backward: B, recorded: R) -> Closures<B, R>
where
    B: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    Closures {
        needs,
        backward: Some(backward),
        recorded,
        #[cfg(test)]
        is_composed: false,
    }
}

/// Returns the rule of a kernel that computes with operations from the gradient alone.
pub(crate) fn by_operations<R>(recorded: R) -> Closures<Missing, R>
where
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    Closures {
        needs: Needs::default(),
        backward: None,
        recorded,
        #[cfg(test)]
        is_composed: false,
    }
}

/// Returns the output of an operation with this rule, which computes with operations. So it works on every device, and
/// has gradients itself. The rule finds the inputs and the output in its argument.
pub(crate) fn composed(
    values: Candle,
    inputs: &[&Raw],
    rule: impl Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
) -> Raw {
    record(values, inputs, || Closures {
        needs: Needs {
            output: true,
            inputs: true,
            reads: [true; 3],
        },
        #[cfg(test)]
        is_composed: true,
        ..by_operations(rule)
    })
}

/// Returns the output of a linear operation: `adjoint` computes the gradients of the inputs from the output's alone.
pub(crate) fn linear(
    values: Candle,
    inputs: &[&Raw],
    adjoint: impl Fn(&Raw, [bool; 3]) -> Result<Downstream> + Send + Sync + 'static,
) -> Raw {
    record(values, inputs, || Closures {
        #[cfg(test)]
        is_composed: true,
        ..by_operations(move |upstream: &Upstream<'_>| adjoint(upstream.gradient, upstream.wanted))
    })
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
        self.is_composed
    }

    fn needs_output(&self) -> bool {
        self.needs.output
    }

    fn takes_views(&self) -> bool {
        self.backward.is_none()
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

/// The rule of a product of two inputs, and perhaps a bias: the gradient of each factor reads the other one.
pub(crate) struct Product<R>(pub(crate) R);

impl<R> Backward for Product<R>
where
    R: Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
{
    fn keeps(&self) -> [bool; 3] {
        [true, true, false]
    }

    fn reads(&self, [of_first, of_second, _]: [bool; 3]) -> [bool; 3] {
        [of_second, of_first, false]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        (self.0)(upstream)
    }
}
