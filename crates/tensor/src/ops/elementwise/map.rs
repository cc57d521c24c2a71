//! A function of each element: the loops on all cores, and the backward pass.

use crate::error::attempt;
use crate::ops::broadcast::{Piece, Plan};
use crate::ops::check;
use crate::ops::dispatch;
use crate::ops::element_rule::{ElementRule, Gradient};
use crate::ops::engine::autograd::{Upstream, are_tracked, record};
use crate::ops::engine::read::{read, read_strided};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{Element, dispatch_dtype};
use crate::ops::quantity::{Lane, Quantity, of_tensors};
use crate::ops::tape;
use crate::tensor::{Candle, Raw, Tensor};
use candle_core::{Device, Result};
use std::fmt::Display;
use std::mem::MaybeUninit;
use taper_compute::shared_slice::vec_filled_by;
use taper_compute::simd::multiversion;
use taper_compute::write::vec_by_chunks;

/// The elements of one task.
const CHUNK: usize = 1 << 14;

/// What the backward pass of a function needs.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::ops) enum Saved {
    /// Nothing: the gradient of the input is that of the output.
    Identity,
    Nothing,
    Input,
    Output,
}

/// The formulas of a function and of its gradient, which [`function!`] implements.
pub(in crate::ops) trait Function: Copy + Send + Sync + 'static {
    const SAVED: Saved;
    /// Whether the value is computed by a few cheap instructions.
    const CHEAP: bool = false;
    /// Whether the forward pass computes the derivative, too, because it shares most of the work.
    const TOGETHER: bool = false;
    /// Whether it is the sigmoid function, which losses of logits must not get.
    const SIGMOID: bool = false;

    fn value<Q: Quantity>(self, x: Q) -> Q;

    /// Computes the gradient of the input from the output's gradient and what is saved: the input, the output, or the gradient
    /// again.
    fn gradient<Q: Quantity>(self, gradient: Q, saved: Q) -> Q;

    /// Returns the value and the derivative.
    #[inline(always)]
    fn both<Q: Quantity>(self, x: Q) -> (Q, Q) {
        (self.value(x), self.gradient(Q::from(1.0), x))
    }

    /// Returns the value by one of Candle's operations, for other devices. A function needs it if the formula of its value
    /// is only a method of [`Quantity`] or an operator.
    fn with_candle(self, _x: &Candle) -> Option<Result<Candle>> {
        None
    }
}

/// Implements [`Function`]: what is saved, and the constants that are true; the value; the gradient from the output's
/// and what is saved; and Candle's operation, if it is needed. After `both` and what they share, the value and the derivative
/// are computed from the input.
macro_rules! function {
    ($($name:ident $(($($field:ident: $type:ty),*))? { $($formula:tt)* })*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name { $($(pub(super) $field: $type,)*)? }

        $crate::ops::elementwise::function!(@ $name { $($($field),*)? } $($formula)*);
    )*};
    (@ $name:ident $fields:tt both { $($shared:tt)* } $x:ident => $value:expr; $derivative:expr) => {
        #[allow(unused_variables, reason = "the value does not need all that is shared")]
        impl $crate::ops::elementwise::Function for $name {
            const SAVED: $crate::ops::elementwise::Saved = $crate::ops::elementwise::Saved::Input;
            const TOGETHER: bool = true;

            #[inline(always)]
            fn value<Q: $crate::ops::quantity::Quantity>(self, $x: Q) -> Q {
                $($shared)*
                $value
            }

            #[inline(always)]
            fn gradient<Q: $crate::ops::quantity::Quantity>(self, g: Q, $x: Q) -> Q {
                $($shared)*
                g * ($derivative)
            }

            #[inline(always)]
            fn both<Q: $crate::ops::quantity::Quantity>(self, $x: Q) -> (Q, Q) {
                $($shared)*
                ($value, $derivative)
            }
        }
    };
    (@ $name:ident $fields:tt $saved:ident $($constant:ident)*;
        $x:ident => $value:expr;
        $g:ident, $kept:ident => $gradient:expr
        $(; candle $candle:ident => $with_candle:expr)?) => {
        #[allow(unused_variables, reason = "a formula need not use every setting")]
        impl $crate::ops::elementwise::Function for $name {
            const SAVED: $crate::ops::elementwise::Saved = $crate::ops::elementwise::Saved::$saved;
            $(const $constant: bool = true;)*

            #[inline(always)]
            fn value<Q: $crate::ops::quantity::Quantity>(self, $x: Q) -> Q {
                let Self $fields = self;
                $value
            }

            #[inline(always)]
            fn gradient<Q: $crate::ops::quantity::Quantity>(self, $g: Q, $kept: Q) -> Q {
                let Self $fields = self;
                $gradient
            }
            $(

            fn with_candle(self, $candle: &$crate::tensor::Candle) -> Option<candle_core::Result<$crate::tensor::Candle>> {
                let Self $fields = self;
                Some($with_candle)
            })?
        }
    };
}
pub(in crate::ops) use function;

