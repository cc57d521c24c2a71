//! Dimensions as arguments.

use super::Raw;
use crate::error::{self, refuse};
use candle_core::{D, Error, Result};
use std::fmt::Display;
use std::ops::RangeFull;

/// A dimension of a tensor: an index from 0 on, or a negative index, counted from the end.
///
/// ```
/// use taper::prelude::*;
///
/// let x = zeros((2, 3)); // (2, 3)
/// assert_eq!((x.dim(0), x.dim(-1), x.dim(D::Minus1)), (2, 3, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis(i64);

/// Some dimensions of a tensor, or all: `1`, `(0, -1)`, `[2, 3]`, `..`.
///
/// ```
/// use taper::prelude::*;
///
/// let x = ones((2, 3, 4)); // (2, 3, 4)
/// assert_eq!(x.sum((1, 2)).dims(), [2]);
/// assert_eq!(x.sum(..).dims(), [0; 0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Axes(Option<Vec<Axis>>);

macro_rules! axis_from {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Axis {
            fn from(axis: $integer) -> Self {
                Axis(i64::try_from(axis).unwrap_or(i64::MAX))
            }
        }
    )*};
}
axis_from!(i32 i64 usize);

impl From<D> for Axis {
    fn from(axis: D) -> Self {
        Axis(match axis {
            D::Minus1 => -1,
            D::Minus2 => -2,
            D::Minus(n) => i64::try_from(n).map_or(i64::MIN, |n| -n),
        })
    }
}

impl Axis {
    /// Returns the index from 0 on.
    pub(crate) fn of(self, caller: &dyn Display, x: &Raw) -> Result<usize> {
        let rank = x.rank();
        self.in_rank(rank).ok_or_else(|| {
            let expected = match rank {
                0 => "Expected at least one dimension".to_owned(),
                rank => format!("Its dimensions are 0 to {}", rank - 1),
            };
            wrong_shape(caller, x, expected)
        })
    }

    /// Returns the index from 0 on, where `rank` itself is also allowed: the place of a new dimension.
    pub(crate) fn of_new(self, caller: &dyn Display, x: &Raw) -> Result<usize> {
        let places = x.rank() + 1;
        self.in_rank(places).ok_or_else(|| {
            let expected = format!("A new dimension can be at 0 to {}", places - 1);
            wrong_shape(caller, x, expected)
        })
    }

    fn in_rank(self, rank: usize) -> Option<usize> {
        let rank = rank as i64;
        let index = if self.0 < 0 {
            self.0.checked_add(rank)?
        } else {
            self.0
        };
        (0..rank).contains(&index).then_some(index as usize)
    }
}

fn wrong_shape(caller: &dyn Display, x: &Raw, expected: String) -> Error {
    let problem = format!("{caller} cannot take an input of shape {:?}", x.dims());
    error::explain(problem, expected).into()
}

impl Axes {
    /// Returns the indices from 0 on, sorted.
    ///
    /// As in PyTorch, a scalar may be reduced along the dimension 0, which it does not have.
    pub(crate) fn of(&self, caller: &dyn Display, x: &Raw) -> Result<Vec<usize>> {
        if let (0, Some([axis])) = (x.rank(), self.0.as_deref())
            && axis.in_rank(1).is_some()
        {
            return Ok(vec![]);
        }
        let mut axes = self.in_order_of(caller, x)?;
        axes.sort_unstable();
        Ok(axes)
    }

    /// Returns the indices from 0 on, in the given order.
    pub(crate) fn in_order_of(&self, caller: &dyn Display, x: &Raw) -> Result<Vec<usize>> {
        let Some(axes) = &self.0 else {
            return Ok((0..x.rank()).collect());
        };
        let axes = axes.iter().map(|axis| axis.of(caller, x));
        let axes = axes.collect::<Result<Vec<_>>>()?;
        let twice = (1..axes.len()).find(|i| axes[..*i].contains(&axes[*i]));
        match twice {
            None => Ok(axes),
            Some(i) => refuse!(argument(caller, format_args!("dimension {} twice", axes[i]));
                "different dimensions", "Name each dimension once"),
        }
    }
}

macro_rules! axes_from_one {
    ($($one:ty)*) => {$(
        impl From<$one> for Axes {
            fn from(axis: $one) -> Self {
                Axes(Some(vec![axis.into()]))
            }
        }
    )*};
}
axes_from_one!(i32 i64 usize D Axis);

/// All dimensions.
impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Self {
        Axes(None)
    }
}

impl<A: Into<Axis>, const N: usize> From<[A; N]> for Axes {
    fn from(axes: [A; N]) -> Self {
        Axes(Some(axes.map(Into::into).to_vec()))
    }
}

impl<A: Into<Axis>> From<Vec<A>> for Axes {
    fn from(axes: Vec<A>) -> Self {
        Axes(Some(axes.into_iter().map(Into::into).collect()))
    }
}

impl<A: Into<Axis> + Copy> From<&[A]> for Axes {
    fn from(axes: &[A]) -> Self {
        Axes(Some(axes.iter().map(|axis| (*axis).into()).collect()))
    }
}

macro_rules! axes_from_tuple {
    ($($name:ident),*) => {
        impl<$($name: Into<Axis>),*> From<($($name,)*)> for Axes {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                Axes(Some(vec![$($name.into()),*]))
            }
        }
    };
}
axes_from_tuple!(A, B);
axes_from_tuple!(A, B, C);
axes_from_tuple!(A, B, C, E);
axes_from_tuple!(A, B, C, E, F);
axes_from_tuple!(A, B, C, E, F, G);
axes_from_tuple!(A, B, C, E, F, G, H);
axes_from_tuple!(A, B, C, E, F, G, H, I);

#[cfg(test)]
mod tests {
    use super::*;

    fn x() -> Raw {
        Raw::zeros(
            (2, 3, 4),
            candle_core::DType::F32,
            &candle_core::Device::Cpu,
        )
        .unwrap()
    }

    #[test]
    fn an_axis_counts_from_both_ends() {
        let of = |axis: Axis| axis.of(&"sum", &x()).ok();
        assert_eq!([of(0.into()), of(2usize.into())], [Some(0), Some(2)]);
        assert_eq!([of((-1).into()), of(D::Minus2.into())], [Some(2), Some(1)]);
        assert_eq!([of(D::Minus(3).into()), of((-3i64).into())], [Some(0); 2]);
        let outside = [
            3.into(),
            (-4).into(),
            usize::MAX.into(),
            i64::MIN.into(),
            D::Minus(4).into(),
        ];
        assert_eq!(outside.map(of), [None; 5]);
        let new = |axis: Axis| axis.of_new(&"unsqueeze", &x()).ok();
        assert_eq!(
            [new((-1).into()), new(3.into()), new(4.into())],
            [Some(3), Some(3), None]
        );
    }

    #[test]
    fn axes_are_sorted_unless_their_order_counts_and_are_not_repeated() {
        let axes = Axes::from((-1, 0));
        assert_eq!(axes.of(&"sum", &x()).unwrap(), [0, 2]);
        assert_eq!(axes.in_order_of(&"permute", &x()).unwrap(), [2, 0]);
        assert_eq!(Axes::from(..).of(&"sum", &x()).unwrap(), [0, 1, 2]);
        let error = Axes::from([1, -2])
            .of(&"sum", &x())
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "sum: expected different dimensions, found dimension 1 twice\nName each dimension once"
        );
    }
}
