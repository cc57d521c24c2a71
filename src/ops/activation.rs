//! Activation functions: applied to each element.

use super::engine::autograd::{Backward, has_kernel, record};
use super::engine::simd::{Element, multiversion};
use super::engine::{CpuView, dispatch_dtype, vec_by_chunks};
use candle_core::{Result, Tensor};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The elements of one task.
const CHUNK: usize = 1 << 14;

/// Returns `max(x, 0)`, with the gradient 0 at 0. NaN stays NaN.
pub(crate) fn relu(x: &Tensor) -> Result<Tensor> {
    apply(x, Relu, relu_with_candle)
}

/// Returns `1 / (1 + exp(-x))`.
pub(crate) fn sigmoid(x: &Tensor) -> Result<Tensor> {
    apply(x, Sigmoid, candle_nn::ops::sigmoid)
}

/// Returns the hyperbolic tangent.
pub(crate) fn tanh(x: &Tensor) -> Result<Tensor> {
    apply(x, Tanh, Tensor::tanh)
}

/// Returns `x` times the cumulative distribution function of the normal distribution at `x`.
pub(crate) fn gelu(x: &Tensor) -> Result<Tensor> {
    apply(x, Gelu, gelu_with_candle)
}

/// Returns `x · sigmoid(x)`.
pub(crate) fn silu(x: &Tensor) -> Result<Tensor> {
    apply(x, Silu, Tensor::silu)
}

fn apply(
    x: &Tensor,
    function: impl Differentiable,
    with_candle: fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    match has_kernel(&[x]) {
        true => dispatch_dtype!(x, forward(x, function)),
        false => with_candle(x),
    }
}

/// Unlike Candle's own, this has the gradient 0 at 0, as PyTorch has, and NaN stays NaN.
fn relu_with_candle(x: &Tensor) -> Result<Tensor> {
    x.le(0.0)?.where_cond(&x.zeros_like()?, x)
}

/// Candle's own has a gradient that is exact to six digits only.
fn gelu_with_candle(x: &Tensor) -> Result<Tensor> {
    let cdf = ((x * std::f64::consts::FRAC_1_SQRT_2)?.erf()? + 1.0)?;
    x * (cdf * 0.5)?
}

/// A function with its derivative.
trait Differentiable: Copy + Send + Sync + 'static {
    /// Whether the derivative is computed from the input; otherwise, from the output.
    const FROM_INPUT: bool = false;
    fn value<T: Element>(self, x: T) -> T;
    fn derivative<T: Element>(self, saved: T) -> T;
}

#[derive(Clone, Copy)]
struct Relu;

impl Differentiable for Relu {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        if x <= T::ZERO { T::ZERO } else { x }
    }

    #[inline(always)]
    fn derivative<T: Element>(self, y: T) -> T {
        if y <= T::ZERO { T::ZERO } else { T::ONE }
    }
}

#[derive(Clone, Copy)]
struct Sigmoid;

impl Differentiable for Sigmoid {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        T::ONE / (T::ONE + (-x).exp())
    }

    #[inline(always)]
    fn derivative<T: Element>(self, y: T) -> T {
        y * (T::ONE - y)
    }
}

#[derive(Clone, Copy)]
struct Tanh;

impl Differentiable for Tanh {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        Element::tanh(x)
    }

    #[inline(always)]
    fn derivative<T: Element>(self, y: T) -> T {
        T::ONE - y * y
    }
}

#[derive(Clone, Copy)]
struct Gelu;

impl Differentiable for Gelu {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        x * x.normal_cdf()
    }

    #[inline(always)]
    fn derivative<T: Element>(self, x: T) -> T {
        // The density of the normal distribution: 1/√2π at 0.
        let density = T::of(0.398_942_280_401_432_7) * (x * x * T::of(-0.5)).exp();
        x.normal_cdf() + x * density
    }
}

#[derive(Clone, Copy)]
struct Silu;

impl Differentiable for Silu {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        x * Sigmoid.value(x)
    }

    #[inline(always)]
    fn derivative<T: Element>(self, x: T) -> T {
        let s = Sigmoid.value(x);
        s * (T::ONE + x * (T::ONE - s))
    }
}

fn forward<T: Element>(x: &Tensor, function: impl Differentiable) -> Result<Tensor> {
    let input = x.contiguous()?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    // SAFETY: the slices have the same length, and `map` initialises one element for each that it reads.
    let y = unsafe {
        vec_by_chunks(values.len(), CHUNK, |first, y| {
            map(&values[first..first + y.len()], y, function)
        })
    };
    drop(view);
    record(&[x], y, x.shape(), || saved::<T, _>(function, &input))
}

