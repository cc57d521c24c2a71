//! A tensor or a number as an argument.

use super::{Number, Tensor};

/// A tensor, which is broadcast, or a number: `x.maximum(0.0)`, `x.maximum(&y)`.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[-1.0, 2.0]); // (2,)
/// assert_eq!(x.maximum(0.0).to_vec1::<f32>(), [0.0, 2.0]);
/// assert_eq!(x.maximum(&x).to_vec1::<f32>(), [-1.0, 2.0]);
/// ```
#[derive(Clone, Debug)]
pub enum Operand {
    /// A tensor.
    Tensor(Tensor),
    /// The same number for every element.
    Number(Number),
}

impl From<&Tensor> for Operand {
    fn from(tensor: &Tensor) -> Self {
        Operand::Tensor(tensor.clone())
    }
}

impl From<Tensor> for Operand {
    fn from(tensor: Tensor) -> Self {
        Operand::Tensor(tensor)
    }
}

macro_rules! operand_from {
    ($($number:ty)*) => {$(
        impl From<$number> for Operand {
            fn from(number: $number) -> Self {
                Operand::Number(number.into())
            }
        }
    )*};
}
operand_from!(f32 f64 i32 i64 u8 u32 usize);
