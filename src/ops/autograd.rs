//! Gradients that have gradients, and gradients of any tensor.
//!
//! [`backward`](super::backward) lets Candle walk its graph, and computes constants. Candle does not show its graph, so
//! the functions here walk from kernel to kernel, by the links of `engine::autograd`, and compute with recorded
//! operations. A view, which is an operation of Candle's, is found by the memory that it shares.

mod composed;
mod custom;
mod hooks;

pub(super) use composed::gradients_of_composed;
pub(super) use custom::customized;
pub use custom::{checkpoint, custom_grad};
pub use hooks::per_example_grad;

use super::arithmetic::{Arithmetic, arithmetic};
use super::contiguous::{contiguous_raw, copied_in_order};
use super::engine::autograd::{
    Link, Source, View, backward_raw, gradient_of_base, has_kernel, keep, link_of, retain,
};
use crate::error::{self, OrRaise, attempt, explain};
use crate::tensor::{GradStore, Raw, Tensor, storage_address};
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, TensorId};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// Returns the gradients of a loss, with their graph, so that they have gradients themselves: PyTorch's
/// `create_graph=True`.
///
/// It computes on the CPU, in `f32` or `f64`.
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
    with_graph(loss).or_raise()
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

/// Computes [`Tensor::retain_grad`].
#[inline]
#[track_caller]
pub(crate) fn retain_grad(x: &Tensor) -> Tensor {
    retained(x.raw()).or_raise().into()
}

fn retained(x: &Raw) -> Result<Raw> {
    if x.is_variable() {
        return Ok(x.clone());
    }
    if !x.track_op() {
        return Err(explain(
            "retain_grad: this tensor was not computed from a parameter, so it has no gradient",
            "Call it on what is computed from parameters, outside of no_grad",
        )
        .into());
    }
    let own = match link_of(x) {
        Some(_) => x.clone(),
        None if has_kernel(&[x]) && x.elem_count() > 0 => copied_in_order(x)?,
        None => x.force_contiguous()?.apply_op1(Kept)?,
    };
    retain(&own, true);
    Ok(own)
}

/// Computes [`backward_graph`].
fn with_graph(loss: &Tensor) -> Result<GradStore> {
    // The rules of the kernels compute with the methods of tensors, which panic.
    let gradients = attempt(|| recorded(loss.raw(), &HashSet::new()))??;
    let mut all = GradStore::empty();
    for (id, gradient) in gradients {
        all.insert_id(id, gradient);
    }
    Ok(all)
}

/// Computes [`grad`] or, with the graph, [`grad_graph`].
fn gradients_of(loss: &Tensor, inputs: &[&Tensor], graph: bool) -> Result<Vec<Tensor>> {
    let known = |x: &&Tensor| x.raw().is_variable() || link_of(x.raw()).is_some();
    if let Some(i) = inputs.iter().position(|x| !known(x)) {
        return Err(error::argument(
            "grad",
            "parameters, or tensors that were computed from them",
            format_args!("a constant or a view, at index {i}"),
            "Take parameter.tensor(), or h = h.retain_grad() before the loss is computed with h",
        )
        .into());
    }
    let gradients = match graph {
        true => {
            let wanted = inputs.iter().map(|x| x.raw().id()).collect();
            let gradients = attempt(|| recorded(loss.raw(), &wanted))??;
            inputs
                .iter()
                .map(|x| gradients.get(&x.raw().id()).cloned())
                .collect::<Vec<_>>()
        }
        false => {
            let restore = inputs
                .iter()
                .map(|x| retain(x.raw(), true))
                .collect::<Vec<_>>();
            let gradients = backward_raw(loss.raw());
            for (x, before) in inputs.iter().zip(restore) {
                retain(x.raw(), before);
            }
            let gradients = gradients?;
            inputs
                .iter()
                .map(|x| gradients.get(x.raw()).cloned())
                .collect()
        }
    };
    let or_zeros = |(x, gradient): (&&Tensor, Option<Raw>)| match gradient {
        Some(gradient) => Ok(gradient.into()),
        None => x.raw().zeros_like().map(Tensor::from_raw),
    };
    inputs.iter().zip(gradients).map(or_zeros).collect()
}

/// Returns the gradients of the variables, and of the kernels' outputs that are wanted or retained, with their graphs.
fn recorded(loss: &Raw, wanted: &HashSet<TensorId>) -> Result<HashMap<TensorId, Raw>> {
    let mut walk = Walk::new(loss, HashSet::new());
    walk.run(loss.ones_like()?, wanted)?;
    Ok(walk.gradients)
}

/// A copy whose gradient is kept.
struct Kept;

