//! The backward pass from kernel to kernel, without Candle's additions of gradients.
//!
//! Candle's `backward` adds each gradient to a tensor of zeros of its shape: two passes through
//! memory and two allocations for every operation, more than most kernels need themselves. So each
//! result of a kernel is two nodes in Candle's graph:
//!
//! ```text
//!   inputs ── token (one element) ── output (the values)
//! ```
//!
//! A kernel whose input is such an output connects its token to the output's token, not to the
//! output. So Candle sees a chain of tensors of one element, which it walks in the right order, while
//! the gradients are passed from [`Slot`] to slot. Any other operation uses the output as the
//! ordinary tensor that it is; its gradient is then added to the slot as well.
//!
//! The element that Candle passes along the chain is the number of gradients that were added to a slot.
//! If the slot itself counts another number, it still holds gradients of another `backward`, which failed or
//! runs at the same time; that is an error.

mod support;
mod total;
mod variables;

pub(in crate::ops) use support::{has_kernel, second_derivatives};
pub use variables::backward;

use super::memory::keep_freed_memory;
use super::simd::Element;
use super::strided::in_order;
use crate::error::explain;
use crate::tensor::Raw;
use crate::tensor::is_grad_enabled;
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, CustomOp1, CustomOp3, Device, Layout, Result, Shape, Storage};
use candle_core::{TensorId, bail};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use total::total;

/// The backward pass of a kernel.
pub(in crate::ops) trait Backward: Send + Sync + 'static {
    /// Returns whether [`backward`](Backward::backward) needs the output's values, which are kept only then.
    fn needs_output(&self) -> bool {
        false
    }

    /// Returns whether [`backward`](Backward::backward) takes a gradient that is not contiguous, such as that of a
    /// sum: one value again and again.
    fn takes_views(&self) -> bool {
        false
    }

    /// Returns the gradients of the inputs that are [wanted](Upstream::wanted).
    fn backward(&self, upstream: Upstream<'_>) -> Result<Downstream>;
}

/// The gradients that a kernel passes on: one for each input that is wanted.
pub(in crate::ops) type Downstream = [Option<Raw>; 3];

/// The arguments of a kernel's backward pass.
pub(in crate::ops) struct Upstream<'a> {
    /// The gradient of the output, contiguous unless [`takes_views`](Backward::takes_views).
    pub(in crate::ops) gradient: &'a Raw,
    /// Whether the gradient of each input is needed.
    pub(in crate::ops) wanted: [bool; 3],
    saved_output: Option<&'a Raw>,
}

impl<'a> Upstream<'a> {
    /// Returns the output, which is saved if [`needs_output`](Backward::needs_output).
    pub(in crate::ops) fn output(&self) -> Result<&'a Raw> {
        match self.saved_output {
            Some(output) => Ok(output),
            None => bail!("kernel: the output was not saved"),
        }
    }
}

/// Returns a tensor of these values. If the one to three `inputs` are tracked, records `op` as its backward
/// pass.
///
/// The results of all kernels are created here, so this also makes the C library keep freed memory.
pub(in crate::ops) fn record<T: Element, B: Backward>(
    inputs: &[&Raw],
    values: Vec<T>,
    shape: impl Into<Shape>,
    op: impl FnOnce() -> B,
) -> Result<Raw> {
    let op = are_tracked(inputs).then(|| Box::new(op()) as Box<dyn Backward>);
    add_nodes(inputs, T::to_cpu_storage_owned(values), shape.into(), op)
}

/// Returns whether gradients will flow through an output of these inputs.
pub(in crate::ops) fn are_tracked(inputs: &[&Raw]) -> bool {
    is_grad_enabled() && inputs.iter().any(|input| input.track_op())
}

