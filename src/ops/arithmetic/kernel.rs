//! The kernel for operations on two tensors, and its backward pass.

use crate::ops::broadcast::{Piece, Plan, RUN};
use crate::ops::engine::CpuView;
use crate::ops::engine::autograd::{Backward, Downstream, Upstream, record};
use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::reduce::sums_along;
use crate::tensor::{Raw, Tensor};
use candle_core::{Device, Result, WithDType};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A function of two values.
pub(in crate::ops) trait Binary: Copy + Send + Sync + 'static {
    type Output<T: Element>: WithDType;
    /// Whether the value and the derivatives are computed by a few cheap instructions.
    const CHEAP: bool = false;

    fn value<T: Element, const FUSED: bool>(self, a: T, b: T) -> Self::Output<T>;
}

/// A function of two values with its derivatives.
pub(in crate::ops) trait Differentiable: Binary {
    /// For the derivatives by `a` and by `b`: whether they depend on `a` and on `b`.
    const DEPENDS: [[bool; 2]; 2];
    /// Whether the gradient of `a` and of `b` is that of the output.
    const PASSES: [bool; 2];

    /// Returns the gradient of `a` or, if `SECOND`, of `b`. An operand on which it does not depend may be 0.
    fn gradient<T: Element, const FUSED: bool, const SECOND: bool>(self, g: T, a: T, b: T) -> T;

    /// Does the same with recorded operations, for second derivatives.
    fn recorded(self, second: bool, g: &Tensor, a: &Tensor, b: &Tensor) -> Tensor;
}

/// Returns the values for two tensors that are not empty, and are broadcast to a shape.
pub(in crate::ops) fn values<T: Element, F: Binary>(
    plan: &Plan<2>,
    [a, b]: [&Raw; 2],
    function: F,
) -> Result<Vec<F::Output<T>>> {
    let (a, b) = (CpuView::of_strided(a)?, CpuView::of_strided(b)?);
    let (a, b) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
    // SAFETY: `combine` initialises the whole slice.
    Ok(unsafe {
        plan.fill(|mut walk, out| {
            let (mut c, mut d) = (Piece::new(), Piece::new());
            while let Some(range) = walk.next() {
                let (a, b) = (walk.by_run(0, a, &mut c), walk.by_run(1, b, &mut d));
                combine(a, b, &mut out[range], function);
            }
        })
    })
}

/// Computes with two tensors that are not empty, and records the backward pass.
pub(super) fn forward<T: Element>(
    a: &Raw,
    b: &Raw,
    shape: &[usize],
    function: impl Differentiable<Output<T> = T>,
) -> Result<Raw> {
    let (plan, inputs) = Plan::of(shape, [a, b])?;
    let values = values::<T, _>(&plan, inputs.each_ref(), function)?;
    record(&[a, b], values, shape, || {
        Back::<T, _>::of([a, b], inputs, function)
    })
}

struct Back<T, F> {
    shapes: [Vec<usize>; 2],
    /// The operands on which the derivatives depend.
    saved: [Option<Raw>; 2],
    function: F,
    element: PhantomData<T>,
}

impl<T: Element, F: Differentiable> Backward for Back<T, F> {
    fn takes_views(&self) -> bool {
        true
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let mut gradients = [None, None, None];
        if upstream.wanted[0] {
            gradients[0] = Some(self.gradient_of::<false>(upstream.gradient)?);
        }
        if upstream.wanted[1] {
            gradients[1] = Some(self.gradient_of::<true>(upstream.gradient)?);
        }
        Ok(gradients)
    }

    fn keeps(&self) -> [bool; 3] {
        [self.saved[0].is_some(), self.saved[1].is_some(), false]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let mut gradients = [None, None, None];
        for i in (0..2).filter(|i| upstream.wanted[*i]) {
            // An operand that is not saved is not used.
            let operand = |k: usize| match self.saved[k] {
                Some(_) => upstream.x(k),
                None => Ok(upstream.g()),
            };
            let terms = self
                .function
                .recorded(i == 1, upstream.g(), operand(0)?, operand(1)?);
            gradients[i] = Some(recorded_sum(&terms, &self.shapes[i]).into());
        }
        Ok(gradients)
    }
}

impl<T: Element, F: Differentiable> Back<T, F> {
    fn of(operands: [&Raw; 2], inputs: [Raw; 2], function: F) -> Self {
        let [of_a, of_b] = F::DEPENDS;
        let [a_wanted, b_wanted] = operands.map(Raw::track_op);
        let mut saved = inputs.map(Some);
        for i in 0..2 {
            if !(a_wanted && of_a[i] || b_wanted && of_b[i]) {
                saved[i] = None;
            }
        }
        let shapes = operands.map(|x| x.dims().to_vec());
        Back {
            shapes,
            saved,
            function,
            element: PhantomData,
        }
    }

