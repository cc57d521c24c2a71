//! Indices, ranges and tensors of indices as arguments of [`Tensor::i`](super::Tensor::i).

use super::Tensor;
use std::iter::StepBy;
use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// What is chosen of one dimension.
#[derive(Clone, Debug)]
pub enum Index {
    /// One index; the dimension is removed.
    At(i64),
    /// The indices from one bound to the other.
    Range(Bound<i64>, Bound<i64>),
    /// Every `step`-th index from the first to the last, if there is one.
    Stepped {
        /// The first index.
        first: i64,
        /// The last index; `None` for the end of the dimension.
        last: Option<i64>,
        /// The distance of two indices.
        step: usize,
    },
    /// The indices in a tensor of integers, or those where a mask, a tensor of `u8`, is not 0.
    Each(Tensor),
    /// All indices of the dimensions that the other indices leave.
    Rest,
    /// A new dimension of size 1.
    New,
}

/// As an index, all dimensions that the other indices leave: PyTorch's `...`.
///
/// ```
/// use taper::prelude::*;
///
/// let x = arange(0, 12).reshape((2, 3, 2)); // (2, 3, 2)
/// assert_eq!(x.i((Ellipsis, 0)).to_vec2::<i64>(), [[0, 2, 4], [6, 8, 10]]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ellipsis;

/// As an index, a new dimension of size 1: PyTorch's `None`.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(zeros((2, 3)).i((.., NewAxis)).dims(), [2, 1, 3]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// One index, or a tuple of up to six: `0`, `(.., -1)`, `(1..3, 0)`, `(.., (0..).step_by(2))`.
///
/// ```
/// use taper::prelude::*;
///
/// let x = arange(0, 6).reshape((2, 3)); // (2, 3)
/// assert_eq!(x.i((0, 1)).item(), 1.0);
/// assert_eq!(x.i((.., (0..).step_by(2))).to_vec2::<i64>(), [[0, 2], [3, 5]]);
/// ```
pub trait Indices {
    /// Returns an index for each of the first dimensions.
    #[doc(hidden)]
    fn indices(self) -> Vec<Index>;
}

macro_rules! index_from_integer {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Index {
            fn from(index: $integer) -> Self {
                Index::At(position(index))
            }
        }
        index_from_range!($integer: Range RangeFrom RangeInclusive RangeTo RangeToInclusive);
    )*};
}

macro_rules! index_from_range {
    ($integer:ty: $($range:ident)*) => {$(
        impl From<$range<$integer>> for Index {
            fn from(range: $range<$integer>) -> Self {
                use std::ops::RangeBounds;
                let bound = |bound: Bound<&$integer>| bound.map(|at| position(*at));
                Index::Range(bound(range.start_bound()), bound(range.end_bound()))
            }
        }
    )*};
}
index_from_integer!(i32 i64 usize);

/// PyTorch's slices with a step: `x[::2]` is `x.i((0..).step_by(2))`.
macro_rules! index_from_steps {
    ($($integer:ty)*) => {$(
        impl From<StepBy<RangeFrom<$integer>>> for Index {
            fn from(mut steps: StepBy<RangeFrom<$integer>>) -> Self {
                let first = steps.next().map_or(0, position);
                let second = steps.next().map_or(first + 1, position);
                let step = second.abs_diff(first) as usize;
                Index::Stepped { first, last: None, step }
            }
        }
        index_from_steps!($integer: Range RangeInclusive);
    )*};
    ($integer:ty: $($range:ident)*) => {$(
        impl From<StepBy<$range<$integer>>> for Index {
            fn from(steps: StepBy<$range<$integer>>) -> Self {
                let all: Vec<i64> = steps.map(position).collect();
                match all[..] {
                    [] => Index::Range(Bound::Included(0), Bound::Excluded(0)),
                    [only] => Index::Stepped { first: only, last: Some(only), step: 1 },
                    [first, second, ..] => Index::Stepped {
                        first,
                        last: all.last().copied(),
                        step: second.abs_diff(first) as usize,
                    },
                }
            }
        }
    )*};
}
index_from_steps!(i32 i64 usize);

/// Returns an index as `i64`; an index that does not fit is out of range anyway.
fn position(index: impl TryInto<i64>) -> i64 {
    index.try_into().unwrap_or(i64::MAX)
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Self {
        Index::Range(Bound::Unbounded, Bound::Unbounded)
    }
}

impl From<Ellipsis> for Index {
    fn from(_: Ellipsis) -> Self {
        Index::Rest
    }
}

impl From<NewAxis> for Index {
    fn from(_: NewAxis) -> Self {
        Index::New
    }
}

impl From<&Tensor> for Index {
    fn from(indices: &Tensor) -> Self {
        Index::Each(indices.clone())
    }
}

macro_rules! indices_from_one {
    ($($one:ty)*) => {$(
        impl Indices for $one {
            fn indices(self) -> Vec<Index> {
                vec![self.into()]
            }
        }
    )*};
}
indices_from_one!(i32 i64 usize RangeFull &Tensor Ellipsis NewAxis Index);
indices_from_one!(Range<i32> Range<i64> Range<usize> RangeFrom<i32> RangeFrom<i64> RangeFrom<usize>);
indices_from_one!(RangeTo<i32> RangeTo<i64> RangeTo<usize>);
indices_from_one!(RangeInclusive<i32> RangeInclusive<i64> RangeInclusive<usize>);
indices_from_one!(StepBy<RangeFrom<i32>> StepBy<RangeFrom<i64>> StepBy<RangeFrom<usize>>);
indices_from_one!(StepBy<Range<i32>> StepBy<Range<i64>> StepBy<Range<usize>>);
indices_from_one!(StepBy<RangeInclusive<i32>> StepBy<RangeInclusive<i64>>);
indices_from_one!(StepBy<RangeInclusive<usize>>);
indices_from_one!(RangeToInclusive<i32> RangeToInclusive<i64> RangeToInclusive<usize>);

macro_rules! indices_from_tuple {
    ($($name:ident),*) => {
        impl<$($name: Into<Index>),*> Indices for ($($name,)*) {
            #[allow(non_snake_case)]
            fn indices(self) -> Vec<Index> {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        }
    };
}
indices_from_tuple!(A);
indices_from_tuple!(A, B);
indices_from_tuple!(A, B, C);
indices_from_tuple!(A, B, C, D);
indices_from_tuple!(A, B, C, D, E);
indices_from_tuple!(A, B, C, D, E, F);