impl CustomOp1 for Kept {
    fn name(&self) -> &'static str {
        "retain-grad"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((x.try_clone(layout)?, layout.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(&self, x: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        Ok((x.try_clone(layout)?, layout.shape().clone()))
    }

    fn bwd(&self, _: &Raw, output: &Raw, gradient: &Raw) -> Result<Option<Raw>> {
        keep(output.id(), gradient);
        Ok(Some(gradient.clone()))
    }
}

fn source_of(loss: &Raw) -> Result<Source> {
    match Source::of(Some(loss)) {
        Source::Constant => Err(explain(
            "backward: this tensor was not computed from a parameter, so it has no gradients",
            "Compute the loss from parameters that are not frozen, outside of no_grad",
        )
        .into()),
        source => Ok(source),
    }
}

/// A walk from the loss to the variables.
struct Walk {
    loss: Raw,
    /// The kernels at which the walk ends before the variables, by [`Link::address`].
    ends: HashSet<usize>,
    /// The variables and the outputs of kernels in the graph, by their memory, which views share.
    bases: OnceCell<HashMap<usize, Raw>>,
    /// The sums of the gradients of the outputs of kernels so far, by [`Link::address`].
    sums: HashMap<usize, Raw>,
    gradients: HashMap<TensorId, Raw>,
}

impl Walk {
    fn new(loss: &Raw, ends: HashSet<usize>) -> Self {
        Walk {
            loss: loss.clone(),
            ends,
            bases: OnceCell::new(),
            sums: HashMap::new(),
            gradients: HashMap::new(),
        }
    }

    /// Goes from the loss, which has this gradient, to all variables and ends. Also keeps the gradients of the kernels'
    /// outputs that are wanted or retained.
    fn run(&mut self, of_loss: Raw, wanted: &HashSet<TensorId>) -> Result<()> {
        self.add(&source_of(&self.loss)?, of_loss)?;
        for link in self.order()? {
            let Some(gradient) = self.sums.remove(&link.address()) else {
                continue;
            };
            let node = &link.node;
            node.check_versions()?;
            if let Some(id) = node.id.get()
                && (node.is_retained() || wanted.contains(id))
            {
                self.gradients.insert(*id, gradient.clone());
            }
            let gradient = match node.op.takes_views() {
                true => gradient,
                false => contiguous_raw(&gradient)?,
            };
            let of_inputs = link.recorded(&gradient)?;
            for (source, gradient) in node.sources.iter().zip(of_inputs) {
                if let Some(gradient) = gradient {
                    self.add(source, gradient)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the tensor that a view shows.
    fn base(&self, view: &Raw) -> Result<&Raw> {
        let bases = self.bases.get_or_init(|| {
            let nodes = self.loss.sorted_nodes().into_iter();
            let bases = nodes.filter(|x| x.is_variable() || link_of(x).is_some());
            bases.map(|x| (storage_address(x), x.clone())).collect()
        });
        bases.get(&storage_address(view)).ok_or_else(|| {
            explain(
                format_args!(
                    "second derivatives do not flow through an operation of Candle's, whose output has the shape {:?} and the type {}",
                    view.dims(),
                    view.dtype().as_str()
                ),
                "They flow through Taper's operations, on the CPU, in f32 and f64",
            ).into()
        })
    }

    /// Adds a gradient to those of its source.
    fn add(&mut self, source: &Source, gradient: Raw) -> Result<()> {
        match source {
            Source::Constant => Ok(()),
            Source::Kernel(link, None) => add_to(&mut self.sums, link.address(), gradient),
            Source::Kernel(link, Some(view)) => add_to(
                &mut self.sums,
                link.address(),
                gradient_of_base(view, &gradient)?,
            ),
            Source::Tensor(x, Some(view)) => add_to(
                &mut self.gradients,
                x.id(),
                gradient_of_base(view, &gradient)?,
            ),
            Source::Tensor(x, None) if x.is_variable() => {
                add_to(&mut self.gradients, x.id(), gradient)
            }
            Source::Tensor(x, None) => {
                let base = self.base(x)?.clone();
                match View::of(x, &base) {
                    Some(view) => self.add(&Source::of(Some(&base)), gradient_of_base(&view, &gradient)?),
                    None => Err(explain(
                        "second derivatives do not flow through a view of a parameter that is not contiguous",
                        "Create the parameter from x.contiguous()",
                    ).into()),
                }
            }
        }
    }

    /// Returns the kernel that computed a source, also behind a view.
    fn kernel(&self, source: &Source) -> Result<Option<Link>> {
        match source {
            Source::Constant => Ok(None),
            Source::Kernel(link, _) => Ok(Some(link.clone())),
            Source::Tensor(x, _) if x.is_variable() => Ok(None),
            Source::Tensor(view, _) => Ok(link_of(self.base(view)?)),
        }
    }

    /// Returns the kernels between the loss and the ends, each before those that computed its inputs.
    fn order(&self) -> Result<Vec<Link>> {
        let mut order = vec![];
        let mut seen = HashSet::new();
        // Each with whether its inputs are in the order already. A recursion could be too deep for the stack.
        let mut open: Vec<(Link, bool)> = self
            .kernel(&source_of(&self.loss)?)?
            .map(|link| (link, false))
            .into_iter()
            .collect();
        while let Some((link, is_done)) = open.pop() {
            if is_done {
                order.push(link);
                continue;
            }
            if self.ends.contains(&link.address()) || !seen.insert(link.address()) {
                continue;
            }
            open.push((link.clone(), true));
            for source in &link.node.sources {
                open.extend(self.kernel(source)?.map(|link| (link, false)));
            }
        }
        order.reverse();
        Ok(order)
    }
}

fn add_to<K: Eq + std::hash::Hash>(
    sums: &mut HashMap<K, Raw>,
    key: K,
    gradient: Raw,
) -> Result<()> {
    let sum = match sums.remove(&key) {
        Some(sum) => arithmetic(Arithmetic::Add, &sum, &gradient)?,
        None => gradient,
    };
    sums.insert(key, sum);
    Ok(())
}

#[cfg(test)]
mod tests;
