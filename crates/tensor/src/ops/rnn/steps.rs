//! The recurrence by single operations, step by step: for GPUs, and for second derivatives.

use super::recurrence::Recurrence;
use crate::error::attempt;
use crate::ops::contiguous::copied_in_order;
use crate::ops::engine::autograd::has_kernel;
use crate::ops::select::chosen;
use crate::ops::{cat_as, contiguous_raw, linear_as};
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Result};

/// Returns the outputs of all steps, followed by the state after the last:
/// `(steps + states, batch, hidden)`. If the weight has one column more than the state has features, its
/// last column is the bias.
pub(super) fn run([gates, weight, state]: [&Raw; 3], recurrence: &Recurrence) -> Result<Raw> {
    let (states, _, hidden) = state.dims3()?;
    let outputs = { recurrence.projection.as_ref() }.map_or(Ok(hidden), |weight| weight.dim(0))?;
    let gates = parts(gates)?;
    let bias = match weight.dim(1)? > outputs {
        true => Some(contiguous_raw(&weight.narrow(1, outputs, 1)?)?.flatten_all()?),
        false => None,
    };
    let weight = weight.narrow(1, 0, outputs)?;
    let mut state = (0..states)
        .map(|i| state.get(i))
        .collect::<Result<Vec<_>>>()?;
    state[0] = state[0].narrow(1, 0, outputs)?;
    let missing = hidden - outputs;
    let mut outputs = gates.clone();
    for t in recurrence.order(gates.len()) {
        let products = linear_as(&"rnn", &state[0], &weight, bias.as_ref())?; // (batch, gates · hidden)
        let (x, products) = (Tensor::from(&gates[t]), Tensor::from(products));
        let before: Vec<Tensor> = state.iter().map(Tensor::from).collect();
        let next = attempt(|| recurrence.cell.step(&x, &products, &before))?;
        let mut next: Vec<Raw> = next.into_iter().map(Raw::from).collect();
        if let Some(projection) = &recurrence.projection {
            next[0] = linear_as(&"rnn", &next[0], projection, None)?;
        }
        outputs[t] = next[0].clone();
        if let Some(valid) = &recurrence.valid {
            let valid = valid.get(t)?.to_dtype(DType::U8)?.unsqueeze(1)?;
            let kept = |yes: &Raw, no: &Raw| chosen(&valid, yes, no, yes.dims());
            outputs[t] = kept(&next[0], &next[0].zeros_like()?)?;
            for (next, before) in next.iter_mut().zip(&state) {
                *next = kept(next, before)?;
            }
        }
        state = next;
    }
    let last = outputs.len();
    outputs.extend(state);
    if missing > 0 {
        for output in &mut outputs[..=last] {
            *output = output.pad_with_zeros(1, 0, missing)?;
        }
    }
    let rows = outputs.iter().map(|x| x.unsqueeze(0));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    cat_as(&"rnn", &rows.iter().collect::<Vec<_>>(), 0.into())
}

/// Returns the parts along the first dimension. The tensor is halved again and again, because the
/// gradient of a part has the size of the tensor that it is taken from.
fn parts(x: &Raw) -> Result<Vec<Raw>> {
    let count = x.dim(0)?;
    if count == 1 {
        return Ok(vec![x.squeeze(0)?]);
    }
    let half = |start: usize, end: usize| {
        let half = x.narrow(0, start, end - start)?;
        match has_kernel(&[x]) {
            true => copied_in_order(&half),
            false => Ok(half),
        }
    };
    let (first, second) = (half(0, count / 2)?, half(count / 2, count)?);
    Ok([parts(&first)?, parts(&second)?].concat())
}
