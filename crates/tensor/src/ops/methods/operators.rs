//! `+ - * / %` and `-x`, between tensors, references to them, and scalars.

use crate::error::OrRaise;
use crate::ops::{Arithmetic, arithmetic, arithmetic_number};
use crate::tensor::{Number, Tensor};
use std::ops::{
    Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign,
};

// These three are compiled once; the operators are calls of them.
#[inline(never)]
#[track_caller]
fn both(op: Arithmetic, a: &Tensor, b: &Tensor) -> Tensor {
    arithmetic(op, a.raw(), b.raw()).or_raise().into()
}

#[inline(never)]
#[track_caller]
fn with(op: Arithmetic, x: &Tensor, number: Number, swapped: bool) -> Tensor {
    arithmetic_number(op, x.raw(), number, swapped)
        .or_raise()
        .into()
}

macro_rules! operator {
    ($($trait:ident $method:ident, $assign:ident $method_assign:ident;)*) => {$(
        operator!(@ $trait $method: &Tensor, &Tensor);
        operator!(@ $trait $method: &Tensor, Tensor);
        operator!(@ $trait $method: Tensor, &Tensor);
        operator!(@ $trait $method: Tensor, Tensor);
        operator!(@right $trait $method: &Tensor);
        operator!(@right $trait $method: Tensor);
        // Of each kind of literals one type, so that `(2 * x).sqrt()` compiles: the compiler knows the type of `2`.
        operator!(@left $trait $method: f64, &Tensor);
        operator!(@left $trait $method: f64, Tensor);
        operator!(@left $trait $method: i64, &Tensor);
        operator!(@left $trait $method: i64, Tensor);

        impl<T> $assign<T> for Tensor
        where
            for<'a> &'a Tensor: $trait<T, Output = Tensor>,
        {
            #[track_caller]
            fn $method_assign(&mut self, other: T) {
                *self = (&*self).$method(other);
            }
        }
    )*};
    (@ $trait:ident $method:ident: $left:ty, $right:ty) => {
        impl $trait<$right> for $left {
            type Output = Tensor;

            #[track_caller]
            fn $method(self, other: $right) -> Tensor {
                both(Arithmetic::$trait, self.as_ref(), other.as_ref())
            }
        }
    };
    (@right $trait:ident $method:ident: $left:ty) => {
        impl<N: Into<Number>> $trait<N> for $left {
            type Output = Tensor;

            #[track_caller]
            fn $method(self, number: N) -> Tensor {
                with(Arithmetic::$trait, self.as_ref(), number.into(), false)
            }
        }
    };
    (@left $trait:ident $method:ident: $number:ty, $right:ty) => {
        impl $trait<$right> for $number {
            type Output = Tensor;

            #[track_caller]
            fn $method(self, x: $right) -> Tensor {
                with(Arithmetic::$trait, x.as_ref(), self.into(), true)
            }
        }
    };
}

operator! {
    Add add, AddAssign add_assign;
    Sub sub, SubAssign sub_assign;
    Mul mul, MulAssign mul_assign;
    Div div, DivAssign div_assign;
    // The remainder, with the sign of the divisor.
    Rem rem, RemAssign rem_assign;
}

impl Neg for &Tensor {
    type Output = Tensor;

    #[track_caller]
    fn neg(self) -> Tensor {
        with(Arithmetic::Mul, self, Number::Int(-1), false)
    }
}

impl Neg for Tensor {
    type Output = Tensor;

    #[track_caller]
    fn neg(self) -> Tensor {
        -&self
    }
}
