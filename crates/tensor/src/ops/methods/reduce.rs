//! Sums, means, largest and smallest values.

use crate::ops;
use crate::tensor::{Axes, Axis, Tensor};
use candle_core::Result;
use taper_macros::raises;

/// Three methods: along a dimension, the same but keeping the dimension, and over all elements.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $keepdim:ident $all:ident: $arg:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $name(&self, dim: impl Into<$arg>) -> Tensor {
            ops::$name(self, dim)
        }

        $(#[$doc])*
        ///
        /// The dimension keeps its place, with the size 1.
        #[inline]
        #[track_caller]
        pub fn $keepdim(&self, dim: impl Into<$arg>) -> Tensor {
            ops::$keepdim(self, dim)
        }

        $(#[$doc])*
        ///
        /// Over all elements.
        #[inline]
        #[track_caller]
        pub fn $all(&self) -> Tensor {
            ops::$all(self)
        }
    )*};
}

impl Tensor {
    reductions! {
        /// Returns the sum. Integers and masks are summed exactly, as `i64`.
        sum sum_keepdim sum_all: Axes;
        /// Returns the mean. A mask has the mean of its zeros and ones; integers are refused.
        mean mean_keepdim mean_all: Axes;
        /// Returns the largest element; NaN if there is one.
        max max_keepdim max_all: Axis;
        /// Returns the smallest element; NaN if there is one.
        min min_keepdim min_all: Axis;
    }

    methods! {
        /// Returns the index of the largest element along a dimension, as `u32`.
        pub fn argmax(&self, dim: impl Into<Axis>) -> Tensor = ops::argmax(self, dim);
        /// Returns the index of the largest element along a dimension, which keeps its place with the size 1, as `u32`.
        pub fn argmax_keepdim(&self, dim: impl Into<Axis>) -> Tensor = self.index_kept(dim.into(), true);
        /// Returns the index of the smallest element along a dimension, which keeps its place with the size 1, as `u32`.
        pub fn argmin_keepdim(&self, dim: impl Into<Axis>) -> Tensor = self.index_kept(dim.into(), false);
        /// Returns the index of the smallest element along a dimension, as `u32`.
        pub fn argmin(&self, dim: impl Into<Axis>) -> Tensor = ops::argmin(self, dim);
        /// Returns the variance along dimensions, with `n - 1` in the denominator.
        pub fn var(&self, dim: impl Into<Axes>) -> Tensor = ops::var(self, dim);
        /// Returns the standard deviation along dimensions, with `n - 1` in the denominator.
        pub fn std(&self, dim: impl Into<Axes>) -> Tensor = ops::std(self, dim);
        /// Returns the Euclidean norm along dimensions: the root of the sum of squares.
        pub fn norm(&self, dim: impl Into<Axes>) -> Tensor = ops::norm(self, dim);
    }

    #[raises]
    fn index_kept(&self, dim: Axis, largest: bool) -> Result<Tensor> {
        let index = match largest {
            true => ops::argmax(self, dim),
            false => ops::argmin(self, dim),
        };
        match self.rank() {
            0 => Ok(index),
            _ => Ok(index.unsqueeze(dim.of(&"argmax", self.raw())?)),
        }
    }
}
