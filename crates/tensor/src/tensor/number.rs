//! Scalars as operands, and integers as arguments.

/// A number beside a tensor: an integer or a floating-point number.
///
/// ```
/// use taper::prelude::*;
///
/// let labels = tensor(&[1, 2]); // (2,)
/// assert_eq!((&labels * 2).dtype(), DType::I64);
/// assert_eq!((&labels * 0.5).to_vec1::<f32>(), [0.5, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer, beside which an integer tensor keeps its integers.
    Int(i64),
    /// A floating-point number, beside which an integer tensor becomes `f32`.
    Float(f64),
}

impl Number {
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// Returns the integer; a floating-point number loses its fraction.
    pub(crate) fn to_i64(self) -> i64 {
        match self {
            Number::Int(value) => value,
            Number::Float(value) => value as i64,
        }
    }
}

macro_rules! number_from {
    ($($variant:ident: $($type:ty)*;)*) => {$($(
        impl From<$type> for Number {
            fn from(value: $type) -> Self {
                Number::$variant(value.into())
            }
        }
    )*)*};
}
number_from! {
    Int: i32 i64 u8 u32;
    Float: f32 f64;
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Number::Int(value as i64)
    }
}

/// An integer of any type as an argument: a shift, a bound, the number of a diagonal.
///
/// ```
/// use taper::prelude::*;
///
/// let (x, shift) = (arange(0, 4), vec![7].len()); // a usize
/// assert_eq!(x.roll(shift, 0).to_vec1::<i64>(), x.roll(1, 0).to_vec1::<i64>());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Integer(i64);

impl Integer {
    pub(crate) fn to_i64(self) -> i64 {
        self.0
    }
}

macro_rules! integer_from {
    ($($type:ty)*) => {$(
        impl From<$type> for Integer {
            fn from(value: $type) -> Self {
                Integer(i64::try_from(value).unwrap_or(i64::MAX))
            }
        }
    )*};
}
integer_from!(i32 i64 u8 u32 u64 usize);

/// The shifts of [`roll`](super::Tensor::roll): one, or one for each dimension.
///
/// ```
/// use taper::prelude::*;
///
/// let x = arange(0, 3); // (3,)
/// assert_eq!(x.roll([1], [0]).to_vec1::<i64>(), x.roll(-2, 0).to_vec1::<i64>());
/// ```
#[derive(Clone, Debug)]
pub struct Shifts(Vec<i64>);

impl Shifts {
    pub(crate) fn of_each(&self) -> &[i64] {
        &self.0
    }
}

macro_rules! shifts_from {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Shifts {
            fn from(shift: $integer) -> Self {
                Shifts(vec![Integer::from(shift).to_i64()])
            }
        }
    )*};
}
shifts_from!(i32 i64 u8 u32 u64 usize);

impl<A: Into<Integer>, B: Into<Integer>> From<(A, B)> for Shifts {
    fn from((a, b): (A, B)) -> Self {
        Shifts(vec![a.into().to_i64(), b.into().to_i64()])
    }
}

impl<I: Into<Integer>, const N: usize> From<[I; N]> for Shifts {
    fn from(shifts: [I; N]) -> Self {
        Shifts(shifts.map(|shift| shift.into().to_i64()).to_vec())
    }
}
