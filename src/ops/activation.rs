//! The functions between layers, element by element.

use super::engine::autograd::{Backward, fits, record};
use super::engine::simd::{Element, multiversion};
use super::engine::{Numbers, for_type_of, make};
use candle_core::{Result, Tensor};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Numbers that one thread takes at a time.
const PIECE: usize = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Activation {
    ReLU,
    Sigmoid,
    Tanh,
    Gelu,
    SiLU,
}

/// The function of each number; `None` where there is no kernel.
pub(crate) fn activation(x: &Tensor, function: Activation) -> Result<Option<Tensor>> {
    if !fits(&[x]) {
        return Ok(None);
    }
    match function {
        Activation::ReLU => for_type_of!(x, forward(x, Relu)),
        Activation::Sigmoid => for_type_of!(x, forward(x, Sigmoid)),
        Activation::Tanh => for_type_of!(x, forward(x, Tanh)),
        Activation::Gelu => for_type_of!(x, forward(x, Gelu)),
        Activation::SiLU => for_type_of!(x, forward(x, Silu)),
    }
    .map(Some)
}

/// A function and its slope.
trait Curve: Copy + Send + Sync + 'static {
    /// Whether the slope follows from the input; else it follows from the output.
    const SLOPE_OF_INPUT: bool = false;
    fn value<T: Element>(self, x: T) -> T;
    fn slope<T: Element>(self, kept: T) -> T;
}

#[derive(Clone, Copy)]
struct Relu;

impl Curve for Relu {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        if x <= T::ZERO { T::ZERO } else { x }
    }

    #[inline(always)]
    fn slope<T: Element>(self, y: T) -> T {
        if y <= T::ZERO { T::ZERO } else { T::ONE }
    }
}

#[derive(Clone, Copy)]
struct Sigmoid;

impl Curve for Sigmoid {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        T::ONE / (T::ONE + (-x).exponential())
    }

    #[inline(always)]
    fn slope<T: Element>(self, y: T) -> T {
        y * (T::ONE - y)
    }
}

#[derive(Clone, Copy)]
struct Tanh;

impl Curve for Tanh {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        Element::tanh(x)
    }

    #[inline(always)]
    fn slope<T: Element>(self, y: T) -> T {
        T::ONE - y * y
    }
}

#[derive(Clone, Copy)]
struct Gelu;

impl Curve for Gelu {
    const SLOPE_OF_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        x * x.normal_below()
    }

    #[inline(always)]
    fn slope<T: Element>(self, x: T) -> T {
        // The density of a normal distribution: 1/√2π at 0.
        let density = T::of(0.398_942_280_401_432_7) * (x * x * T::of(-0.5)).exponential();
        x.normal_below() + x * density
    }
}

#[derive(Clone, Copy)]
struct Silu;

impl Curve for Silu {
    const SLOPE_OF_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        x * Sigmoid.value(x)
    }

    #[inline(always)]
    fn slope<T: Element>(self, x: T) -> T {
        let s = Sigmoid.value(x);
        s * (T::ONE + x * (T::ONE - s))
    }
}

fn forward<T: Element>(x: &Tensor, curve: impl Curve) -> Result<Tensor> {
    let input = x.contiguous()?;
    let numbers = Numbers::of(&input)?;
    let from = numbers.slice::<T>()?;
    // SAFETY: `values` writes as many numbers as it reads.
    let y = unsafe {
        make(from.len(), PIECE, |first, y| {
            values(&from[first..first + y.len()], y, curve)
        })
    };
    drop(numbers);
    record(&[x], y, x.shape(), || back::<T, _>(curve, &input))
}

fn back<T: Element, C: Curve>(curve: C, input: &Tensor) -> Back<T, C> {
    Back {
        curve,
        input: C::SLOPE_OF_INPUT.then(|| input.detach()),
        element: PhantomData,
    }
}

struct Back<T, C> {
    curve: C,
    input: Option<Tensor>,
    element: PhantomData<T>,
}

impl<T: Element, C: Curve> Backward for Back<T, C> {
    const NEEDS_OUTPUT: bool = !C::SLOPE_OF_INPUT;

    fn backward(
        &self,
        output: Option<&Tensor>,
        gradient: &Tensor,
        _: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let Some(kept) = self.input.as_ref().or(output) else {
            candle_core::bail!("neither input nor output was kept");
        };
        let (g, kept) = (Numbers::of(gradient)?, Numbers::of(kept)?);
        let (g, kept) = (g.slice::<T>()?, kept.slice::<T>()?);
        // SAFETY: `slopes` writes as many numbers as it reads.
        let of_x = unsafe {
            make(g.len(), PIECE, |first, out| {
                let end = first + out.len();
                slopes(&g[first..end], &kept[first..end], out, self.curve);
            })
        };
        let of_x = Tensor::from_vec(of_x, gradient.shape(), gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

multiversion! {
    fn values<T: Element, C: Curve>(x: &[T], y: &mut [MaybeUninit<T>], curve: C) {
        for (y, x) in y.iter_mut().zip(x) {
            y.write(curve.value(*x));
        }
    }
}

multiversion! {
    fn slopes<T: Element, C: Curve>(gradient: &[T], kept: &[T], out: &mut [MaybeUninit<T>], curve: C) {
        for ((out, g), kept) in out.iter_mut().zip(gradient).zip(kept) {
            out.write(*g * curve.slope(*kept));
        }
    }
}
