//! What a formula computes with: an element in a loop, or all elements of a tensor.
//!
//! A function of each element is stated once, with its derivative, for any [`Quantity`]. The kernels evaluate the formula
//! on a [`Lane`], an element, in loops that the compiler vectorises. On [`Whole`] tensors it is composed of recorded
//! operations: for other devices, and for derivatives of derivatives.

use super::engine::Element;
use crate::tensor::{Number, Operand, Tensor};
use std::cell::RefCell;
use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::{Add, BitAnd, Div, Mul, Neg, Sub};
use taper_compute::simd::{DENSITY_AT_0, Float};

/// Sums, products and roots, which is all that the step of an optimiser needs.
#[doc(hidden)]
pub trait Numeric:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    fn sqrt(self) -> Self;
    /// Returns the larger of two values, and NaN if one of them is NaN.
    fn larger(self, other: Self) -> Self;
}

/// What a formula computes with.
pub(crate) trait Quantity: Numeric + Functions + Neg<Output = Self> {
    /// The result of a comparison.
    type Mask: Copy + BitAnd<Output = Self::Mask>;

    fn lt(self, other: impl Into<Self>) -> Self::Mask;
    fn le(self, other: impl Into<Self>) -> Self::Mask;
    fn gt(self, other: impl Into<Self>) -> Self::Mask;
    fn ge(self, other: impl Into<Self>) -> Self::Mask;
    fn eq(self, other: impl Into<Self>) -> Self::Mask;
    /// Returns `yes` where the mask is true, and `no` elsewhere.
    fn select(mask: Self::Mask, yes: impl Into<Self>, no: impl Into<Self>) -> Self;

    /// Returns the same as [`select`](Self::select). An element computes only what is chosen.
    fn choose(mask: Self::Mask, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self;

    /// Returns the cumulative distribution function of the standard normal distribution, and its density.
    fn normal(self) -> (Self, impl FnOnce() -> Self);
    fn pow(self, exponent: Self) -> Self;
    /// Returns the remainder of a division, with the sign of the divisor.
    fn remainder(self, divisor: Self) -> Self;
    /// Returns the smaller of two values, and NaN if one of them is NaN.
    fn smaller(self, other: Self) -> Self;

    /// Returns the same value as a constant, through which no gradient flows.
    fn constant(self) -> Self {
        self
    }

    /// Returns the value, but for tensors at most `most`, where more is not used: an infinite function of it would make the
    /// gradient NaN.
    #[inline(always)]
    fn finite(self, _most: f64) -> Self {
        self
    }

    /// Returns `1 - x`.
    #[inline(always)]
    fn complement(self) -> Self {
        Self::from(1.0) - self
    }
}

/// An element in a loop. `FUSED` says whether the processor has a fused multiply-add.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Lane<T, const FUSED: bool>(pub(in crate::ops) T);

impl<T: Element, const FUSED: bool> From<f64> for Lane<T, FUSED> {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Lane(T::of(value))
    }
}

impl<T: Element, const FUSED: bool> Neg for Lane<T, FUSED> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Lane(-self.0)
    }
}

impl<T: Element, const FUSED: bool> Numeric for Lane<T, FUSED> {
    #[inline(always)]
    fn sqrt(self) -> Self {
        Lane(Float::sqrt(self.0))
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        let is_larger = (self.0 >= other.0) | self.0.is_nan();
        if is_larger { self } else { other }
    }
}

macro_rules! comparisons_of_elements {
    ($($name:ident $sign:tt;)*) => {$(
        #[inline(always)]
        fn $name(self, other: impl Into<Self>) -> bool {
            self.0 $sign other.into().0
        }
    )*};
}

impl<T: Element, const FUSED: bool> Quantity for Lane<T, FUSED> {
    type Mask = bool;

    comparisons_of_elements! {
        lt <;
        le <=;
        gt >;
        ge >=;
        eq ==;
    }

    #[inline(always)]
    fn select(mask: bool, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        let (yes, no) = (yes.into(), no.into());
        if mask { yes } else { no }
    }

    #[inline(always)]
    fn choose(mask: bool, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self {
        if mask { yes() } else { no() }
    }

    #[inline(always)]
    fn normal(self) -> (Self, impl FnOnce() -> Self) {
        let (cdf, density) = self.0.normal::<FUSED>();
        (Lane(cdf), move || Lane(density))
    }

    #[inline(always)]
    fn pow(self, exponent: Self) -> Self {
        Lane(Float::pow::<FUSED>(self.0, exponent.0))
    }

    #[inline(always)]
    fn remainder(self, divisor: Self) -> Self {
        let (a, b) = (self.0.to_f64(), divisor.0.to_f64());
        let rest = a % b;
        let is_other = (rest != 0.0) & ((rest < 0.0) != (b < 0.0));
        Self::from(if is_other { rest + b } else { rest })
    }

    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        let is_smaller = (self.0 <= other.0) | self.0.is_nan();
        if is_smaller { self } else { other }
    }
}