    fn gradient_of<const SECOND: bool>(&self, gradient: &Raw) -> Result<Raw> {
        if F::PASSES[SECOND as usize] {
            let sums = recorded_sum(&gradient.clone().into(), &self.shapes[SECOND as usize]);
            return Ok(sums.into());
        }
        let zero = Raw::zeros((), gradient.dtype(), &Device::Cpu)?;
        let depends = F::DEPENDS[SECOND as usize];
        let operand = |i: usize| {
            self.saved[i]
                .as_ref()
                .filter(|_| depends[i])
                .unwrap_or(&zero)
        };
        let (plan, inputs) = Plan::of(gradient.dims(), [gradient, operand(0), operand(1)])?;
        let views = [&inputs[0], &inputs[1], &inputs[2]].map(CpuView::of_strided);
        let [g, a, b] = views;
        let (g, a, b) = (g?, a?, b?);
        let (g, a, b) = (g.as_slice::<T>()?, a.as_slice::<T>()?, b.as_slice::<T>()?);
        // SAFETY: `differentiate` initialises the whole slice.
        let terms = unsafe {
            plan.fill(|mut walk, out| {
                let (mut c, mut d, mut e) = (Piece::new(), Piece::new(), Piece::new());
                while let Some(range) = walk.next() {
                    let g = walk.each(0, g, &mut c);
                    let (a, b) = (walk.part(1, a, &mut d), walk.part(2, b, &mut e));
                    match SECOND {
                        false => first_gradient(g, a, b, &mut out[range], self.function),
                        true => second_gradient(g, a, b, &mut out[range], self.function),
                    }
                }
            })
        };
        sum_to_shape(terms, gradient.dims(), &self.shapes[SECOND as usize])
    }
}

/// Returns the gradient of an operand of this shape: the sums of terms along the dimensions in which it was
/// broadcast.
fn sum_to_shape<T: Element>(terms: Vec<T>, from: &[usize], shape: &[usize]) -> Result<Raw> {
    let dims = summed_dims(from, shape);
    let sums = match dims.is_empty() {
        true => terms,
        false => sums_along(&terms, from, &dims),
    };
    Raw::from_vec(sums, shape, &Device::Cpu)
}

/// Does what [`sum_to_shape`] does for a tensor, which may be a view and is recorded.
pub(in crate::ops) fn recorded_sum(terms: &Tensor, shape: &[usize]) -> Tensor {
    match summed_dims(terms.dims(), shape) {
        dims if dims.is_empty() => terms.clone(),
        dims => terms.sum(&dims[..]).reshape(shape),
    }
}

/// Returns the dimensions in which an operand of this shape was broadcast.
fn summed_dims(from: &[usize], shape: &[usize]) -> Vec<usize> {
    let new = from.len() - shape.len();
    let is_summed = |dim: &usize| *dim < new || shape[*dim - new] != from[*dim];
    (0..from.len()).filter(is_summed).collect()
}

/// Combines each value with the one for its run.
#[inline(always)]
fn by_run<T: Element, O>(
    values: &[T],
    ones: &[T],
    out: &mut [MaybeUninit<O>],
    combine: impl Fn(T, T) -> O,
) {
    if let [one] = ones {
        for (out, value) in out.iter_mut().zip(values) {
            out.write(combine(*value, *one));
        }
        return;
    }
    let run = out.len() / ones.len();
    let rows = out.chunks_exact_mut(run).zip(values.chunks_exact(run));
    for ((out, values), one) in rows.zip(ones) {
        // Blocks, because the compiler expects many more elements in a loop over short rows.
        let (blocks, rest) = out.as_chunks_mut::<RUN>();
        let (values, last) = values.as_chunks::<RUN>();
        for (out, values) in blocks.iter_mut().zip(values) {
            for i in 0..RUN {
                out[i].write(combine(values[i], *one));
            }
        }
        for (out, value) in rest.iter_mut().zip(last) {
            out.write(combine(*value, *one));
        }
    }
}

multiversion! {
    cheap F::CHEAP;
    /// Combines two operands. If one of them has fewer values than the output, each is for as many elements, and the
    /// other operand has a value for each element, or both have one.
    fn combine<T: Element, F: Binary>(a: &[T], b: &[T], out: &mut [MaybeUninit<F::Output<T>>], function: F) {
        if a.len() == b.len() && a.len() < out.len() {
            out.fill(MaybeUninit::new(function.value::<T, FUSED>(a[0], b[0])));
        } else if b.len() < out.len() {
            by_run(a, b, out, #[inline(always)] |a, b| function.value::<T, FUSED>(a, b));
        } else if a.len() < out.len() {
            by_run(b, a, out, #[inline(always)] |b, a| function.value::<T, FUSED>(a, b));
        } else {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                out.write(function.value::<T, FUSED>(*a, *b));
            }
        }
    }
}

/// The loops for the gradient of one of the operands.
macro_rules! gradient_loop {
    ($name:ident, $second:literal) => {
        multiversion! {
            cheap F::CHEAP;
            fn $name<T: Element, F: Differentiable>(g: &[T], a: &[T], b: &[T], out: &mut [MaybeUninit<T>], function: F) {
                let [depends_on_a, depends_on_b] = F::DEPENDS[$second as usize];
                let several = [depends_on_a && a.len() == g.len(), depends_on_b && b.len() == g.len()];
                match several {
                    [true, true] => {
                        for (((out, g), a), b) in out.iter_mut().zip(g).zip(a).zip(b) {
                            out.write(function.gradient::<T, FUSED, $second>(*g, *a, *b));
                        }
                    }
                    [true, false] => {
                        let b = b[0];
                        for ((out, g), a) in out.iter_mut().zip(g).zip(a) {
                            out.write(function.gradient::<T, FUSED, $second>(*g, *a, b));
                        }
                    }
                    [false, true] => {
                        let a = a[0];
                        for ((out, g), b) in out.iter_mut().zip(g).zip(b) {
                            out.write(function.gradient::<T, FUSED, $second>(*g, a, *b));
                        }
                    }
                    [false, false] => {
                        let (a, b) = (a[0], b[0]);
                        for (out, g) in out.iter_mut().zip(g) {
                            out.write(function.gradient::<T, FUSED, $second>(*g, a, b));
                        }
                    }
                }
            }
        }
    };
}
gradient_loop!(first_gradient, false);
gradient_loop!(second_gradient, true);
