//! The gradients of variables, without Candle's additions.
//!
//! Candle adds the gradient of a variable to zeros as well, on one core, which takes longer than the
//! optimiser's step. During [`backward`], the kernels store the gradient here instead.

use super::support::second_derivatives;
use super::total::Sum;
use super::views::View;
use crate::error::{OrRaise, explain};
use crate::ops::engine::strided::in_order;
use crate::ops::profile;
use crate::tensor::{GradStore, Raw, Tensor, changed_after, path_of_changed};
use candle_core::{Error, Result, TensorId};
use std::cell::RefCell;
use std::collections::HashMap;

type Gradients = HashMap<TensorId, Sum>;

thread_local! {
    /// The gradients of the variables of the [`backward`] that runs on this thread. This is ambient state,
    /// because Candle calls the nodes and passes them only tensors.
    static GRADIENTS: RefCell<Option<Gradients>> = const { RefCell::new(None) };
}

/// Returns the gradients of a loss. They are constants; [`backward_graph`](crate::ops::backward_graph) returns
/// gradients that have gradients.
///
/// # Panics
/// - If the loss was not computed from a parameter, or an operation has no gradient.
/// - If a parameter has changed since the loss was computed with it: by a step of an optimiser, or
///   [`set`](crate::nn::Parameter::set).
/// - If there is not enough memory on a GPU.
///
/// ```
/// use taper::prelude::*;
///
/// let net = Linear::new(3, 1);
/// let x = ones((2, 3));
/// let gradients = backward(&net.forward(&x).sum_all());
/// let weight = net.parameters()[0].tensor(); // (1, 3)
/// assert_eq!(gradients.get(&weight).unwrap().to_vec2::<f32>(), [[2.0, 2.0, 2.0]]);
/// ```
#[inline]
#[track_caller]
pub fn backward(loss: &Tensor) -> GradStore {
    GradStore::from_raw(backward_raw(loss.raw()).or_raise())
}

/// Computes [`backward`].
pub(in crate::ops) fn backward_raw(loss: &Raw) -> Result<candle_core::backprop::GradStore> {
    if !loss.track_op() {
        return Err(explain(
            "backward: this tensor was not computed from a parameter, so it has no gradients",
            "Compute the loss from parameters that are not frozen, outside of no_grad; gradients are constants unless backward_graph() has computed them",
        ).into());
    }
    // On the CPU, the kernels know more exactly what they have read.
    if !loss.device().is_cpu()
        && let Some(parameter) = changed_after(loss)
    {
        return Err(changed_parameter(parameter));
    }
    let outer = GRADIENTS.replace(Some(HashMap::new()));
    let restore = Restore(outer);
    let mut gradients = loss.backward()?;
    profile::came_to(0);
    let own = GRADIENTS.take().unwrap_or_default();
    drop(restore);
    for (id, own) in own {
        let own = own.into_raw();
        let sum = match gradients.get_id(id).cloned() {
            Some(other) => Sum::add(Some(Sum::Shared(other)), own, None)?.into_raw(),
            None => in_order(&own)?,
        };
        gradients.insert_id(id, sum);
    }
    if !second_derivatives() {
        // Candle's gradients have a part of their graph, which would give wrong second derivatives.
        let ids = gradients.get_ids().copied().collect::<Vec<_>>();
        for id in ids {
            if let Some(gradient) = gradients.get_id(id).map(Raw::detach) {
                gradients.insert_id(id, gradient);
            }
        }
    }
    Ok(gradients)
}

/// Returns the error for a parameter that a graph has used before it was changed.
pub(in crate::ops) fn changed_parameter(parameter: &Raw) -> Error {
    let name = match path_of_changed(parameter) {
        Some(path) => format!("the parameter {path}"),
        None => "a parameter".to_owned(),
    };
    explain(
        format_args!(
            "backward: {name} of shape {:?} has changed since the loss was computed with it",
            parameter.dims()
        ),
        "Compute the loss again after a step of the optimiser or a call of set(…), or call backward() before it",
    ).into()
}

