//! Masks: tensors of `u8` that are 1 where something is true.

use crate::error::refuse;
use crate::tensor::Tensor;
use candle_core::{DType, Result, bail};
use std::ops::{BitAnd, BitOr, Not};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns 1 where an element is NaN, and 0 elsewhere, as `u8`.
        pub fn isnan(&self) -> Tensor = self.ne(self);

        /// Returns 1 where an element is infinite, and 0 elsewhere, as `u8`.
        pub fn isinf(&self) -> Tensor = self.is_infinite();

        /// Returns 1 where an element is neither infinite nor NaN, and 0 elsewhere, as `u8`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[1.0, f64::NAN, f64::INFINITY]); // (3,)
        /// assert_eq!(x.isfinite().to_vec1::<u8>(), [1, 0, 0]);
        /// ```
        pub fn isfinite(&self) -> Tensor = self.is_number();

        /// Returns 1 where both elements are not 0, and 0 elsewhere, as `u8`. For masks: `&a & &b`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[-1.0, 2.0, 7.0]); // (3,)
        /// assert_eq!(x.gt(0.0).logical_and(&x.lt(5.0)).to_vec1::<u8>(), [0, 1, 0]);
        /// assert_eq!((x.gt(0.0) & !x.gt(5.0)).to_vec1::<u8>(), [0, 1, 0]);
        /// ```
        pub fn logical_and(&self, other: &Tensor) -> Tensor = self.both(other, true);

        /// Returns 1 where one of two elements or both are not 0, and 0 elsewhere, as `u8`. For masks: `&a | &b`.
        pub fn logical_or(&self, other: &Tensor) -> Tensor = self.both(other, false);

        /// Returns 1 where exactly one of two elements is not 0, and 0 elsewhere, as `u8`.
        pub fn logical_xor(&self, other: &Tensor) -> Tensor = self.ne(0).ne(other.ne(0));

        /// Returns 1 where an element is 0, and 0 elsewhere, as `u8`. For masks: `!&a`.
        pub fn logical_not(&self) -> Tensor = self.eq(0);

        /// Returns whether all elements are close to another tensor, which is broadcast: they differ by at most
        /// `atol + rtol · |other|`. NaN differs from everything. PyTorch's defaults are 1e-5 and 1e-8.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[1.0, 2.0]); // (2,)
        /// assert!(x.all_close(&(&x + 1e-6), 1e-5, 1e-8));
        /// ```
        pub fn all_close(&self, other: &Tensor, rtol: f64, atol: f64) -> bool = self.is_close(other, rtol, atol);
    }

    #[raises]
    fn is_infinite(&self) -> Result<Tensor> {
        match self.dtype().is_float() {
            true => Ok(self.abs().eq(f64::INFINITY)),
            false => Ok(self.ne(self)),
        }
    }

    #[raises]
    fn is_number(&self) -> Result<Tensor> {
        Ok(self.eq(self).minimum(self.is_infinite().eq(0)))
    }

    #[raises]
    fn both(&self, other: &Tensor, and: bool) -> Result<Tensor> {
        let (a, b) = (self.ne(0), other.ne(0));
        Ok(if and { a.minimum(b) } else { a.maximum(b) })
    }

    #[raises]
    fn is_close(&self, other: &Tensor, rtol: f64, atol: f64) -> Result<bool> {
        let double = |x: &Tensor| x.detach().to_dtype(DType::F64);
        let (a, b) = (double(self), double(other));
        let near = (&a - &b).abs().le(b.abs() * rtol + atol);
        // The difference of two infinite values is NaN; they are only close to themselves.
        let close = a.eq(&b) | (near & b.isfinite());
        Ok(close.eq(0).sum_all().item() == 0.0)
    }
}

#[inline(never)]
#[raises]
fn of_masks(name: &str, masks: &[&Tensor]) -> Result<Tensor> {
    for mask in masks {
        check_mask(name, mask)?;
    }
    let [mask, others @ ..] = masks else {
        bail!("{name}: expected a mask");
    };
    Ok(match others {
        [] => mask.eq(0),
        [other, ..] if name == "&" => mask.minimum(*other),
        [other, ..] => mask.maximum(*other),
    })
}

fn check_mask(name: &str, mask: &Tensor) -> Result<()> {
    match mask.dtype() {
        DType::U8 => Ok(()),
        other => refuse!(dtype(name, other);
            "masks of u8", "Compare the elements: x.gt(0.0), or use x.logical_and(&y)"),
    }
}

/// Both sides owned or borrowed.
macro_rules! operator {
    ($($trait:ident $method:ident $sign:literal: $left:ty, $right:ty;)*) => {$(
        /// For masks, tensors of `u8` with 0 and 1.
        impl $trait<$right> for $left {
            type Output = Tensor;

            #[track_caller]
            fn $method(self, other: $right) -> Tensor {
                of_masks($sign, &[self.as_ref(), other.as_ref()])
            }
        }
    )*};
}

operator! {
    BitAnd bitand "&": Tensor, Tensor;
    BitAnd bitand "&": Tensor, &Tensor;
    BitAnd bitand "&": &Tensor, Tensor;
    BitAnd bitand "&": &Tensor, &Tensor;
    BitOr bitor "|": Tensor, Tensor;
    BitOr bitor "|": Tensor, &Tensor;
    BitOr bitor "|": &Tensor, Tensor;
    BitOr bitor "|": &Tensor, &Tensor;
}

/// For masks, tensors of `u8` with 0 and 1.
impl Not for Tensor {
    type Output = Tensor;

    #[track_caller]
    fn not(self) -> Tensor {
        !&self
    }
}

/// For masks, tensors of `u8` with 0 and 1.
impl Not for &Tensor {
    type Output = Tensor;

    #[track_caller]
    fn not(self) -> Tensor {
        of_masks("!", &[self])
    }
}
