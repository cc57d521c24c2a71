//! The kernel for operations on two tensors, and its backward pass.

use crate::error::attempt;
use crate::ops::broadcast::{Mapped, RUN, map};
use crate::ops::element_rule::{ElementRule, Gradient};
use crate::ops::engine::Element;
use crate::ops::engine::autograd::record;
use crate::ops::quantity::{Lane, Quantity, of_tensors};
use crate::ops::tape;
use crate::tensor::{Candle, Raw};
use candle_core::{Device, Result, WithDType};
use std::mem::MaybeUninit;
use taper_compute::simd::multiversion;

/// A function of two values.
pub(in crate::ops) trait Binary: Copy + Send + Sync + 'static {
    type Output<T: Element>: WithDType;
    /// Whether the value and the derivatives are computed by a few cheap instructions.
    const CHEAP: bool = false;

    fn value<T: Element, const FUSED: bool>(self, a: T, b: T) -> Self::Output<T>;
}

/// The formulas of a function of two values and of its gradients, which [`binary!`] implements.
pub(in crate::ops) trait Differentiable: Copy + Send + Sync + 'static {
    /// Whether the value and the derivatives are computed by a few cheap instructions.
    const CHEAP: bool = false;
    /// Whether exponentials and logarithms use a fused multiply-add where the processor has one.
    const FUSES: bool = true;
    /// For the derivatives by `a` and by `b`: whether they depend on `a` and on `b`.
    const DEPENDS: [[bool; 2]; 2] = [[true; 2]; 2];
    /// Whether the gradient of `a` and of `b` is that of the output.
    const PASSES: [bool; 2] = [false; 2];

    fn value<Q: Quantity>(self, a: Q, b: Q) -> Q;

    /// Returns the gradient of `a` or, if `SECOND`, of `b`. An operand on which it does not depend may be anything.
    fn gradient<Q: Quantity, const SECOND: bool>(self, g: Q, a: Q, b: Q) -> Q;
}

/// Implements [`Differentiable`]: the constants, where `DEPENDS` and `PASSES` may be left out; the value; and the gradients
/// of `a` and of `b` from the gradient `g`.
macro_rules! binary {
    ($($name:ident $(($($field:ident: $type:ty),*))? {
        cheap $cheap:literal $(fuses $fuses:literal)? $(depends $depends:tt passes $passes:tt)?;
        $g:ident, $a:ident, $b:ident => $value:expr; $of_a:expr; $of_b:expr
    })*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name { $($(pub(super) $field: $type,)*)? }

        #[allow(unused_variables, reason = "a formula need not use everything")]
        impl $crate::ops::arithmetic::Differentiable for $name {
            const CHEAP: bool = $cheap;
            $(const FUSES: bool = $fuses;)?
            $(
            const DEPENDS: [[bool; 2]; 2] = $depends;
            const PASSES: [bool; 2] = $passes;
            )?

            #[inline(always)]
            fn value<Q: Quantity>(self, $a: Q, $b: Q) -> Q {
                let Self { $($($field,)*)? } = self;
                $value
            }

            #[inline(always)]
            fn gradient<Q: Quantity, const SECOND: bool>(self, $g: Q, $a: Q, $b: Q) -> Q {
                let Self { $($($field,)*)? } = self;
                if SECOND { $of_b } else { $of_a }
            }
        }
    )*};
}
pub(in crate::ops) use binary;

impl<F: Differentiable> Binary for F {
    type Output<T: Element> = T;
    const CHEAP: bool = F::CHEAP;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, a: T, b: T) -> T {
        match F::FUSES {
            true => Differentiable::value(self, Lane::<T, FUSED>(a), Lane(b)).0,
            false => Differentiable::value(self, Lane::<T, false>(a), Lane(b)).0,
        }
    }
}

#[inline(always)]
fn gradient<T: Element, F: Differentiable, const FUSED: bool, const SECOND: bool>(
    function: F,
    [g, a, b]: [T; 3],
) -> T {
    // Without methods of arrays, which would not be inlined.
    match F::FUSES {
        true => {
            let (g, a, b) = (Lane::<T, FUSED>(g), Lane(a), Lane(b));
            function.gradient::<_, SECOND>(g, a, b).0
        }
        false => {
            let (g, a, b) = (Lane::<T, false>(g), Lane(a), Lane(b));
            function.gradient::<_, SECOND>(g, a, b).0
        }
    }
}

/// Returns the values for two tensors that are not empty, and are broadcast to a shape; and the tensors as they were read.
pub(in crate::ops) fn values<T: Element, F: Binary>(
    shape: &[usize],
    operands: [&Raw; 2],
    function: F,
) -> Result<Mapped<F::Output<T>, 2>> {
    // SAFETY: `combine` initialises the whole slice.
    unsafe {
        map::<T, _, 2, true>(shape, operands, &move |[a, b], out| {
            combine(a, b, out, function);
        })
    }
}

/// Computes with two tensors that are not empty, and records the backward pass.
pub(in crate::ops) fn forward<T: Element>(
    a: &Raw,
    b: &Raw,
    shape: &[usize],
    function: impl Differentiable,
) -> Result<Raw> {
    let (values, inputs) = values::<T, _>(shape, [a, b], function)?;
    record(&[a, b], values, shape, || {
        rule([a, b], inputs, function, Some(gradient_of::<T, _>))
    })
}

