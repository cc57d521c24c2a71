//! Recurrence: a cell goes through a sequence step by step, and its output is its state in the next step.
//!
//! The whole input is multiplied by its weights beforehand, in one matrix product. So each step has only
//! one product, that of the state with the weights of all gates. [`cpu`] runs all steps in one kernel,
//! forward and backward; [`steps`] computes the same by single operations.

mod cells;
mod cpu;
mod recurrence;
mod steps;

pub use recurrence::{Cell, Recurrence};

use super::cat_as;
use super::check;
use super::engine::autograd::has_kernel;
use super::engine::dispatch_dtype;
use super::profile;
use crate::error::refuse;
use crate::tensor::Raw;
use candle_core::Result;
use cpu::forward as kernel;
use std::fmt::Display;

/// Returns the outputs of all steps `(steps, batch, hidden)` and the state after the last
/// `(states, batch, hidden)`, from
///
/// - `gates` `(steps, batch, gates · hidden)`: the products of the input with its weights;
/// - `weight` `(gates · hidden, hidden)` and `bias` `(gates · hidden,)` for the state;
/// - `state` `(states, batch, hidden)`: the state before the first step.
///
/// With a projection, the weight has a column for each output, and the outputs end with zeros up to the size `hidden`.
///
/// # Errors
/// If there are no steps, or the state has another shape, type or device.
#[doc(hidden)]
pub fn rnn(
    caller: &dyn Display,
    recurrence: &Recurrence,
    gates: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    state: &Raw,
) -> Result<(Raw, Raw)> {
    let (steps, batch, _) = gates.dims3()?;
    let projection = recurrence.projection.as_ref();
    let hidden = projection.unwrap_or(weight).dim(1)?;
    let shape = [recurrence.cell.states(), batch, hidden];
    refuse!(if steps == 0;
        "{caller} cannot take sequences without steps"; "Leave empty sequences out");
    if state.dims() != shape {
        let (found, expected) = (&state.dims()[1..], &shape[1..]);
        refuse!(
            "{caller}: the state has the shape {found:?} in each layer, not {expected:?}";
            "Pass a state of shape (num_layers · directions, batch, hidden_size)");
    }
    check::same_place(caller, state, weight)?;
    if gates.elem_count() == 0 {
        let outputs = Raw::zeros((steps, batch, shape[2]), gates.dtype(), gates.device())?;
        return Ok((outputs, state.clone()));
    }
    // A kernel has at most three inputs, so the bias becomes another column of the weight.
    let weight = match bias {
        Some(bias) => cat_as(caller, &[weight, &bias.unsqueeze(1)?], 1.into())?,
        None => weight.clone(),
    };
    let inputs = [gates, &weight, state];
    let all = match has_kernel(&inputs) && projection.is_none() {
        true => {
            profile::count(steps * batch * weight.elem_count());
            dispatch_dtype!(gates, kernel(inputs, recurrence))
        }
        false => steps::run(inputs, recurrence),
    }?; // (steps + states, batch, hidden)
    Ok((
        all.narrow(0, 0, steps)?,
        all.narrow(0, steps, recurrence.cell.states())?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{randint, randn};

    #[test]
    fn the_kernel_agrees_with_single_operations() {
        for cell in [Cell::Tanh, Cell::Relu, Cell::Lstm, Cell::Gru] {
            compare(&format!("{cell:?}"), 30, |case| {
                let hidden = case.one_of(&[1, 3, 16, 37]);
                let (steps, batch) = (case.between(1, 6), case.between(1, 9));
                let bias = case.between(0, 1);
                let (rows, states) = (cell.gates() * hidden, cell.states());
                let valid = match case.one_of(&[true, false]) {
                    true => Some(randint(0, 2, (steps, batch)).into()),
                    false => None,
                };
                let recurrence = Recurrence {
                    cell,
                    reverse: case.one_of(&[true, false]),
                    valid,
                    projection: None,
                };
                let inputs = vec![
                    case.input(randn((steps, batch, rows))),
                    case.input(randn((rows, hidden + bias)) * 0.3),
                    case.input(randn((states, batch, hidden))),
                ];
                let other = recurrence.clone();
                let with_kernel = move |x: &[Raw]| {
                    dispatch_dtype!(x[0], kernel([&x[0], &x[1], &x[2]], &recurrence))
                };
                let steps = move |x: &[Raw]| steps::run([&x[0], &x[1], &x[2]], &other);
                Some((inputs, Box::new(with_kernel), Box::new(steps)))
            });
        }
    }
}
