//! Remainders, with the sign of the divisor, as in Python and PyTorch.

use super::functions::Remainder;
use super::kernel::values;
use super::types::{Arithmetic, common_type, scalar, type_with_number};
use crate::error::{self, composed};
use crate::ops::broadcast::{Plan, broadcast_shape};
use crate::ops::check;
use crate::ops::engine::autograd::{are_tracked, has_kernel};
use crate::ops::engine::dispatch_dtype;
use crate::ops::engine::simd::Element;
use crate::tensor::{Number, Raw, Tensor};
use candle_core::{Device, Result};
use std::ops::Rem;

/// Computes with two tensors.
fn remainder(a: &Raw, b: &Raw) -> Result<Raw> {
    check::same_device_of_two("%", a, b)?;
    let shape = broadcast_shape("%", a, b)?;
    check::output(&"%", &shape, a)?;
    let dtype = common_type(Arithmetic::Add, a, b);
    let (a, b) = (&a.to_dtype(dtype)?, &b.to_dtype(dtype)?);
    if dtype.is_int() {
        return of_integers(a, b, &shape);
    }
    if check::is_half(a) {
        return check::in_single([a, b], |[a, b]| remainder(&a, &b));
    }
    let (x, y) = (Tensor::from_raw(a.clone()), Tensor::from_raw(b.clone()));
    let quotient = (x.detach() / y.detach()).floor();
    if shape.contains(&0) || !has_kernel(&[a, b]) {
        return Ok((x - y * quotient).into());
    }
    let exact = Tensor::from_raw(dispatch_dtype!(
        a,
        of_floats(&a.detach(), &b.detach(), &shape)
    )?);
    Ok(match are_tracked(&[a, b]) {
        false => exact.into(),
        // The differences are 0, and have the gradients.
        true => (exact + (&x - x.detach()) - (&y - y.detach()) * quotient).into(),
    })
}

fn of_floats<T: Element>(a: &Raw, b: &Raw, shape: &[usize]) -> Result<Raw> {
    let (plan, inputs) = Plan::of(shape, [a, b])?;
    let values = values::<T, _>(&plan, inputs.each_ref(), Remainder)?;
    Raw::from_vec(values, shape, &Device::Cpu)
}

fn of_integers(a: &Raw, b: &Raw, shape: &[usize]) -> Result<Raw> {
    let elements = |x: &Raw| x.broadcast_as(shape)?.flatten_all()?.to_vec1::<i64>();
    let pairs = elements(a)?.into_iter().zip(elements(b)?);
    let of_pair = |(a, b): (i64, i64)| {
        let rest = a.checked_rem(b)?;
        Some(if rest != 0 && (rest < 0) != (b < 0) {
            rest + b
        } else {
            rest
        })
    };
    let values = pairs.map(of_pair).collect::<Option<Vec<_>>>();
    let values = values.ok_or_else(|| {
        error::argument(
            "%",
            "divisors other than 0",
            0,
            "Divide floating-point numbers, where the remainder is NaN: x.to_dtype(DType::F32)",
        )
    })?;
    Raw::from_vec(values, shape, a.device())
}

#[inline(never)]
#[track_caller]
fn both(a: &Tensor, b: &Tensor) -> Tensor {
    composed(|| remainder(a.raw(), b.raw()).map(Tensor::from_raw))
}

#[inline(never)]
#[track_caller]
fn with(x: &Tensor, number: Number) -> Tensor {
    composed(|| {
        let dtype = type_with_number(Arithmetic::Add, x.dtype(), number);
        let number = scalar(number, dtype, x.device())?;
        remainder(&x.raw().to_dtype(dtype)?, &number).map(Tensor::from_raw)
    })
}

/// The right side borrowed or owned, or a number.
macro_rules! operator {
    ($($left:ty)*) => {$(
        /// The remainder of a division, with the sign of the divisor.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!((tensor(&[-1, 7]) % 5).to_vec1::<i64>(), [4, 2]);
        /// ```
        impl Rem<&Tensor> for $left {
            type Output = Tensor;

            #[track_caller]
            fn rem(self, other: &Tensor) -> Tensor {
                both(self.as_ref(), other)
            }
        }

        /// The remainder of a division, with the sign of the divisor.
        impl Rem<Tensor> for $left {
            type Output = Tensor;

            #[track_caller]
            fn rem(self, other: Tensor) -> Tensor {
                both(self.as_ref(), &other)
            }
        }

        /// The remainder of a division, with the sign of the divisor.
        impl<N: Into<Number>> Rem<N> for $left {
            type Output = Tensor;

            #[track_caller]
            fn rem(self, number: N) -> Tensor {
                with(self.as_ref(), number.into())
            }
        }
    )*};
}
operator!(&Tensor Tensor);

#[cfg(test)]
mod tests {
    use crate::error::attempt;
    use crate::ops::testing::variable;
    use crate::tensor::{tensor, zeros};

    #[test]
    fn the_sign_is_that_of_the_divisor() {
        let (a, b) = ([7.0, -7.0, 7.0, -7.0, 6.0], [3.0, 3.0, -3.0, -3.0, 3.0]);
        let (x, y) = (variable(&tensor(&a)), variable(&tensor(&b)));
        let z = &x % &y;
        assert_eq!(z.to_vec1::<f32>(), [1.0, 2.0, -2.0, -1.0, 0.0]);
        let gradients = z.sum_all().backward();
        assert_eq!(gradients.of(&x).to_vec1::<f32>(), [1.0; 5]);
        assert_eq!(
            gradients.of(&y).to_vec1::<f32>(),
            [-2.0, 3.0, 3.0, -2.0, -2.0]
        );
        assert_eq!(
            (tensor(&[7, -7]) % tensor(&[-3, -3])).to_vec1::<i64>(),
            [-2, -1]
        );
        // Exact where the quotient has more digits than a float.
        assert_eq!(
            (tensor(&[1e30]) % 7.0).to_vec1::<f32>(),
            [(1e30f32 as f64 % 7.0) as f32]
        );
        assert!((tensor(&[1.0]) % 0.0).isnan().item() == 1.0);
        assert!(attempt(|| tensor(&[1]) % 0).is_err());
        assert_eq!((zeros((0, 2)) % 2.0).dims(), [0, 2]);
    }
}
