//! Comparisons, and choices that depend on them.

use crate::error::OrRaise;
use crate::ops::{self, compare, compare_number};
use crate::tensor::{Operand, Tensor};
use candle_core::op::CmpOp;

macro_rules! comparisons {
    ($($name:ident $op:ident $sign:literal;)*) => {$(
        #[doc = concat!("Returns 1 where `x ", $sign, " other`, and 0 elsewhere, as `u8`. `other` is a number, or a tensor that is broadcast.")]
        #[inline]
        #[track_caller]
        pub fn $name(&self, other: impl Into<Operand>) -> Tensor {
            self.compared(CmpOp::$op, other.into())
        }
    )*};
}

/// Comparisons. Their results can be counted: `x.gt(0.5).sum_all()`.
impl Tensor {
    comparisons! {
        eq Eq "==";
        ne Ne "!=";
        lt Lt "<";
        le Le "<=";
        gt Gt ">";
        ge Ge ">=";
    }

    #[track_caller]
    fn compared(&self, op: CmpOp, other: Operand) -> Tensor {
        let result = match other {
            Operand::Tensor(other) => compare(op, self.raw(), other.raw()),
            Operand::Number(number) => compare_number(op, self.raw(), number),
        };
        result.or_raise().into()
    }

    methods! {
        /// Returns the elements of `yes` where this mask is not 0, and those of `no` elsewhere. Both are scalars,
        /// or tensors that are broadcast.
        ///
        /// The elements that are not chosen have the gradient 0, also if they are NaN. The operation that computed them
        /// multiplies it by its own derivative, which may be infinite: the gradient of
        /// `x.gt(0.0).where_cond(x.sqrt(), 0.0)` is NaN at 0. Replace the input instead:
        /// `x.masked_fill(&x.le(0.0), 1.0).sqrt()`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[-1.0, 2.0]); // (2,)
        /// assert_eq!(x.gt(0.0).where_cond(&x, 0.0).to_vec1::<f32>(), [0.0, 2.0]);
        /// ```
        pub fn where_cond(&self, yes: impl Into<Operand>, no: impl Into<Operand>) -> Tensor
            = ops::where_cond(self, yes, no);

        /// Returns the tensor with `value` where the mask is not 0; the mask is broadcast. What was there has the gradient
        /// 0, as for [`where_cond`](Self::where_cond).
        pub fn masked_fill(&self, mask: &Tensor, value: impl Into<Operand>) -> Tensor
            = ops::where_cond(mask, value, self);
    }
}