function! {
    // A function whose derivative the forward pass has computed and saved.
    Known { Input CHEAP; x => x; g, derivative => g * derivative }
}

/// Returns a function of each element of floating-point numbers.
pub(in crate::ops) fn apply(caller: &dyn Display, x: &Raw, function: impl Function) -> Result<Raw> {
    check::floating(caller, x)?;
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    dispatch::run(
        &[x],
        |x| dispatch_dtype!(x[0], forward(x[0], function)),
        |x| by_operations(x[0], function),
    )
}

/// Computes the value with Candle, for other devices.
pub(in crate::ops) fn by_operations(x: &Raw, function: impl Function) -> Result<Raw> {
    let values = match function.with_candle(x.values()) {
        Some(values) => values?,
        None => {
            let x = Tensor::from(x.detach());
            attempt(|| of_tensors([&x], |[x]| function.value(x)))?.into()
        }
    };
    Ok(tape::record(values, &[x], || rule(function, x, None, None)))
}

type Value<T> = dyn Fn(&[T], &mut [MaybeUninit<T>]) + Sync;
type Both<T> = dyn Fn(&[T], &mut [MaybeUninit<T>], &mut [MaybeUninit<T>]) + Sync;
type GradientLoop<T> = dyn Fn(&[T], &[T], &mut [MaybeUninit<T>]) + Sync;
/// Computes the gradient of the input from the output's gradient and what is saved, as a constant.
type Kernel = Box<dyn Fn(&Raw, &Raw) -> Result<Raw> + Send + Sync>;

/// Calls the loops of a function. Each loop initialises one element of each output for each element that it reads.
/// All other code is compiled only once, not again for each function.
fn forward<T: Element>(x: &Raw, function: impl Function) -> Result<Raw> {
    match is_together(function) && are_tracked(&[x]) {
        true => together::<T>(
            x,
            &move |x, y, derivative| map_both(x, y, derivative, function),
            &|derivative| rule(function, x, Some(kernel::<T>(Known {})), Some(derivative)),
        ),
        false => alone::<T>(x, &move |x, y| map_values(x, y, function), &|input| {
            rule(function, x, Some(kernel::<T>(function)), Some(input))
        }),
    }
}

fn is_together<F: Function>(_: F) -> bool {
    F::TOGETHER
}

fn alone<T: Element>(x: &Raw, value: &Value<T>, rule: &dyn Fn(Raw) -> ElementRule) -> Result<Raw> {
    // The backward pass reads the copy in order, too.
    let input = in_order(x)?;
    let y = read([&input], |[x]| {
        // SAFETY: the slices have the same length, and the loop initialises one element for each that it reads.
        unsafe { vec_by_chunks(x.len(), CHUNK, |first, y| value(&x[first..][..y.len()], y)) }
    })?;
    record(&[x], y, x.shape(), || rule(input))
}

/// Computes the derivatives as well.
fn together<T: Element>(x: &Raw, both: &Both<T>, rule: &dyn Fn(Raw) -> ElementRule) -> Result<Raw> {
    let mut y = Vec::new();
    let derivative = read([x], |[x]| {
        // SAFETY: the chunks cover all indices and do not overlap; the loop initialises an element of both
        // slices, which have the same length, for each that it reads.
        unsafe {
            vec_filled_by(x.len(), |derivative| {
                y = vec_by_chunks(x.len(), CHUNK, |first, y| {
                    let derivative = derivative.part(first, y.len());
                    both(&x[first..first + y.len()], y, derivative);
                });
            })
        }
    })?;
    let derivative = Raw::from_vec(derivative, x.shape(), x.device())?;
    record(&[x], y, x.shape(), || rule(derivative))
}