/// Computes with two tensors of one shape by operations, for other devices.
pub(in crate::ops) fn by_operations(
    a: &Raw,
    b: &Raw,
    function: impl Differentiable,
) -> Result<Raw> {
    let inputs = [&a.detach().into(), &b.detach().into()];
    let values = attempt(|| of_tensors(inputs, |[a, b]| Differentiable::value(function, a, b)))?;
    Ok(recorded_values(values.into(), [a, b], function))
}

/// Records the backward pass of values that were computed from two operands: the formulas compute the gradients.
pub(super) fn recorded_values(
    values: Candle,
    operands: [&Raw; 2],
    function: impl Differentiable,
) -> Raw {
    tape::record(values, &operands, || {
        rule(operands, operands.map(Raw::detach), function, None)
    })
}

/// Computes the gradient of the first or the second operand from the output's gradient and the saved operands.
type Kernel<F> = fn(F, &Raw, &[Option<Raw>; 2], usize) -> Result<Raw>;

/// Returns the backward pass; without a kernel, the formulas compute the gradients.
fn rule<F: Differentiable>(
    operands: [&Raw; 2],
    inputs: [Raw; 2],
    function: F,
    kernel: Option<Kernel<F>>,
) -> ElementRule {
    let depends = |k: usize| (0..2).any(|i| operands[i].track_op() && F::DEPENDS[i][k]);
    let keeps = [depends(0), depends(1), false];
    let [a, b] = inputs;
    let saved = [(a, depends(0)), (b, depends(1))].map(|(x, is_saved)| is_saved.then_some(x));
    ElementRule {
        keeps,
        kernel: kernel.map(|kernel| -> Gradient {
            Box::new(move |upstream, i| match F::PASSES[i] {
                true => Ok(upstream.gradient.clone()),
                false => kernel(function, upstream.gradient, &saved, i),
            })
        }),
        ..ElementRule::new(&operands, move |upstream, i| {
            // An operand that is not kept is not used.
            let operand = |k: usize| {
                if keeps[k] {
                    upstream.x(k)
                } else {
                    Ok(upstream.g())
                }
            };
            let inputs = [upstream.g(), operand(0)?, operand(1)?];
            let terms = attempt(|| {
                of_tensors(inputs, |[g, a, b]| match i {
                    0 => function.gradient::<_, false>(g, a, b),
                    _ => function.gradient::<_, true>(g, a, b),
                })
            })?;
            Ok(terms.into())
        })
    }
}

fn gradient_of<T: Element, F: Differentiable>(
    function: F,
    gradient: &Raw,
    saved: &[Option<Raw>; 2],
    operand: usize,
) -> Result<Raw> {
    // An operand that the formula does not use has not been saved.
    let used = |i: usize| saved[i].as_ref().filter(|_| F::DEPENDS[operand][i]);
    let [a, b] = [0, 1].map(|i| used(i).unwrap_or(gradient));
    // SAFETY: `differentiate` initialises the whole slice.
    let (terms, _) = unsafe {
        map::<T, _, 3, false>(gradient.dims(), [gradient, a, b], &move |inputs, out| {
            differentiate(operand, inputs, out, function);
        })
    }?;
    Raw::from_vec(terms, gradient.shape(), &Device::Cpu)
}

/// Combines each value with the one for its run.
#[inline(always)]
fn by_run<T: Element, O>(
    values: &[T],
    ones: &[T],
    out: &mut [MaybeUninit<O>],
    combine: impl Fn(T, T) -> O,
) {
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

multiversion! {
    cheap F::CHEAP;
    fn differentiate<T: Element, F: Differentiable>(operand: usize, inputs: [&[T]; 3], out: &mut [MaybeUninit<T>], function: F) {
        match operand {
            0 => gradients::<T, F, FUSED, false>(inputs, out, function),
            _ => gradients::<T, F, FUSED, true>(inputs, out, function),
        }
    }
}

/// Computes the gradients of one of the operands, of which each has as many values as the output, or one.
#[inline(always)]
fn gradients<T: Element, F: Differentiable, const FUSED: bool, const SECOND: bool>(
    [g, a, b]: [&[T]; 3],
    out: &mut [MaybeUninit<T>],
    function: F,
) {
    // Constants, so that the compiler leaves out the loops that the function never needs.
    let [by_a, by_b] = F::DEPENDS[SECOND as usize];
    let (first, second) = (a[0], b[0]);
    match [by_a && a.len() == out.len(), by_b && b.len() == out.len()] {
        _ if F::PASSES[SECOND as usize] => unreachable!("the gradient is passed on"),
        [true, true] => {
            for (((out, g), a), b) in out.iter_mut().zip(g).zip(a).zip(b) {
                out.write(gradient::<T, F, FUSED, SECOND>(function, [*g, *a, *b]));
            }
        }
        [true, false] => {
            for ((out, g), a) in out.iter_mut().zip(g).zip(a) {
                out.write(gradient::<T, F, FUSED, SECOND>(function, [*g, *a, second]));
            }
        }
        [false, true] => {
            for ((out, g), b) in out.iter_mut().zip(g).zip(b) {
                out.write(gradient::<T, F, FUSED, SECOND>(function, [*g, first, *b]));
            }
        }
        [false, false] => {
            for (out, g) in out.iter_mut().zip(g) {
                out.write(gradient::<T, F, FUSED, SECOND>(
                    function,
                    [*g, first, second],
                ));
            }
        }
    }
}