/// All elements of a tensor, or the same number for each of them.
#[derive(Clone, Copy)]
pub(crate) enum Whole<'a> {
    Number(f64),
    /// The tensor with this index.
    Tensor(&'a Tensors, usize),
}

/// The tensors that a formula has computed with so far.
#[derive(Default)]
pub(crate) struct Tensors(RefCell<Vec<Tensor>>);

/// Evaluates a formula on tensors. The result has the shape of the first, also if it is a number.
pub(crate) fn of_tensors<const N: usize>(
    inputs: [&Tensor; N],
    formula: impl for<'a> FnOnce([Whole<'a>; N]) -> Whole<'a>,
) -> Tensor {
    let tensors = Tensors::default();
    match formula(inputs.map(|x| tensors.push(x.clone()))) {
        Whole::Number(number) => inputs[0].zeros_like() + number,
        of => of.tensor(),
    }
}

impl Tensors {
    #[inline(never)]
    pub(crate) fn push(&self, x: Tensor) -> Whole<'_> {
        self.0.borrow_mut().push(x);
        Whole::Tensor(self, self.0.borrow().len() - 1)
    }

    /// Returns `N` equal parts of the last dimension.
    pub(crate) fn chunks<const N: usize>(&self, x: &Tensor) -> [Whole<'_>; N] {
        let parts = x.chunk(N, -1);
        std::array::from_fn(|i| self.push(parts[i].clone()))
    }
}

impl Whole<'_> {
    /// Returns the tensor.
    #[inline(never)]
    pub(crate) fn tensor(self) -> Tensor {
        match self {
            Whole::Number(_) => unreachable!("only operations on tensors are called"),
            Whole::Tensor(tensors, i) => tensors.0.borrow()[i].clone(),
        }
    }

    fn operand(self) -> Operand {
        match self {
            Whole::Number(number) => Operand::Number(Number::Float(number)),
            of => Operand::Tensor(of.tensor()),
        }
    }

    fn map(
        self,
        of_number: impl FnOnce(f64) -> f64,
        of_tensor: impl FnOnce(&Tensor) -> Tensor,
    ) -> Self {
        match self {
            Whole::Number(number) => Whole::Number(of_number(number)),
            Whole::Tensor(tensors, _) => tensors.push(of_tensor(&self.tensor())),
        }
    }

    /// Computes with an operand that is a tensor.
    fn with(self, other: Self, compute: impl FnOnce(&Tensor, Operand) -> Tensor) -> Self {
        let other = other.operand();
        self.map(
            |_| unreachable!("the left operand is a tensor"),
            |x| compute(x, other),
        )
    }
}

impl From<f64> for Whole<'_> {
    fn from(number: f64) -> Self {
        Whole::Number(number)
    }
}

impl Neg for Whole<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.map(|x| -x, |x| -x)
    }
}

/// The operators, also with a number on the right.
macro_rules! operators {
    ($($trait:ident $name:ident $sign:tt;)*) => {$(
        impl<T: Element, const FUSED: bool> $trait for Lane<T, FUSED> {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Lane(self.0 $sign other.0)
            }
        }

        impl<T: Element, const FUSED: bool> $trait<f64> for Lane<T, FUSED> {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: f64) -> Self {
                self $sign Self::from(other)
            }
        }

        impl $trait for Whole<'_> {
            type Output = Self;

            // A formula calls it often.
            #[inline(never)]
            fn $name(self, other: Self) -> Self {
                match (self, other) {
                    (Whole::Number(a), of) => of.map(|b| a $sign b, |b| a $sign b),
                    (of, Whole::Number(b)) => of.map(|a| a $sign b, |a| a $sign b),
                    (Whole::Tensor(tensors, _), _) => {
                        tensors.push(self.tensor() $sign other.tensor())
                    }
                }
            }
        }

        impl $trait<f64> for Whole<'_> {
            type Output = Self;

            fn $name(self, other: f64) -> Self {
                self $sign Whole::Number(other)
            }
        }
    )*};
}

operators! {
    Add add +;
    Sub sub -;
    Mul mul *;
    Div div /;
}