fn kernel<T: Element>(function: impl Function) -> Kernel {
    Box::new(move |g, saved| {
        gradient_of::<T>(g, saved, &move |g, saved, out| {
            map_gradient(g, saved, out, function)
        })
    })
}

fn gradient_of<T: Element>(g: &Raw, saved: &Raw, gradient: &GradientLoop<T>) -> Result<Raw> {
    let (plan, inputs) = Plan::of(g.dims(), [g, saved])?;
    // SAFETY: the slices have the same length, and the loop initialises one element for each that it
    // reads.
    let of_x = read_strided(inputs.each_ref(), |[g, saved]| unsafe {
        plan.fill(|mut walk, out| {
            let (mut a, mut b) = (Piece::new(), Piece::new());
            while let Some(range) = walk.next() {
                let (g, saved) = (walk.each(0, g, &mut a), walk.each(1, saved, &mut b));
                gradient(g, saved, &mut out[range]);
            }
        })
    })?;
    Raw::from_vec(of_x, g.shape(), &Device::Cpu)
}

/// Returns the backward pass; without a kernel, the formula computes the gradient. `input` is the saved input or derivative.
fn rule<F: Function>(
    function: F,
    x: &Raw,
    kernel: Option<Kernel>,
    input: Option<Raw>,
) -> ElementRule {
    let input = input.filter(|_| F::SAVED == Saved::Input);
    ElementRule {
        // Of GELU and SiLU, the kernel keeps only the derivative, so this needs memory for the input.
        keeps: [F::SAVED == Saved::Input, false, false],
        needs_output: F::SAVED == Saved::Output,
        is_sigmoid: F::SIGMOID,
        held: input.clone(),
        kernel: kernel.map(|kernel| with_saved(F::SAVED, input, kernel)),
        ..ElementRule::new(&[x], move |upstream, _| {
            let inputs = [upstream.g(), saved_of(F::SAVED, upstream)?];
            let of_x = attempt(|| of_tensors(inputs, |[g, saved]| function.gradient(g, saved)))?;
            Ok(of_x.into())
        })
    }
}

fn with_saved(saved: Saved, input: Option<Raw>, kernel: Kernel) -> Gradient {
    Box::new(move |upstream, _| match (saved, &input) {
        (Saved::Identity, _) => Ok(upstream.gradient.clone()),
        (_, Some(input)) => kernel(upstream.gradient, input),
        (_, None) => kernel(upstream.gradient, saved_of(saved, upstream)?.raw()),
    })
}

fn saved_of<'a>(saved: Saved, upstream: &Upstream<'a>) -> Result<&'a Tensor> {
    match saved {
        Saved::Input => upstream.x(0),
        Saved::Output => upstream.output(),
        Saved::Identity | Saved::Nothing => Ok(upstream.g()),
    }
}

multiversion! {
    cheap F::CHEAP;
    fn map_values<T: Element, F: Function>(x: &[T], y: &mut [MaybeUninit<T>], function: F) {
        for (y, x) in y.iter_mut().zip(x) {
            y.write(function.value(Lane::<T, FUSED>(*x)).0);
        }
    }
}

multiversion! {
    fn map_both<T: Element, F: Function>(x: &[T], y: &mut [MaybeUninit<T>], derivative: &mut [MaybeUninit<T>], function: F) {
        for ((y, derivative), x) in y.iter_mut().zip(derivative).zip(x) {
            let both = function.both(Lane::<T, FUSED>(*x));
            y.write(both.0.0);
            derivative.write(both.1.0);
        }
    }
}

multiversion! {
    cheap F::CHEAP || matches!(F::SAVED, Saved::Output);
    fn map_gradient<T: Element, F: Function>(gradient: &[T], saved: &[T], out: &mut [MaybeUninit<T>], function: F) {
        for ((out, g), saved) in out.iter_mut().zip(gradient).zip(saved) {
            out.write(function.gradient(Lane::<T, FUSED>(*g), Lane(*saved)).0);
        }
    }
}
