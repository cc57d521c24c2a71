//! A function of each element: the loops on all cores, and the backward pass.

use crate::ops::broadcast::{Piece, Plan};
use crate::ops::check;
use crate::ops::dispatch;
use crate::ops::engine::autograd::{
    Backward, Downstream, Held, Upstream, are_tracked, of_first, record,
};
use crate::ops::engine::shared_slice::vec_filled_by;
use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, dispatch_dtype, vec_by_chunks};
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;
use std::mem::MaybeUninit;

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

/// A function with its derivative.
pub(in crate::ops) trait Function: Copy + Send + Sync + 'static {
    /// From what the derivative is computed.
    const SAVED: Saved = Saved::Output;
    /// Whether the value is computed by a few cheap instructions.
    const CHEAP: bool = false;
    /// Whether the forward pass computes the derivative, too, because it shares most of the work.
    const TOGETHER: bool = false;
    /// Whether it is the sigmoid function, which losses of logits must not get.
    const SIGMOID: bool = false;

    fn value<T: Element, const FUSED: bool>(self, x: T) -> T;

    /// Returns the derivative, from the saved input or output.
    fn derivative<T: Element, const FUSED: bool>(self, saved: T) -> T;

    /// Returns the value and the derivative.
    #[inline(always)]
    fn both<T: Element, const FUSED: bool>(self, x: T) -> (T, T) {
        (self.value::<T, FUSED>(x), self.derivative::<T, FUSED>(x))
    }

    /// Does what [`gradient`](Self::gradient) does with recorded operations, for second derivatives. For a function that
    /// saves nothing, `saved` is the gradient; with `None`, what it is composed of is differentiated, from the saved input.
    fn recorded(self, _gradient: &Tensor, _saved: &Tensor) -> Option<Tensor> {
        None
    }

    /// Computes the gradient of the input from the gradient of the output.
    #[inline(always)]
    fn gradient<T: Element, const FUSED: bool>(self, gradient: T, saved: T) -> T {
        gradient * self.derivative::<T, FUSED>(saved)
    }
}

/// A function whose derivative the forward pass has computed and saved.
#[derive(Clone, Copy)]
struct Known;

impl Function for Known {
    const CHEAP: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        x
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, derivative: T) -> T {
        derivative
    }
}

/// A function of each element, computed by operations.
pub(in crate::ops) trait Composed:
    Fn(&Raw) -> Result<Raw> + Clone + Send + Sync + 'static
{
}

impl<F: Fn(&Raw) -> Result<Raw> + Clone + Send + Sync + 'static> Composed for F {}

/// Returns a function of each element of floating-point numbers.
pub(in crate::ops) fn apply(
    caller: &dyn Display,
    x: &Raw,
    function: impl Function,
    with_candle: impl Composed,
) -> Result<Raw> {
    check::floating(caller, x)?;
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    let compose = with_candle.clone();
    dispatch::run(
        &[x],
        |x| dispatch_dtype!(x[0], forward(x[0], function, Box::new(compose))),
        |x| with_candle(x[0]),
    )
}

fn forward<T: Element>(x: &Raw, function: impl Function, composed: Box<Compose>) -> Result<Raw> {
    run(x, Loops::<T>::of(function), composed)
}

type Value<T> = dyn Fn(&[T], &mut [MaybeUninit<T>]) + Sync;
type Both<T> = dyn Fn(&[T], &mut [MaybeUninit<T>], &mut [MaybeUninit<T>]) + Sync;
type Gradient<T> = dyn Fn(&[T], &[T], &mut [MaybeUninit<T>]) + Send + Sync;
type Compose = dyn Fn(&Raw) -> Result<Raw> + Send + Sync;
type Rule = dyn Fn(&Tensor, &Tensor) -> Option<Tensor> + Send + Sync;

/// The loops of a function. Each loop initialises one element of each output for each element that it reads.
/// All other code is compiled only once, not again for each function.
struct Loops<T> {
    /// From `x` to `y`.
    value: Box<Value<T>>,
    /// From `x` to `y` and the derivative, if the function computes both together.
    both: Option<Box<Both<T>>>,
    /// From the gradient of `y` and the saved input or output to the gradient of `x`.
    gradient: Box<Gradient<T>>,
    /// The same with recorded operations.
    recorded: Box<Rule>,
    saved: Saved,
    is_sigmoid: bool,
}

impl<T: Element> Loops<T> {
    fn of<F: Function>(function: F) -> Self {
        let both = move || -> Box<Both<T>> {
            Box::new(move |x, y, derivative| map_both(x, y, derivative, function))
        };
        Loops {
            value: Box::new(move |x, y| map(x, y, function)),
            both: F::TOGETHER.then(both),
            gradient: gradient_of(function),
            recorded: Box::new(move |gradient, saved| function.recorded(gradient, saved)),
            saved: F::SAVED,
            is_sigmoid: F::SIGMOID,
        }
    }
}

fn gradient_of<T: Element>(function: impl Function) -> Box<Gradient<T>> {
    Box::new(move |gradient, saved, out| map_gradient(gradient, saved, out, function))
}

