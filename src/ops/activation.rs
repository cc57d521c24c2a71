//! Activation functions, which are applied to each element.

mod functions;

use super::check;
use super::engine::autograd::{Backward, Downstream, Upstream, are_tracked, has_kernel, record};
use super::engine::shared_slice::vec_filled_by;
use super::engine::simd::{Element, multiversion};
use super::engine::strided::in_order;
use super::engine::{CpuView, dispatch_dtype, vec_by_chunks};
use candle_core::{Result, Tensor};
use functions::{Differentiable, Elu, Exp, Gelu, Known, LeakyRelu, Log, Relu, Sigmoid, Silu, Tanh};
use std::mem::MaybeUninit;

/// The elements of one task.
const CHUNK: usize = 1 << 14;

/// Returns `max(x, 0)`, with the gradient 0 at 0. NaN stays NaN.
///
/// Candle's own `x.relu()` has the gradient 1 at 0 and turns NaN into 0.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// let y = relu(&tensor(&[-2.0, 3.0], &cpu())?)?;
/// assert_eq!(y.to_vec1::<f32>()?, [0.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn relu(x: &Tensor) -> Result<Tensor> {
    apply("relu", x, Relu, relu_with_candle)
}

/// Returns `1 / (1 + exp(-x))`, from 0 to 1.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(sigmoid(&tensor(0.0, &cpu())?)?.to_scalar::<f32>()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
pub fn sigmoid(x: &Tensor) -> Result<Tensor> {
    apply("sigmoid", x, Sigmoid, candle_nn::ops::sigmoid)
}

/// Returns the hyperbolic tangent, from -1 to 1.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(tanh(&tensor(0.0, &cpu())?)?.to_scalar::<f32>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
pub fn tanh(x: &Tensor) -> Result<Tensor> {
    apply("tanh", x, Tanh, Tensor::tanh)
}

/// Returns `eˣ`, on all cores and with vectors: several times as fast as Candle's `x.exp()`.
///
/// In `f32` the result is exact to 2 units in the last place; below 1.2e-38 it is 0.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// let y = exp(&tensor(&[0.0, 1.0], &cpu())?)?;
/// assert_eq!(y.to_vec1::<f32>()?, [1.0, std::f32::consts::E]);
/// # Ok::<(), Error>(())
/// ```
pub fn exp(x: &Tensor) -> Result<Tensor> {
    apply("exp", x, Exp, Tensor::exp)
}

/// Returns the natural logarithm, on all cores and with vectors: several times as fast as Candle's
/// `x.log()`.
///
/// In `f32` the result is exact to 2 units in the last place.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// let y = log(&tensor(&[1.0, 0.0, -1.0], &cpu())?)?.to_vec1::<f32>()?;
/// assert!(y[0] == 0.0 && y[1] == f32::NEG_INFINITY && y[2].is_nan());
/// # Ok::<(), Error>(())
/// ```
pub fn log(x: &Tensor) -> Result<Tensor> {
    apply("log", x, Log, Tensor::log)
}

/// Returns `x` times the probability that a standard normal variable is less than `x`. From Hendrycks
/// and Gimpel, 2016.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// let y = gelu(&tensor(&[0.0, 10.0], &cpu())?)?;
/// assert_eq!(y.to_vec1::<f32>()?, [0.0, 10.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn gelu(x: &Tensor) -> Result<Tensor> {
    apply("gelu", x, Gelu, gelu_with_candle)
}

/// Returns `x · sigmoid(x)`, also called Swish.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(silu(&tensor(0.0, &cpu())?)?.to_scalar::<f32>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
pub fn silu(x: &Tensor) -> Result<Tensor> {
    apply("silu", x, Silu, Tensor::silu)
}

/// Returns `x` where it is positive, and `negative_slope · x` elsewhere; 0.01 is a common slope.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// let y = leaky_relu(&tensor(&[-2.0, 3.0], &cpu())?, 0.5)?;
/// assert_eq!(y.to_vec1::<f32>()?, [-1.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn leaky_relu(x: &Tensor, negative_slope: f64) -> Result<Tensor> {
    apply("leaky_relu", x, LeakyRelu(negative_slope), |x| {
        (x.gt(0.0)?).where_cond(x, &(x * negative_slope)?)
    })
}

/// Returns `x` where it is positive, and `alpha · (exp(x) - 1)` elsewhere; 1 is a common `alpha`. From
/// Clevert et al., 2015.
///
/// # Errors
/// If `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// let y = elu(&tensor(&[-100.0, 3.0], &cpu())?, 1.0)?;
/// assert_eq!(y.to_vec1::<f32>()?, [-1.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn elu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    apply("elu", x, Elu(alpha), |x| {
        // The exponential of a large `x` would be infinite, and its gradient NaN.
        let negative = x.broadcast_minimum(&x.zeros_like()?)?;
        (x.gt(0.0)?).where_cond(x, &((negative.exp()? - 1.0)? * alpha)?)
    })
}