/// Restores the gradients of the outer [`backward`] when the inner one ends, even by a panic.
struct Restore(Option<Gradients>);

impl Drop for Restore {
    fn drop(&mut self) {
        GRADIENTS.set(self.0.take());
    }
}

/// Stores the gradient of a variable, or of a view of it, if [`backward`] runs on this thread; otherwise returns it, for
/// Candle.
pub(super) fn put(variable: &Raw, gradient: Raw, view: Option<&View>) -> Result<Option<Raw>> {
    match put_id(variable.id(), &gradient, view)? {
        true => Ok(None),
        false => Ok(Some(Sum::add(None, gradient, view)?.into_raw())),
    }
}

/// Adds a gradient to the sum of the variable with this id. Returns whether [`backward`] runs on this thread.
pub(in crate::ops) fn put_id(id: TensorId, gradient: &Raw, view: Option<&View>) -> Result<bool> {
    let before = GRADIENTS.with_borrow_mut(|all| all.as_mut().map(|all| all.remove(&id)));
    let Some(before) = before else {
        return Ok(false);
    };
    let sum = Sum::add(before, gradient.clone(), view)?;
    GRADIENTS.with_borrow_mut(|all| all.as_mut().map(|all| all.insert(id, sum)));
    Ok(true)
}

/// Keeps the gradient of the output of a kernel, if [`backward`] runs on this thread.
pub(in crate::ops) fn keep(id: TensorId, gradient: &Raw) {
    GRADIENTS.with_borrow_mut(|gradients| {
        if let Some(gradients) = gradients {
            gradients.insert(id, Sum::Shared(gradient.clone()));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops;
    use crate::ops::engine::autograd::link_of;
    use crate::ops::testing::variable;
    use crate::tensor::{rand, tensor};

    /// Kernels use the first variable twice and Candle once; only Candle uses the second.
    #[test]
    fn gradients_are_those_of_candle() -> Result<()> {
        let [x, y] = [(); 2].map(|()| variable(&rand((3, 4))));
        let loss = || -> Result<Raw> {
            let z = (ops::tanh(&x).raw() * ops::sigmoid(&x).raw())?;
            ((z * x.raw())? + y.raw().sqr()?)?.sum_all()
        };
        let got = backward(&loss()?.into());
        let want = GradStore::from_raw(loss()?.backward()?);
        for x in [&x, &y] {
            let [got, want] = [&got, &want].map(|all| all.of(x).to_vec::<f32>());
            for (got, want) in got.iter().zip(want) {
                assert!((got - want).abs() < 1e-6, "{got} is not {want}");
            }
        }
        assert!(GRADIENTS.with_borrow(Option::is_none));
        Ok(())
    }

    #[test]
    fn a_loss_without_a_graph_is_an_error() {
        let x = variable(&tensor(&[1.0, 2.0]));
        let error = attempt(|| backward(&x.detach().sum(0))).err();
        let error = error.expect("an error").to_string();
        assert!(error.contains("not computed from a parameter"), "{error}");
    }

    #[test]
    fn a_variable_may_be_the_loss() {
        let x = variable(&tensor(&[1.0, 2.0]));
        assert_eq!(backward(&x).of(&x).to_vec1::<f32>(), [1.0, 1.0]);
    }

    #[test]
    fn an_error_leaves_nothing_behind() -> Result<()> {
        let y = ops::sigmoid(&variable(&tensor(&[1.0, 2.0])));
        let left = link_of(y.raw()).expect("it is from a kernel");
        left.node.slot.put(y.raw().ones_like()?, None)?;
        assert!(attempt(|| backward(&y.sum_all())).is_err());
        assert!(GRADIENTS.with_borrow(Option::is_none));
        Ok(())
    }
}
