//! Gradients of tensors: the backward pass along the [tape](crate::ops::tape), with and without second derivatives.

mod custom;
mod hooks;

#[doc(hidden)]
pub use custom::customized;
pub use custom::{checkpoint, custom_grad};
pub use hooks::per_example_grad;

use crate::error::{OrRaise, attempt, refuse};
use crate::ops::tape::{Options, gradients};
use crate::tensor::{GradStore, Key, Raw, Tensor};
use candle_core::Result;

/// Returns the gradients of a loss. They are constants; [`backward_graph`](crate::ops::backward_graph) returns
/// gradients that have gradients.
///
/// # Panics
/// - If the loss was not computed from a parameter, or an operation has no gradient.
/// - If a parameter has changed since the loss was computed with it: by a step of an optimiser, or
///   `set`.
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
    of_loss(loss, false).or_raise()
}

/// Returns the gradients of a loss, with their graph, so that they have gradients themselves: PyTorch's
/// `create_graph=True`.
///
/// # Panics
/// If an operation between a parameter and the loss has no second derivatives; the error names it. And as
/// [`backward`](super::backward).
///
/// ```
/// use taper::prelude::*;
///
/// let x = Parameter::new(&tensor(&[1.0, 2.0])).tensor(); // (2,)
/// let slope = x.pow(4).sum_all().backward_graph().of(&x); // 4 x³
/// assert_eq!(slope.to_vec1::<f32>(), [4.0, 32.0]);
/// let second = slope.sum_all().backward().of(&x); // 12 x²
/// assert_eq!(second.to_vec1::<f32>(), [12.0, 48.0]);
/// ```
#[inline]
#[track_caller]
pub fn backward_graph(loss: &Tensor) -> GradStore {
    of_loss(loss, true).or_raise()
}

/// Returns the gradient of a loss with respect to each of these tensors, which may be parameters or what was computed
/// from them; zeros if the loss does not depend on one. PyTorch's `torch.autograd.grad`.
///
/// # Panics
/// If one of `inputs` is neither a parameter nor the output of an operation of Taper, and as
/// [`backward`](super::backward).
///
/// ```
/// use taper::prelude::*;
///
/// let x = Parameter::new(&tensor(&[1.0, 2.0])).tensor(); // (2,)
/// let h = &x * 3.0;
/// let of = grad(&h.sqr().sum_all(), &[&h, &x]);
/// assert_eq!(of[0].to_vec1::<f32>(), [6.0, 12.0]);
/// assert_eq!(of[1].to_vec1::<f32>(), [18.0, 36.0]);
/// ```
#[inline]
#[track_caller]
pub fn grad(loss: &Tensor, inputs: &[&Tensor]) -> Vec<Tensor> {
    gradients_of(loss, inputs, false).or_raise()
}

/// Returns what [`grad`] returns, with the graph of the gradients, so that they have gradients themselves: PyTorch's
/// `torch.autograd.grad(…, create_graph=True)`. A Hessian times a vector `v` is the gradient of `(gradient * v).sum_all()`.
///
/// # Panics
/// As [`grad`] and [`backward_graph`].
///
/// ```
/// use taper::prelude::*;
///
/// let x = Parameter::new(&tensor(&[1.0, 2.0])).tensor(); // (2,)
/// let slopes = grad_graph(&x.pow(3).sum_all(), &[&x]); // 3 x²
/// let v = tensor(&[1.0, 10.0]);
/// let products = grad(&(&slopes[0] * v).sum_all(), &[&x]); // 6 x v
/// assert_eq!(products[0].to_vec1::<f32>(), [6.0, 120.0]);
/// ```
#[inline]
#[track_caller]
pub fn grad_graph(loss: &Tensor, inputs: &[&Tensor]) -> Vec<Tensor> {
    gradients_of(loss, inputs, true).or_raise()
}

/// Computes [`backward`], or [`backward_graph`].
pub(super) fn of_loss(loss: &Tensor, with_graph: bool) -> Result<GradStore> {
    let options = Options {
        with_graph,
        ..Options::default()
    };
    let one = loss.raw().ones_like()?;
    // The rules compute with the methods of tensors, which panic.
    attempt(|| gradients(loss.raw(), one, &options))?.map(GradStore::from_all)
}

/// Computes [`grad`] or, with the graph, [`grad_graph`].
fn gradients_of(loss: &Tensor, inputs: &[&Tensor], with_graph: bool) -> Result<Vec<Tensor>> {
    let keys: Vec<Option<Key>> = inputs.iter().map(|x| x.raw().key()).collect();
    if let Some(i) = keys.iter().position(Option::is_none) {
        refuse!(argument("grad", format_args!("a constant, at index {i}"));
            "parameters, or tensors that were computed from them",
            "Take parameter.tensor(), or what is computed from it outside of no_grad");
    }
    let options = Options {
        with_graph,
        wanted: keys.iter().flatten().copied().collect(),
        ..Options::default()
    };
    let one = loss.raw().ones_like()?;
    let found = attempt(|| gradients(loss.raw(), one, &options))??;
    let or_zeros = |(x, key): (&&Tensor, Option<Key>)| match key.and_then(|key| found.get(&key)) {
        Some(gradient) => Ok(gradient.clone().into()),
        None => x.raw().zeros_like().map(Tensor::from_raw),
    };
    inputs.iter().zip(keys).map(or_zeros).collect()
}

/// Computes [`Tensor::retain_grad`].
#[inline]
#[track_caller]
pub(crate) fn retain_grad(x: &Tensor) -> Tensor {
    retained(x.raw()).or_raise().into()
}

fn retained(x: &Raw) -> Result<Raw> {
    match x.node() {
        Some(node) => {
            node.retain();
            Ok(x.clone())
        }
        None => refuse!(
            "retain_grad: this tensor was not computed from a parameter, so it has no gradient";
            "Call it on what is computed from parameters, outside of no_grad"),
    }
}

#[cfg(test)]
mod tests;
