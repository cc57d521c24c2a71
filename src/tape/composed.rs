//! Rules that are composed of operations.

use super::{
    Backward, Downstream, Input, Key, Node, Options, Rule, Upstream, View, gradients,
    no_second_derivative,
};
use crate::tensor::{Candle, Raw};
use candle_core::Result;
use std::sync::Arc;

/// Returns the output of an operation with this rule, which computes with operations. So it works on every device, and
/// has gradients itself. The rule finds the inputs and the output in its argument.
pub(crate) fn composed(
    values: Candle,
    inputs: &[&Raw],
    rule: impl Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync + 'static,
) -> Raw {
    super::record(values, inputs, || Composed(Box::new(rule)))
}

/// Returns the output of a linear operation: `adjoint` computes the gradients of the inputs from the output's alone.
pub(crate) fn linear(
    values: Candle,
    inputs: &[&Raw],
    adjoint: impl Fn(&Raw, [bool; 3]) -> Result<Downstream> + Send + Sync + 'static,
) -> Raw {
    super::record(values, inputs, || Linear(Box::new(adjoint)))
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

/// Returns the output of an operation that has no second derivatives: `adjoint` computes constants.
pub(crate) fn first_order(
    values: Candle,
    inputs: &[&Raw],
    name: &'static str,
    adjoint: impl Fn(&Candle) -> Result<Candle> + Send + Sync + 'static,
) -> Raw {
    super::record(values, inputs, || FirstOrder {
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

type Compute = dyn Fn(&Upstream<'_>) -> Result<Downstream> + Send + Sync;

struct Composed(Box<Compute>);

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

/// Computes what [`Backward::recorded`] returns. `compute` computes the output from the inputs by operations that have
/// second derivatives. It must not use other tensors that have gradients. The operation must
/// [keep](Backward::keeps) its inputs.
pub(crate) fn gradients_of_composed(
    upstream: &Upstream<'_>,
    compute: impl FnOnce(&[Raw]) -> Result<Raw>,
) -> Result<Downstream> {
    let mut inputs = vec![];
    for (input, wanted) in upstream.inputs.iter().zip(upstream.wanted) {
        // The walk from the output ends at these nodes, whose graphs go on to what computed the inputs.
        inputs.extend(match input {
            Some(input) if wanted => Some(end(input)),
            input => input.as_ref().map(Raw::detach),
        });
    }
    let output = compute(&inputs)?;
    let keys: Vec<_> = inputs.iter().map(|x| Some(x.node()?.key)).collect();
    let options = Options {
        with_graph: true,
        ends: keys.iter().flatten().copied().collect(),
        ..Options::default()
    };
    let mut found = gradients(&output, upstream.gradient.clone(), &options)?;
    let mut of_inputs = [None, None, None];
    for ((of_input, key), input) in of_inputs.iter_mut().zip(keys).zip(&inputs) {
        if let Some(key) = key {
            *of_input = match found.remove(&key) {
                Some(gradient) => Some(gradient),
                None => Some(input.zeros_like()?),
            };
        }
    }
    Ok(of_inputs)
}

/// Returns a tensor with a node of its own.
fn end(input: &Raw) -> Raw {
    let values = input.values().detach();
    let input = Input {
        node: input.node().cloned(),
        values: None,
    };
    let rule = Rule::View(View::Reshape, None);
    let node = Node::new(Key::new(), &values, vec![input], rule, None);
    Raw::with_node(values, Arc::new(node))
}
