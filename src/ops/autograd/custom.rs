//! Functions with their own backward pass, and those that are computed again in it.

use crate::error::{OrRaise, attempt, explain};
use crate::ops::engine::autograd::{
    Backward, Downstream, Recorded, Upstream, backward_raw, changed_parameter, has_kernel, put_id,
    recorded_as,
};
use crate::tensor::{
    Raw, Tensor, changed_since, changes, generator_state, no_grad, restore_generator,
};
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, TensorId, Var, bail};

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
    customized(x, &y.detach(), Box::new(backward)).or_raise()
}

pub(in crate::ops) type Rule = Box<dyn Fn(&Tensor, &Tensor) -> Tensor + Send + Sync>;

pub(in crate::ops) fn customized(x: &Tensor, y: &Tensor, rule: Rule) -> Result<Tensor> {
    record(
        x.raw(),
        y.raw(),
        Custom {
            rule,
            x: x.raw().detach(),
        },
    )
    .map(Tensor::from_raw)
}

/// Records a value that was computed from `x`.
fn record(x: &Raw, y: &Raw, back: impl Backward) -> Result<Raw> {
    match has_kernel(&[x]) && has_kernel(&[y]) && y.elem_count() > 0 {
        true => recorded_as(&[x], y, back),
        // On other devices the value is the second input of a node of Candle's.
        false => x.apply_op2(&y.force_contiguous()?, OnDevice(back)),
    }
}

struct Custom {
    rule: Rule,
    x: Raw,
}

impl Custom {
    fn gradient(&self, x: &Raw, gradient: &Raw) -> Result<Downstream> {
        let (x, gradient) = (Tensor::from_raw_ref(x), Tensor::from_raw_ref(gradient));
        let of_x = attempt(|| (self.rule)(x, gradient))?;
        match of_x.dims() == x.dims() {
            true => Ok([Some(of_x.into()), None, None]),
            false => Err(explain(
                format_args!(
                    "custom_grad: the backward pass returned a gradient of shape {:?} for an input of shape {:?}",
                    of_x.dims(),
                    x.dims()
                ),
                "Return a gradient of the input's shape",
            ).into()),
        }
    }
}

impl Backward for Custom {
    fn backward(&self, upstream: Upstream<'_>) -> Result<Downstream> {
        no_grad(|| self.gradient(&self.x, upstream.gradient))
    }

    fn keeps(&self) -> [bool; 3] {
        [true, false, false]
    }

    fn recorded(&self, upstream: &Recorded<'_>) -> Result<Downstream> {
        self.gradient(upstream.input(0)?, upstream.gradient)
    }
}

/// A backward pass as a node of Candle's, whose second input is the value.
struct OnDevice<B>(B);

impl<B: Backward> CustomOp2 for OnDevice<B> {
    fn name(&self) -> &'static str {
        "custom"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        y: &CpuStorage,
        layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Ok((y.try_clone(layout)?, layout.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        y: &CudaStorage,
        layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        Ok((y.try_clone(layout)?, layout.shape().clone()))
    }

    fn bwd(&self, _: &Raw, _: &Raw, _: &Raw, gradient: &Raw) -> Result<(Option<Raw>, Option<Raw>)> {
        let [of_x, ..] = self
            .0
            .backward(Upstream::of(gradient, [true, false, false]))?;
        Ok((of_x, None))
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
    let (generator, time) = (generator_state(), changes());
    let y = attempt(|| no_grad(|| compute(&x.detach())))?;
    // Parameters within have gradients although `x` is a constant.
    let input = match x.raw().track_op() {
        true => x.raw().clone(),
        false => leaf(x.raw())?,
    };
    let again = Again {
        compute,
        x: x.raw().detach(),
        generator,
        time,
    };
    record(&input, &y.raw().detach(), again).map(Tensor::from_raw)
}

struct Again {
    compute: Compute,
    x: Raw,
    generator: ([u8; 32], u64, u128),
    time: u64,
}

impl Again {
    /// Computes the output again, with a graph, and the same random numbers.
    fn output(&self, x: &Raw) -> Result<Tensor> {
        let before = generator_state();
        restore_generator(self.generator);
        let y = attempt(|| (self.compute)(Tensor::from_raw_ref(x)));
        restore_generator(before);
        let y = y?;
        let nodes = y.raw().sorted_nodes();
        let changed = |node: &&&Raw| node.is_variable() && changed_since(node, self.time);
        match nodes.iter().find(changed) {
            None => Ok(y),
            Some(parameter) => Err(changed_parameter(parameter)),
        }
    }
}

impl Backward for Again {
    fn backward(&self, upstream: Upstream<'_>) -> Result<Downstream> {
        let x = leaf(&self.x)?;
        let y = self.output(&x)?;
        let loss = (y * Tensor::from_raw_ref(upstream.gradient)).sum_all();
        let mut gradients = backward_raw(loss.raw())?;
        let of_x = gradients.remove(&x);
        let ids: Vec<TensorId> = gradients.get_ids().copied().collect();
        for id in ids {
            if let Some(gradient) = gradients.get_id(id)
                && !put_id(id, gradient, None)?
            {
                bail!("checkpoint: expected a backward pass of Taper's, found one of Candle's");
            }
        }
        Ok([of_x, None, None])
    }
}

/// Returns a variable of these values.
fn leaf(values: &Raw) -> Result<Raw> {
    Ok(Var::from_tensor(&values.detach())?.into_inner())
}
