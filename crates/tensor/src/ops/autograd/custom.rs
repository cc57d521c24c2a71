//! Functions with their own backward pass, and those that are computed again in it.

use crate::error::{OrRaise, attempt, refuse};
use crate::ops::tape::{self, Backward, Downstream, Options, Upstream, check_unchanged, now};
use crate::tensor::{
    Candle, Raw, Tensor, generator_state, no_grad, precision, restore_generator, with_precision,
    with_recording,
};
use candle_core::{DType, Result};

/// Computes `forward(x)`, with `backward` as its derivative: from `x` and the gradient of the output it returns the
/// gradient of `x`. PyTorch's `torch.autograd.Function`, for gradients that are not those of the function: a
/// straight-through estimator, a reversed gradient, a more exact formula.
///
/// The gradient itself has a gradient, as `backward` computes it.
///
/// # Panics
/// As `forward`; and in the backward pass as `backward`, or if it returns a gradient of another shape than `x`.
///
/// ```
/// use taper::prelude::*;
///
/// let x = Parameter::new(&tensor(&[0.2, 1.7])).tensor(); // (2,)
/// // Rounds, but passes the gradient on as if it did not.
/// let y = custom_grad(&x, |x| x.round(), |_, gradient| gradient.clone());
/// assert_eq!(y.to_vec1::<f32>(), [0.0, 2.0]);
/// assert_eq!((y * 3.0).sum_all().backward().of(&x).to_vec1::<f32>(), [3.0, 3.0]);
/// ```
#[inline]
#[track_caller]
pub fn custom_grad(
    x: &Tensor,
    forward: impl FnOnce(&Tensor) -> Tensor,
    backward: impl Fn(&Tensor, &Tensor) -> Tensor + Send + Sync + 'static,
) -> Tensor {
    let y = no_grad(|| forward(&x.detach()));
    customized(x, &y, Box::new(backward))
}

pub(super) type Rule = Box<dyn Fn(&Tensor, &Tensor) -> Tensor + Send + Sync>;

/// Returns the value `y`, which was computed from `x`, with this rule for the gradient.
#[doc(hidden)]
pub fn customized(x: &Tensor, y: &Tensor, rule: Rule) -> Tensor {
    tape::record(y.as_candle().clone(), &[x.raw()], || Custom { rule }).into()
}

struct Custom {
    rule: Rule,
}

impl Backward for Custom {
    fn keeps(&self) -> [bool; 3] {
        [true, false, false]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (x, gradient) = (upstream.x(0)?, upstream.g());
        let of_x = attempt(|| (self.rule)(x, gradient))?;
        refuse!(if of_x.dims() != x.dims();
            ("custom_grad: the backward pass returned a gradient of shape {:?} for an input of shape {:?}",
             of_x.dims(), x.dims());
            "Return a gradient of the input's shape");
        Ok([Some(of_x.into()), None, None])
    }
}

functions! {
    /// Computes `compute(x)` without keeping what its backward pass needs, which is computed again then: less memory for
    /// one more forward pass. Random numbers are the same in both. PyTorch's `torch.utils.checkpoint`.
    ///
    /// # Panics
    /// As `compute`; and in the backward pass if a parameter has changed since.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let w = Parameter::new(&ones((4, 8)));
    /// let x = ones((3, 4));
    /// let layer = w.clone();
    /// let y = checkpoint(&x, move |x| x.matmul(&layer.tensor()).tanh()); // (3, 8)
    /// let of = |y: Tensor| y.sum_all().backward().of(&w.tensor()).to_vec2::<f32>();
    /// assert_eq!(of(y), of(x.matmul(&w.tensor()).tanh()));
    /// ```
    pub fn checkpoint(x: &Tensor, compute: impl Fn(&Tensor) -> Tensor + Send + Sync + 'static) =
        checkpointed(x, Box::new(compute)).or_raise();
}

type Compute = Box<dyn Fn(&Tensor) -> Tensor + Send + Sync>;

pub(crate) fn checkpointed(x: &Tensor, compute: Compute) -> Result<Tensor> {
    let (generator, time) = (generator_state(), now());
    let y = attempt(|| no_grad(|| compute(&x.detach())))?;
    // Parameters within have gradients although `x` is a constant.
    let input = match x.raw().track_op() {
        true => x.raw().clone(),
        false => Raw::variable(x.raw())?,
    };
    let recompute = || Recompute {
        compute,
        x: x.raw().detach(),
        generator,
        precision: precision(),
        time,
    };
    Ok(tape::record(Candle::from(y), &[&input], recompute).into())
}

/// The backward pass of [`checkpoint`].
struct Recompute {
    compute: Compute,
    x: Raw,
    generator: ([u8; 32], u64, u128),
    precision: Option<DType>,
    time: u64,
}

impl Recompute {
    /// Computes the output again, with a graph, and the same random numbers.
    fn output(&self, x: Raw) -> Result<Raw> {
        let before = generator_state();
        restore_generator(self.generator);
        let compute = || attempt(|| (self.compute)(&x.into()));
        let y = with_precision(self.precision, || with_recording(true, compute));
        restore_generator(before);
        let y = y?.into();
        check_unchanged(&y, self.time)?;
        Ok(y)
    }
}

impl Backward for Recompute {
    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let x = Raw::variable(&self.x)?;
        let y = self.output(x.clone())?;
        let mut found = tape::gradients(&y, upstream.gradient.clone(), &Options::default())?;
        let of_x = x.key().and_then(|key| found.remove(&key));
        for (key, gradient) in found {
            upstream.add_to_leaf(key, gradient)?;
        }
        Ok([of_x, None, None])
    }
}
