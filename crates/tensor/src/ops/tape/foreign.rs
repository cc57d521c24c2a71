//! What code for Candle computes: its layers, and tensors with a graph of Candle's.

use super::held::Held;
use super::node::{are_tracked, operation};
use super::rule::{Backward, Downstream, Upstream};
use crate::error::refuse;
use crate::tensor::{Candle, Key, Raw, Tensor, is_grad_enabled};
use candle_core::{Result, Var};
use std::sync::Arc;

/// Returns what `compute` computes from the inputs with Candle. Gradients flow to the inputs and to variables of Candle's.
pub fn foreign(
    inputs: &[&Raw],
    compute: &mut dyn FnMut(&[Candle]) -> Result<Candle>,
) -> Result<Raw> {
    let leaf = |x: &&Raw| match are_tracked(&[x]) {
        true => Ok(Var::from_tensor(x.values())?.into_inner()),
        false => Ok(x.values().clone()),
    };
    let leaves = inputs.iter().map(leaf).collect::<Result<Vec<Candle>>>()?;
    let y = compute(&leaves)?;
    Ok(of_candle(y, inputs, leaves))
}

/// Returns a tensor with the graph of Candle's that it has, if any.
fn from_candle(y: Candle) -> Raw {
    match y.is_variable() {
        true => Raw::leaf(&y, Arc::default()),
        false => of_candle(y, &[], vec![]),
    }
}

fn of_candle(y: Candle, inputs: &[&Raw], leaves: Vec<Candle>) -> Raw {
    match is_grad_enabled() && y.track_op() {
        true => operation(y.detach(), inputs, Box::new(Foreign { y, leaves })),
        false => y.detach().into(),
    }
}

/// The backward pass of Candle's graph.
struct Foreign {
    y: Candle,
    /// What represents the inputs in the graph.
    leaves: Vec<Candle>,
}

impl Backward for Foreign {
    fn takes_views(&self) -> bool {
        true
    }

    fn hold(&self, held: &mut Held) {
        for x in self.y.sorted_nodes() {
            held.values(x);
        }
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let mut gradients = (&self.y * upstream.gradient.values())?
            .sum_all()?
            .backward()?;
        let mut of_inputs = [None, None, None];
        for (of_input, leaf) in of_inputs.iter_mut().zip(&self.leaves) {
            *of_input = gradients.remove(leaf).map(|x| x.detach().into());
        }
        let ids: Vec<_> = gradients.get_ids().copied().collect();
        for id in ids {
            if let Some(gradient) = gradients.get_id(id) {
                let gradient = gradient.detach().into();
                upstream.add_to_leaf(Key::Variable(id), gradient)?;
            }
        }
        Ok(of_inputs)
    }

    fn recorded(&self, _: &Upstream<'_>) -> Result<Downstream> {
        refuse!(
            ("second derivatives do not flow through an operation of Candle's, whose output has the shape {:?} and the type {}",
             self.y.dims(), self.y.dtype().as_str());
            "They flow through Taper's operations")
    }
}

/// Gradients flow through what Candle has computed to its variables.
impl From<candle_core::Tensor> for Tensor {
    #[inline(never)]
    fn from(tensor: candle_core::Tensor) -> Self {
        Self::from_raw(from_candle(tensor))
    }
}

/// Gradients flow through what Candle has computed to its variables.
impl From<&candle_core::Tensor> for Tensor {
    #[inline(never)]
    fn from(tensor: &candle_core::Tensor) -> Self {
        Self::from(tensor.clone())
    }
}

/// Gradients flow to the variable.
impl From<&Var> for Tensor {
    #[inline(never)]
    fn from(var: &Var) -> Self {
        Self::from_raw(Raw::leaf(var, Arc::default()))
    }
}
