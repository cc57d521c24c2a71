//! Scalars as operands.

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
