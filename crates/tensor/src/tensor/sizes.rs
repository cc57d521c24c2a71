//! Shapes as arguments, in which a size may be computed.

use candle_core::Shape;
use std::fmt::{self, Display, Formatter};

/// The sizes of a tensor: `6`, `(2, -1)`, `[2, 3]`, a slice, or a [`Shape`](candle_core::Shape). One size may be `-1` or
/// `()`: [`reshape`](super::Tensor::reshape) computes it from the number of elements, and
/// [`broadcast_as`](super::Tensor::broadcast_as) keeps the size of that dimension.
///
/// ```
/// use taper::prelude::*;
///
/// let x = zeros((2, 3, 4)); // (2, 3, 4)
/// assert_eq!(x.reshape((x.dim(0), -1)).dims(), [2, 12]);
/// assert_eq!(x.unsqueeze(0).broadcast_as((5, -1, -1, -1)).dims(), [5, 2, 3, 4]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes(Vec<Size>);

/// One size of [`Sizes`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size(i64);

impl Sizes {
    /// Returns each size, or `None` where it is to be computed; an error if one is below -1.
    pub(crate) fn known(&self) -> Result<Vec<Option<usize>>, i64> {
        let known = |size: &Size| match size.0 {
            -1 => Ok(None),
            size => usize::try_from(size).map(Some).map_err(|_| size),
        };
        self.0.iter().map(known).collect()
    }
}

impl Display for Sizes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|size| size.0))
            .finish()
    }
}

impl From<()> for Size {
    fn from((): ()) -> Self {
        Size(-1)
    }
}

/// A scalar.
impl From<()> for Sizes {
    fn from((): ()) -> Self {
        Sizes(vec![])
    }
}

macro_rules! from_integers {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Size {
            fn from(size: $integer) -> Self {
                Size(i64::try_from(size).unwrap_or(i64::MAX))
            }
        }

        impl From<$integer> for Sizes {
            fn from(size: $integer) -> Self {
                Sizes(vec![size.into()])
            }
        }

        impl From<&[$integer]> for Sizes {
            fn from(sizes: &[$integer]) -> Self {
                Sizes(sizes.iter().map(|size| Size::from(*size)).collect())
            }
        }

        impl From<Vec<$integer>> for Sizes {
            fn from(sizes: Vec<$integer>) -> Self {
                sizes.as_slice().into()
            }
        }

        impl From<&Vec<$integer>> for Sizes {
            fn from(sizes: &Vec<$integer>) -> Self {
                sizes.as_slice().into()
            }
        }

        impl<const N: usize> From<[$integer; N]> for Sizes {
            fn from(sizes: [$integer; N]) -> Self {
                sizes.as_slice().into()
            }
        }

        impl<const N: usize> From<&[$integer; N]> for Sizes {
            fn from(sizes: &[$integer; N]) -> Self {
                sizes.as_slice().into()
            }
        }
    )*};
}
from_integers!(i32 i64 usize);

impl From<&Shape> for Sizes {
    fn from(shape: &Shape) -> Self {
        shape.dims().into()
    }
}

impl From<Shape> for Sizes {
    fn from(shape: Shape) -> Self {
        shape.dims().into()
    }
}

macro_rules! from_tuple {
    ($($name:ident)*) => {
        impl<$($name: Into<Size>),*> From<($($name,)*)> for Sizes {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                Sizes(vec![$($name.into()),*])
            }
        }
    };
}
from_tuple!(A);
from_tuple!(A B);
from_tuple!(A B C);
from_tuple!(A B C D);
from_tuple!(A B C D E);
from_tuple!(A B C D E F);
from_tuple!(A B C D E F G);
from_tuple!(A B C D E F G H);

#[cfg(test)]
mod tests {
    use crate::error::attempt;
    use crate::tensor::{Tensor, arange, zeros};

    fn message(compute: impl FnOnce() -> Tensor) -> String {
        attempt(compute).expect_err("an error").to_string()
    }

    #[test]
    fn one_size_is_computed() {
        let x = arange(0, 24);
        for view in [
            x.reshape((2, -1, 4)),
            x.reshape((2, (), 4)),
            x.reshape([2, -1, 4]),
        ] {
            assert_eq!(view.dims(), [2, 3, 4]);
        }
        let n = x.dim(0) / 8;
        assert_eq!(
            x.reshape((n, 1, 2, 1, -1, 2, 1)).dims(),
            [3, 1, 2, 1, 2, 2, 1]
        );
        assert_eq!(x.reshape(-1).reshape(x.shape()).dims(), [24]);
        assert_eq!(x.narrow(0, 0, 1).reshape(()).rank(), 0);
        for (found, compute) in [
            (
                "[5, -1], whose other sizes have 5 elements",
                &(|| x.reshape((5, -1))) as &dyn Fn() -> _,
            ),
            ("[-1, -1], with two sizes to compute", &|| {
                x.reshape((-1, -1))
            }),
            ("[5], with 5 elements", &|| x.reshape(5)),
            ("a size of -3", &|| x.reshape((-3, 8))),
            ("[0, -1], whose other sizes have 0 elements", &|| {
                zeros(0).reshape((0, -1))
            }),
        ] {
            let message = message(compute);
            assert!(message.contains(found), "{message}");
        }
    }

    #[test]
    fn a_broadcast_keeps_sizes() {
        let x = zeros((3, 1));
        assert_eq!(x.broadcast_as((2, -1, 4)).dims(), [2, 3, 4]);
        let message = message(|| x.broadcast_as((-1, 3, 4)));
        assert!(message.contains("where dimension 0 is new"), "{message}");
    }

    #[test]
    fn slices_have_steps() {
        let x = arange(0, 10);
        let elements = |x: Tensor| x.to_vec1::<i64>();
        assert_eq!(elements(x.i((1..).step_by(4))), [1, 5, 9]);
        assert_eq!(elements(x.i((0..6).step_by(3))), [0, 3]);
        assert_eq!(elements(x.i((2..=8usize).step_by(6))), [2, 8]);
        assert_eq!(elements(x.i((-3..).step_by(2))), [7, 9]);
        assert_eq!(elements(x.i((4..5).step_by(3))), [4]);
        assert_eq!(elements(x.i((4..4).step_by(3))), [0; 0]);
        assert!(message(|| x.i((5..20).step_by(5))).contains("15"));
    }
}