fn apply(
    name: &str,
    x: &Tensor,
    function: impl Differentiable,
    with_candle: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    check::floating(&name, x)?;
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    if check::is_half(x) {
        return check::in_single([x], |[x]| apply(name, &x, function, with_candle));
    }
    match has_kernel(&[x]) {
        true => dispatch_dtype!(x, forward(x, function)),
        false => with_candle(x),
    }
}

/// Returns `max(x, 0)`. Unlike with Candle's `x.relu()`, the gradient at 0 is 0, as in PyTorch, and NaN stays NaN.
fn relu_with_candle(x: &Tensor) -> Result<Tensor> {
    x.le(0.0)?.where_cond(&x.zeros_like()?, x)
}

/// Returns GELU by its definition. The gradient of Candle's `x.gelu_erf()` is exact to six digits only.
fn gelu_with_candle(x: &Tensor) -> Result<Tensor> {
    let cdf = ((x * std::f64::consts::FRAC_1_SQRT_2)?.erf()? + 1.0)?;
    x * (cdf * 0.5)?
}

fn forward<T: Element>(x: &Tensor, function: impl Differentiable) -> Result<Tensor> {
    run(x, Loops::<T>::of(function))
}

type Value<T> = dyn Fn(&[T], &mut [MaybeUninit<T>]) + Sync;
type Both<T> = dyn Fn(&[T], &mut [MaybeUninit<T>], &mut [MaybeUninit<T>]) + Sync;
type Gradient<T> = dyn Fn(&[T], &[T], &mut [MaybeUninit<T>]) + Send + Sync;

/// The loops of a function. Each loop initialises one element of each output for each element that it reads.
/// All other code is compiled only once, not again for each function.
struct Loops<T> {
    /// From `x` to `y`.
    value: Box<Value<T>>,
    /// From `x` to `y` and the derivative, if the function computes both together.
    both: Option<Box<Both<T>>>,
    /// From the gradient of `y` and the saved input or output to the gradient of `x`.
    gradient: Box<Gradient<T>>,
    /// Whether the input is saved, and not the output.
    from_input: bool,
}

impl<T: Element> Loops<T> {
    fn of<F: Differentiable>(function: F) -> Self {
        let both = move || -> Box<Both<T>> {
            Box::new(move |x, y, derivative| map_both(x, y, derivative, function))
        };
        Loops {
            value: Box::new(move |x, y| map(x, y, function)),
            both: F::TOGETHER.then(both),
            gradient: gradient_of(function),
            from_input: F::FROM_INPUT,
        }
    }
}

fn gradient_of<T: Element>(function: impl Differentiable) -> Box<Gradient<T>> {
    Box::new(move |gradient, saved, out| map_gradient(gradient, saved, out, function))
}

fn run<T: Element>(x: &Tensor, loops: Loops<T>) -> Result<Tensor> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    if let Some(both) = &loops.both
        && are_tracked(&[x])
    {
        let (y, derivative) = together(values, both);
        drop(view);
        let derivative = Tensor::from_vec(derivative, x.shape(), x.device())?;
        return record(&[x], y, x.shape(), || Back::<T> {
            gradient: gradient_of(Known),
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
        input: loops.from_input.then(|| input.detach()),
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
    /// The saved input or derivative; `None` if the output is saved.
    input: Option<Tensor>,
}

impl<T: Element> Backward for Back<T> {
    fn needs_output(&self) -> bool {
        self.input.is_none()
    }

    fn backward(&self, upstream: Upstream<'_>) -> Result<Downstream> {
        let gradient = upstream.gradient;
        let saved = match &self.input {
            Some(input) => input,
            None => upstream.output()?,
        };
        let (g, saved) = (CpuView::of(gradient)?, CpuView::of(saved)?);
        let (g, saved) = (g.as_slice::<T>()?, saved.as_slice::<T>()?);
        // SAFETY: the slices have the same length, and the loop initialises one element for each that it
        // reads.
        let of_x = unsafe {
            vec_by_chunks(g.len(), CHUNK, |first, out| {
                let end = first + out.len();
                (self.gradient)(&g[first..end], &saved[first..end], out);
            })
        };
        let of_x = Tensor::from_vec(of_x, gradient.shape(), gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

multiversion! {
    fn map<T: Element, F: Differentiable>(x: &[T], y: &mut [MaybeUninit<T>], function: F) {
        for (y, x) in y.iter_mut().zip(x) {
            y.write(function.value::<T, FUSED>(*x));
        }
    }
}

multiversion! {
    fn map_both<T: Element, F: Differentiable>(x: &[T], y: &mut [MaybeUninit<T>], derivative: &mut [MaybeUninit<T>], function: F) {
        for ((y, derivative), x) in y.iter_mut().zip(derivative).zip(x) {
            let both = function.both::<T, FUSED>(*x);
            y.write(both.0);
            derivative.write(both.1);
        }
    }
}

multiversion! {
    fn map_gradient<T: Element, F: Differentiable>(gradient: &[T], saved: &[T], out: &mut [MaybeUninit<T>], function: F) {
        for ((out, g), saved) in out.iter_mut().zip(gradient).zip(saved) {
            out.write(*g * function.derivative::<T, FUSED>(*saved));
        }
    }
}

#[cfg(test)]
mod tests;