impl BitAnd for Whole<'_> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        match (self, other) {
            (Whole::Number(number), of) | (of, Whole::Number(number)) => {
                if number != 0.0 {
                    of
                } else {
                    Whole::Number(0.0)
                }
            }
            (of, Whole::Tensor(..)) => of.map(|a| a, |a| a & other.tensor()),
        }
    }
}

/// With a number on the left, the comparison is turned round. That of two scalars is 1 or 0.
macro_rules! comparisons_of_tensors {
    ($($name:ident $turned:ident;)*) => {$(
        fn $name(self, other: impl Into<Self>) -> Self {
            match (self, other.into()) {
                (Whole::Number(a), b) => b.map(
                    |b| f64::from(Lane::<f64, false>(a).$name(b)),
                    |b| b.$turned(a),
                ),
                (a, b) => a.with(b, |a, b| a.$name(b)),
            }
        }
    )*};
}

impl Numeric for Whole<'_> {
    fn sqrt(self) -> Self {
        self.map(f64::sqrt, Tensor::sqrt)
    }

    fn larger(self, other: Self) -> Self {
        self.with(other, |a, b| a.maximum(b))
    }
}

impl Quantity for Whole<'_> {
    type Mask = Self;

    comparisons_of_tensors! {
        lt gt;
        le ge;
        gt lt;
        ge le;
        eq eq;
    }

    fn select(mask: Self, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        let (yes, no) = (yes.into(), no.into());
        match mask {
            Whole::Number(mask) => {
                if mask != 0.0 {
                    yes
                } else {
                    no
                }
            }
            Whole::Tensor(..) => mask.with(yes, |mask, yes| mask.where_cond(yes, no.operand())),
        }
    }

    fn constant(self) -> Self {
        self.map(|x| x, Tensor::detach)
    }

    fn finite(self, most: f64) -> Self {
        Self::select(self.gt(most), most, self)
    }

    fn choose(mask: Self, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self {
        Self::select(mask, yes(), no())
    }

    fn normal(self) -> (Self, impl FnOnce() -> Self) {
        let cdf = ((self * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
        (cdf, move || (self * self * -0.5).exp() * DENSITY_AT_0)
    }

    fn pow(self, exponent: Self) -> Self {
        match self {
            Whole::Number(base) => {
                exponent.map(|x| base.powf(x), |x| (x.zeros_like() + base).pow(x))
            }
            of => of.with(exponent, |x, exponent| x.pow(exponent)),
        }
    }

    fn remainder(self, divisor: Self) -> Self {
        self - divisor * (self / divisor).floor()
    }

    fn smaller(self, other: Self) -> Self {
        self.with(other, |a, b| a.minimum(b))
    }
}

/// Defines functions of each element: [`Element`]'s, and the operations that compute them for tensors.
macro_rules! functions_of_elements {
    ($($name:ident $(<$fused:ident>)? => $of_tensor:expr;)*) => {
        /// The functions of one quantity, which [`Element`] describes.
        pub(crate) trait Functions: Sized {
            $(fn $name(self) -> Self;)*
        }

        impl<T: Element, const FUSED: bool> Functions for Lane<T, FUSED> {
            $(
            #[inline(always)]
            fn $name(self) -> Self {
                Lane(Float::$name$(::<$fused>)?(self.0))
            }
            )*
        }

        impl Functions for Whole<'_> {
            $(
            fn $name(self) -> Self {
                self.map(|x| Lane::<f64, false>(x).$name().0, $of_tensor)
            }
            )*
        }
    };
}

functions_of_elements! {
    abs => Tensor::abs;
    sign => Tensor::sign;
    floor => Tensor::floor;
    ceil => Tensor::ceil;
    round => Tensor::round;
    exp<FUSED> => Tensor::exp;
    exp_m1<FUSED> => |x| x.exp() - 1.0;
    ln<FUSED> => Tensor::log;
    ln_1p<FUSED> => log_of_next;
    tanh<FUSED> => Tensor::tanh;
    sigmoid<FUSED> => Tensor::sigmoid;
    sin<FUSED> => Tensor::sin;
    cos<FUSED> => Tensor::cos;
    sin_of_large => Tensor::sin;
    cos_of_large => Tensor::cos;
    erf<FUSED> => Tensor::erf;
}

/// Returns `ln(1 + x)`, with the digits that the sum loses. Where `x` is lost, there is no division by 0.
fn log_of_next(x: &Tensor) -> Tensor {
    let sum = x + 1.0;
    let rounded = &sum - 1.0; // x as rounded in the sum
    let is_lost = rounded.eq(0.0);
    let rounded = is_lost.where_cond(1.0, rounded);
    is_lost.where_cond(x, sum.log() * x / rounded)
}