/// Does the part of [`record`] that is not generic, so that it is compiled only once.
fn add_nodes(
    inputs: &[&Raw],
    values: CpuStorage,
    shape: Shape,
    op: Option<Box<dyn Backward>>,
) -> Result<Raw> {
    keep_freed_memory();
    let Some(op) = op else {
        let values = Storage::Cpu(values);
        return Ok(Raw::from_storage(values, shape, BackpropOp::none(), false));
    };
    let needs_output = op.needs_output();
    let input = |i: usize| inputs.get(i).copied().unwrap_or(inputs[0]);
    let links = [0, 1, 2].map(|i| link_of(input(i)));
    let slot = Arc::<Slot>::default();
    let output = Arc::new(OnceLock::new());
    let token = Token {
        op,
        slot: slot.clone(),
        output: output.clone(),
        before: [0, 1, 2].map(|i| links[i].as_ref().map(|link| link.slot.clone())),
        wanted: [0, 1, 2].map(|i| i < inputs.len() && input(i).track_op()),
    };
    let [a, b, c] = [0, 1, 2].map(|i| links[i].as_ref().map_or(input(i), |link| &link.token));
    let token = a.apply_op3(b, c, token)?;
    let id = Arc::new(OnceLock::new());
    let end = Output {
        values: Mutex::new(Some((values, shape))),
        slot: slot.clone(),
        id: id.clone(),
    };
    let tensor = token.apply_op1(end)?;
    if needs_output {
        let _ = output.set(tensor.detach());
    }
    let _ = id.set(tensor.id());
    lock(&LINKS).insert(tensor.id(), Link { token, slot });
    Ok(tensor)
}

/// The token and the slot of each living output of a kernel.
///
/// This is ambient state, because a Candle tensor has no field for such data: the next kernel gets
/// only the tensor and finds the token and the slot by its id. An entry is removed when the output's
/// node is dropped.
static LINKS: LazyLock<Mutex<HashMap<TensorId, Link>>> = LazyLock::new(Mutex::default);

#[derive(Clone)]
struct Link {
    token: Raw,
    slot: Arc<Slot>,
}

fn link_of(tensor: &Raw) -> Option<Link> {
    lock(&LINKS).get(&tensor.id()).cloned()
}

/// Returns whether a tensor is the output of a kernel.
#[cfg(test)]
pub(in crate::ops) fn is_from_kernel(tensor: &Raw) -> bool {
    link_of(tensor).is_some()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sum of an output's gradients so far, and their count. The kernel that computed the output
/// takes them.
#[derive(Default)]
struct Slot(Mutex<(Option<Raw>, f32)>);

impl Slot {
    /// Adds a gradient; returns the 1 that Candle adds to its count.
    fn put(&self, gradient: Raw) -> Result<Raw> {
        let mut slot = lock(&self.0);
        slot.0 = Some(match slot.0.take() {
            Some(sum) => total(&sum, &gradient)?,
            None => gradient,
        });
        slot.1 += 1.0;
        Raw::new(&[1f32], &Device::Cpu)
    }

    fn take(&self, count: &Raw) -> Result<Raw> {
        let (gradient, have) = std::mem::take(&mut *lock(&self.0));
        match gradient {
            Some(gradient) if count.to_vec1::<f32>()? == [have] => Ok(gradient.detach()),
            _ => Err(explain(
                "these gradients are mixed with those of another backward(), which failed or runs at the same time",
                "Compute the loss again, and call backward() on it once",
            )),
        }
    }
}

/// The node that runs the backward pass.
struct Token {
    op: Box<dyn Backward>,
    slot: Arc<Slot>,
    output: Arc<OnceLock<Raw>>,
    before: [Option<Arc<Slot>>; 3],
    wanted: [bool; 3],
}

impl CustomOp3 for Token {
    fn name(&self) -> &'static str {
        "taper-kernel"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Ok((CpuStorage::F32(vec![0.0]), Shape::from(1)))
    }

    fn bwd(
        &self,
        a: &Raw,
        b: &Raw,
        c: &Raw,
        _: &Raw,
        count: &Raw,
    ) -> Result<(Option<Raw>, Option<Raw>, Option<Raw>)> {
        let mut gradient_of_output = self.slot.take(count)?;
        if !self.op.takes_views() {
            gradient_of_output = in_order(&gradient_of_output)?;
        }
        let gradients = self.op.backward(Upstream {
            gradient: &gradient_of_output,
            wanted: self.wanted,
            saved_output: self.output.get(),
        })?;
        drop(gradient_of_output);
        let [x, y, z] = gradients;
        let passed = |gradient, input: &Raw, i: usize| match (gradient, &self.before[i]) {
            (Some(gradient), Some(slot)) => slot.put(gradient).map(Some),
            (Some(gradient), None) if input.is_variable() => variables::put(input, gradient),
            (gradient, _) => Ok(gradient),
        };
        Ok((passed(x, a, 0)?, passed(y, b, 1)?, passed(z, c, 2)?))
    }
}