fn run<T: Element>(x: &Raw, loops: Loops<T>, composed: Box<Compose>) -> Result<Raw> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    if let Some(both) = &loops.both
        && are_tracked(&[x])
    {
        let (y, derivative) = together(values, both);
        drop(view);
        let derivative = Raw::from_vec(derivative, x.shape(), x.device())?;
        return record(&[x], y, x.shape(), || Back::<T> {
            gradient: gradient_of(Known),
            recorded: loops.recorded,
            composed,
            saved: Saved::Input,
            is_sigmoid: loops.is_sigmoid,
            input: Some(derivative),
        });
    }
    // SAFETY: the slices have the same length, and the loop initialises one element for each that it reads.
    let y = unsafe {
        vec_by_chunks(values.len(), CHUNK, |first, y| {
            (loops.value)(&values[first..first + y.len()], y);
        })
    };
    drop(view);
    record(&[x], y, x.shape(), || Back {
        gradient: loops.gradient,
        recorded: loops.recorded,
        composed,
        saved: loops.saved,
        is_sigmoid: loops.is_sigmoid,
        input: (loops.saved == Saved::Input).then_some(input),
    })
}

/// Returns the values and the derivatives.
fn together<T: Element>(x: &[T], both: &Both<T>) -> (Vec<T>, Vec<T>) {
    let mut y = Vec::new();
    // SAFETY: the chunks cover all indices and do not overlap; the loop initialises an element of both
    // slices, which have the same length, for each that it reads.
    let derivative = unsafe {
        vec_filled_by(x.len(), |derivative| {
            y = vec_by_chunks(x.len(), CHUNK, |first, y| {
                let derivative = derivative.part(first, y.len());
                both(&x[first..first + y.len()], y, derivative);
            });
        })
    };
    (y, derivative)
}

struct Back<T> {
    gradient: Box<Gradient<T>>,
    recorded: Box<Rule>,
    composed: Box<Compose>,
    saved: Saved,
    is_sigmoid: bool,
    /// The saved input or derivative.
    input: Option<Raw>,
}

impl<T: Element> Backward for Back<T> {
    fn hold(&self, held: &mut Held) {
        self.input.iter().for_each(|x| held.tensor(x));
    }

    fn is_sigmoid(&self) -> bool {
        self.is_sigmoid
    }

    fn needs_output(&self) -> bool {
        self.saved == Saved::Output
    }

    /// Of GELU and SiLU, the backward pass keeps only the derivative, so this needs memory for the input.
    fn keeps(&self) -> [bool; 3] {
        [self.saved == Saved::Input, false, false]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let saved = match self.saved {
            Saved::Input => upstream.x(0)?,
            Saved::Output => upstream.output()?,
            Saved::Identity | Saved::Nothing => upstream.g(),
        };
        match (self.recorded)(upstream.g(), saved) {
            Some(of_x) => Ok([Some(of_x.into()), None, None]),
            None => upstream.of_composed(&|x| self.composed(x)),
        }
    }

    fn composed(&self, inputs: &[Raw]) -> Result<Raw> {
        (self.composed)(&inputs[0])
    }

    fn takes_views(&self) -> bool {
        true
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let gradient = upstream.gradient;
        if self.saved == Saved::Identity {
            return Ok([Some(gradient.clone()), None, None]);
        }
        let saved = match (&self.input, self.saved) {
            (Some(input), _) => input,
            (None, Saved::Output) => upstream.output()?.raw(),
            (None, _) => gradient,
        };
        let (plan, [g, saved]) = Plan::of(gradient.dims(), [gradient, saved])?;
        let (g, saved) = (CpuView::of_strided(&g)?, CpuView::of_strided(&saved)?);
        let (g, saved) = (g.as_slice::<T>()?, saved.as_slice::<T>()?);
        // SAFETY: the slices have the same length, and the loop initialises one element for each that it
        // reads.
        let of_x = unsafe {
            plan.fill(|mut walk, out| {
                let (mut a, mut b) = (Piece::new(), Piece::new());
                while let Some(range) = walk.next() {
                    let (g, saved) = (walk.each(0, g, &mut a), walk.each(1, saved, &mut b));
                    (self.gradient)(g, saved, &mut out[range]);
                }
            })
        };
        of_first(of_x, gradient.shape())
    }
}

multiversion! {
    cheap F::CHEAP;
    fn map<T: Element, F: Function>(x: &[T], y: &mut [MaybeUninit<T>], function: F) {
        for (y, x) in y.iter_mut().zip(x) {
            y.write(function.value::<T, FUSED>(*x));
        }
    }
}

multiversion! {
    fn map_both<T: Element, F: Function>(x: &[T], y: &mut [MaybeUninit<T>], derivative: &mut [MaybeUninit<T>], function: F) {
        for ((y, derivative), x) in y.iter_mut().zip(derivative).zip(x) {
            let both = function.both::<T, FUSED>(*x);
            y.write(both.0);
            derivative.write(both.1);
        }
    }
}

multiversion! {
    cheap F::CHEAP || F::SAVED == Saved::Output;
    fn map_gradient<T: Element, F: Function>(gradient: &[T], saved: &[T], out: &mut [MaybeUninit<T>], function: F) {
        for ((out, g), saved) in out.iter_mut().zip(gradient).zip(saved) {
            out.write(function.gradient::<T, FUSED>(*g, *saved));
        }
    }
}
