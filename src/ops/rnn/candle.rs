//! The recurrence with Candle's operations, step by step.

use super::recurrence::{Cell, Recurrence};
use crate::ops::{linear_as, relu_as, sigmoid_as, tanh_as};
use crate::tensor::Raw;
use candle_core::Result;

/// Returns the outputs of all steps, followed by the state after the last:
/// `(steps + states, batch, hidden)`. If the weight has one column more than the state has features, its
/// last column is the bias.
pub(super) fn run([gates, weight, state]: [&Raw; 3], recurrence: &Recurrence) -> Result<Raw> {
    let (states, _, hidden) = state.dims3()?;
    let gates = parts(gates)?;
    let bias = match weight.dim(1)? > hidden {
        true => Some(weight.narrow(1, hidden, 1)?.flatten_all()?),
        false => None,
    };
    let weight = weight.narrow(1, 0, hidden)?;
    let mut state = (0..states)
        .map(|i| state.get(i))
        .collect::<Result<Vec<_>>>()?;
    let mut outputs = gates.clone();
    for t in recurrence.order(gates.len()) {
        let products = linear_as(&"rnn", &state[0], &weight, bias.as_ref())?; // (batch, gates · hidden)
        let mut next = recurrence.cell.step(&gates[t], &products, &state)?;
        outputs[t] = next[0].clone();
        if let Some(valid) = &recurrence.valid {
            let valid = valid.get(t)?.unsqueeze(1)?.broadcast_as(next[0].shape())?;
            outputs[t] = valid.where_cond(&next[0], &next[0].zeros_like()?)?;
            for (next, before) in next.iter_mut().zip(&state) {
                *next = valid.where_cond(next, before)?;
            }
        }
        state = next;
    }
    outputs.extend(state);
    Raw::stack(&outputs, 0)
}

/// Returns the parts along the first dimension. The tensor is halved again and again, because the
/// gradient of a part has the size of the tensor that it is taken from.
fn parts(x: &Raw) -> Result<Vec<Raw>> {
    let count = x.dim(0)?;
    if count == 1 {
        return Ok(vec![x.squeeze(0)?]);
    }
    let (first, second) = (
        x.narrow(0, 0, count / 2)?,
        x.narrow(0, count / 2, count - count / 2)?,
    );
    Ok([parts(&first)?, parts(&second)?].concat())
}

impl Cell {
    /// Returns the state after a step.
    fn step(self, x: &Raw, products: &Raw, state: &[Raw]) -> Result<Vec<Raw>> {
        let h = &state[0];
        let [relu, sigmoid, tanh] =
            [relu_as, sigmoid_as, tanh_as].map(|function| move |x: &Raw| function(&"rnn", x));
        let of = |all: &Raw, gate| {
            all.chunk(self.gates(), 1)
                .map(|mut all| all.swap_remove(gate))
        };
        let sum = |gate| of(x, gate)? + of(products, gate)?;
        Ok(match self {
            Self::Tanh => vec![tanh(&(x + products)?)?],
            Self::Relu => vec![relu(&(x + products)?)?],
            Self::Lstm => {
                let new = (sigmoid(&sum(0)?)? * tanh(&sum(2)?)?)?;
                let c = ((sigmoid(&sum(1)?)? * &state[1])? + new)?;
                vec![(sigmoid(&sum(3)?)? * tanh(&c)?)?, c]
            }
            Self::Gru => {
                let (reset, update) = (sigmoid(&sum(0)?)?, sigmoid(&sum(1)?)?);
                let new = tanh(&(of(x, 2)? + (reset * of(products, 2)?)?)?)?;
                vec![(&new + (update * (h - &new)?)?)?]
            }
        })
    }
}
