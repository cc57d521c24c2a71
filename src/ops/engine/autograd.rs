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
//! the gradients are passed from slot to slot. Any other operation uses the output as the
//! ordinary tensor that it is; its gradient is then added to the slot as well. If the input of a kernel is a view, which
//! is an operation of Candle's, the token is connected to that of the tensor whose memory the view shares ([`View`]).
//!
//! The element that Candle passes along the chain is the number of gradients that were added to a slot.
//! If the slot itself counts another number, it still holds gradients of another `backward`, which failed or
//! runs at the same time; that is an error.
//!
//! This backward pass computes constants. The other one, `backward_graph`, follows the links between the kernels itself,
//! and computes with recorded operations, so that the gradients have gradients.

mod backward;
mod graph;
mod held;
mod linear;
mod node;
mod places;
mod support;
mod total;
mod variables;
mod views;

pub(in crate::ops) use backward::{
    Backward, Downstream, Recorded, Upstream, no_second_derivative, of_first,
};
pub(crate) use graph::{Graph, graph_of};
pub(in crate::ops) use held::Held;
pub(in crate::ops) use linear::{Form, Third, linear, recorded_as, recorded_linear};
pub(crate) use node::mark_output;
pub(in crate::ops) use node::{Link, Source, is_sigmoid, link_of, retain};
pub(in crate::ops) use places::{Places, gradient_of_base};
pub(in crate::ops) use support::{has_kernel, second_derivatives};
pub use variables::backward;
pub(in crate::ops) use variables::{backward_raw, changed_parameter, keep, put_id};
pub(in crate::ops) use views::View;

use super::memory::keep_freed_memory;
use super::simd::Element;
use crate::tensor::Raw;
use crate::tensor::is_grad_enabled;
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, Result, Shape, Storage};
use node::{Node, connect};

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
    connect(Node::new(inputs, op), inputs, values, shape)
}

/// Returns whether a tensor is the output of a kernel.
#[cfg(test)]
pub(in crate::ops) fn is_from_kernel(tensor: &Raw) -> bool {
    link_of(tensor).is_some()
}

#[cfg(test)]
mod tests {
    use super::node::{LINKS, lock};
    use super::*;
    use crate::ops;
    use crate::tensor::Tensor;
    use candle_core::{Device, Var};

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
        link_of(&y).unwrap().node.slot.put(left, None).unwrap();
        let loss = y.sum_all().unwrap();
        let message = loss.backward().unwrap_err().to_string();
        assert!(message.contains("another backward()"), "{message}");
        assert!(loss.backward().is_ok(), "the error clears the slot");
    }
}
