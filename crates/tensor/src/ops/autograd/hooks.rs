//! Functions that see gradients, and the gradients of each example.

use super::custom::customized;
use super::grad;
use crate::tensor::Tensor;
use candle_core::Result;
use taper_macros::raises;

impl Tensor {
    /// Returns this tensor with a hook: a backward pass calls `hook` with the gradient of the returned tensor, and
    /// continues with the gradient that `hook` returns. The loss must be computed from the returned tensor; in PyTorch,
    /// `register_hook` changes the tensor itself.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = Parameter::new(&tensor(&[1.0, 2.0])).tensor(); // (2,)
    /// let h = (&x * 3.0).register_hook(|gradient| gradient.clamp(-3.0, 3.0)); // (2,)
    /// let gradients = h.sqr().sum_all().backward();
    /// assert_eq!(gradients.of(&x).to_vec1::<f32>(), [9.0, 9.0]);
    /// ```
    ///
    /// # Panics
    /// In the backward pass as `hook`, or if it returns a gradient of another shape.
    #[inline]
    #[track_caller]
    pub fn register_hook(
        &self,
        hook: impl Fn(&Tensor) -> Tensor + Send + Sync + 'static,
    ) -> Tensor {
        hooked(self, Box::new(move |_, gradient| hook(gradient)))
    }
}

#[raises]
fn hooked(x: &Tensor, hook: super::custom::Rule) -> Result<Tensor> {
    match x.track_op() {
        true => Ok(customized(x, x, hook)),
        // Nothing is recorded, as in an evaluation.
        false => Ok(x.clone()),
    }
}

/// Returns the gradient of the loss of each example with respect to each of these tensors, stacked along a new first
/// dimension. `loss` computes the loss of the example with an index. Each example has a backward pass of its own.
///
/// # Panics
/// As `loss` and [`grad`], and if `count` is 0.
///
/// ```
/// use taper::prelude::*;
///
/// let w = Parameter::new(&tensor(&[1.0, 2.0])).tensor(); // (2,)
/// let x = tensor(&[[1.0, 0.0], [3.0, 4.0]]); // (2, 2)
/// let all = per_example_grad(2, |i| (x.i(i) * &w).sum_all(), &[&w]);
/// assert_eq!(all[0].to_vec2::<f32>(), [[1.0, 0.0], [3.0, 4.0]]);
/// ```
#[inline]
#[track_caller]
pub fn per_example_grad(
    count: usize,
    loss: impl Fn(usize) -> Tensor,
    inputs: &[&Tensor],
) -> Vec<Tensor> {
    each_grad(count, &loss, inputs)
}

#[raises]
fn each_grad(
    count: usize,
    loss: &dyn Fn(usize) -> Tensor,
    inputs: &[&Tensor],
) -> Result<Vec<Tensor>> {
    crate::ops::check::positive(&"per_example_grad", &[("count", count)])?;
    let each: Vec<Vec<Tensor>> = (0..count).map(|i| grad(&loss(i), inputs)).collect();
    let stacked = |k: usize| {
        let of_all: Vec<&Tensor> = each.iter().map(|of_one| &of_one[k]).collect();
        Tensor::stack(&of_all, 0)
    };
    Ok((0..inputs.len()).map(stacked).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::variable;
    use crate::tensor::{no_grad, tensor};
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_hook_sees_the_gradient_in_every_backward_pass() {
        let x = variable(&tensor(&[1.0, 2.0]));
        let seen = Arc::new(Mutex::new(vec![]));
        let log = seen.clone();
        let h = (&x * 2.0).register_hook(move |g| {
            log.lock().unwrap().push(g.to_vec1::<f32>());
            g * 10.0
        });
        let loss = h.sqr().sum_all();
        for _ in 0..2 {
            assert_eq!(loss.backward().of(&x).to_vec1::<f32>(), [80.0, 160.0]);
        }
        assert_eq!(*seen.lock().unwrap(), [[4.0, 8.0], [4.0, 8.0]]);
        // The gradient of a gradient passes the hook once more.
        let slope = loss.backward_graph().of(&x);
        let second = slope.sum_all().backward().of(&x);
        assert_eq!(second.to_vec1::<f32>(), [800.0, 800.0]);
        assert!(!no_grad(|| x.detach().register_hook(Tensor::clone)).track_op());
    }
}