fn saved<T: Element, F: Differentiable>(function: F, input: &Tensor) -> Back<T, F> {
    Back {
        function,
        input: F::FROM_INPUT.then(|| input.detach()),
        element: PhantomData,
    }
}

struct Back<T, F> {
    function: F,
    input: Option<Tensor>,
    element: PhantomData<T>,
}

impl<T: Element, F: Differentiable> Backward for Back<T, F> {
    const NEEDS_OUTPUT: bool = !F::FROM_INPUT;

    fn backward(
        &self,
        output: Option<&Tensor>,
        gradient: &Tensor,
        _: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let Some(saved) = self.input.as_ref().or(output) else {
            candle_core::bail!("activation: neither the input nor the output was saved");
        };
        let (g, saved) = (CpuView::of(gradient)?, CpuView::of(saved)?);
        let (g, saved) = (g.as_slice::<T>()?, saved.as_slice::<T>()?);
        // SAFETY: the slices have the same length, and `map_gradient` initialises one element for each
        // that it reads.
        let of_x = unsafe {
            vec_by_chunks(g.len(), CHUNK, |first, out| {
                let end = first + out.len();
                map_gradient(&g[first..end], &saved[first..end], out, self.function);
            })
        };
        let of_x = Tensor::from_vec(of_x, gradient.shape(), gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

multiversion! {
    fn map<T: Element, F: Differentiable>(x: &[T], y: &mut [MaybeUninit<T>], function: F) {
        for (y, x) in y.iter_mut().zip(x) {
            y.write(function.value(*x));
        }
    }
}

multiversion! {
    fn map_gradient<T: Element, F: Differentiable>(gradient: &[T], saved: &[T], out: &mut [MaybeUninit<T>], function: F) {
        for ((out, g), saved) in out.iter_mut().zip(gradient).zip(saved) {
            out.write(*g * function.derivative(*saved));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Operation, compare};
    use crate::tensor::{randn, tensor};
    use candle_core::{Device, Var};

    type Function = fn(&Tensor) -> Result<Tensor>;

    /// Values and derivatives at ±1.5, against the formulas in double precision.
    #[test]
    fn values_and_gradients_are_right() {
        let s = |x: f64| 1.0 / (1.0 + (-x).exp());
        let check = |name: &str,
                     function: Function,
                     value: &dyn Fn(f64) -> f64,
                     derivative: &dyn Fn(f64) -> f64| {
            let x = tensor(&[-1.5, 1.5], &Device::Cpu).unwrap();
            let x = Var::from_tensor(&x).unwrap();
            let y = function(&x).unwrap();
            let gradients = y.sum_all().unwrap().backward().unwrap();
            let gradient = gradients.get(&x).unwrap().to_vec1::<f32>().unwrap();
            let y = y.to_vec1::<f32>().unwrap();
            for (i, x) in [-1.5, 1.5].into_iter().enumerate() {
                assert!((y[i] as f64 - value(x)).abs() < 1e-6, "{name} at {x}");
                assert!(
                    (gradient[i] as f64 - derivative(x)).abs() < 1e-6,
                    "{name} at {x}"
                );
            }
        };
        check("relu", relu, &|x| x.max(0.0), &|x| {
            if x > 0.0 { 1.0 } else { 0.0 }
        });
        check("sigmoid", sigmoid, &s, &|x| s(x) * (1.0 - s(x)));
        check("tanh", tanh, &f64::tanh, &|x| 1.0 - x.tanh().powi(2));
        check("silu", silu, &|x| x * s(x), &|x| {
            s(x) * (1.0 + x * (1.0 - s(x)))
        });
    }

    #[test]
    fn the_kernels_agree_with_candle() {
        let functions: [(&str, Function, Function); 5] = [
            ("relu", relu, relu_with_candle),
            ("sigmoid", sigmoid, candle_nn::ops::sigmoid),
            ("tanh", tanh, Tensor::tanh),
            ("gelu", gelu, gelu_with_candle),
            ("silu", silu, Tensor::silu),
        ];
        for (name, kernel, candle) in functions {
            compare(name, 20, |case| {
                let shape = (case.between(1, 90), case.between(1, 800));
                let inputs = vec![case.input(randn(shape, &Device::Cpu))];
                let of = |function: Function| -> Operation { Box::new(move |x| function(&x[0])) };
                Some((inputs, of(kernel), of(candle)))
            });
        }
    }
}