/// The node that holds the values.
struct Output {
    values: Mutex<Option<(CpuStorage, Shape)>>,
    slot: Arc<Slot>,
    id: Arc<OnceLock<TensorId>>,
}

impl CustomOp1 for Output {
    fn name(&self) -> &'static str {
        "taper-output"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        match lock(&self.values).take() {
            Some(values) => Ok(values),
            None => bail!("kernel: the values of an output can be taken only once"),
        }
    }

    fn bwd(&self, _: &Raw, _: &Raw, gradient: &Raw) -> Result<Option<Raw>> {
        self.slot.put(gradient.clone()).map(Some)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let link = self.id.get().and_then(|id| lock(&LINKS).remove(id));
        // Dropping the token may drop other outputs, which take the lock: it must be free by now.
        drop(link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;
    use crate::tensor::Tensor;
    use candle_core::Var;

    fn sigmoid(x: &Raw) -> Raw {
        ops::sigmoid(Tensor::from_raw_ref(x)).into()
    }

    fn gradient(loss: &Raw, var: &Var) -> Vec<f64> {
        let gradients = loss.backward().unwrap();
        gradients.get(var).unwrap().to_vec1().unwrap()
    }

    /// Two kernels and Candle's multiplication use the output `y`.
    #[test]
    fn an_output_sums_the_gradients_of_all_its_uses() {
        let x = Var::new(&[0.3, -1.2], &Device::Cpu).unwrap();
        let s = |x: f64| 1.0 / (1.0 + (-x).exp());
        let y = sigmoid(&x);
        let z = (sigmoid(&y) + (&y * &y).unwrap()).unwrap();
        let loss = (z + sigmoid(&y)).unwrap().sum_all().unwrap();
        let want = |x: f64| {
            let y = s(x);
            (2.0 * s(y) * (1.0 - s(y)) + 2.0 * y) * y * (1.0 - y)
        };
        for _ in 0..2 {
            let got = gradient(&loss, &x);
            for (got, x) in got.iter().zip([0.3, -1.2]) {
                assert!((got - want(x)).abs() < 1e-12, "{got} is not {}", want(x));
            }
        }
    }

    #[test]
    fn dropped_outputs_leave_no_links() {
        let x = Var::new(&[0.3, -1.2], &Device::Cpu).unwrap();
        let (y, constant) = (sigmoid(&x), sigmoid(&x.detach()));
        assert!(is_from_kernel(&y) && !is_from_kernel(&constant) && !constant.track_op());
        let id = y.id();
        let z = sigmoid(&y);
        drop(y);
        assert!(!lock(&LINKS).contains_key(&id));
        assert_eq!(gradient(&z.sum_all().unwrap(), &x).len(), 2);
    }

    #[test]
    fn gradients_left_from_a_failed_backward_are_an_error() {
        let x = Var::new(&[0.3, -1.2], &Device::Cpu).unwrap();
        let y = sigmoid(&x);
        let left = y.ones_like().unwrap();
        link_of(&y).unwrap().slot.put(left).unwrap();
        let loss = y.sum_all().unwrap();
        let message = loss.backward().unwrap_err().to_string();
        assert!(message.contains("another backward()"), "{message}");
        assert!(loss.backward().is_ok(), "the error clears the slot");
    }
}
