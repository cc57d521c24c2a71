//! The size of the output of adaptive pooling.

use crate::ops::pair::Pair;
use std::fmt;

/// The height and width of the output of adaptive pooling: `3` for both, or `(2, 3)`. A size that is `None` is that of
/// the input.
///
/// ```
/// use taper::prelude::*;
///
/// let pool = AdaptiveAvgPool2d::new((3, None));
/// assert_eq!(pool.forward(&zeros((1, 2, 7, 5))).dims(), [1, 2, 3, 5]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OutputSize([Option<usize>; 2]);

impl OutputSize {
    /// Returns the sizes for an input of this height and width.
    #[doc(hidden)]
    pub fn of(self, height: usize, width: usize) -> Pair {
        let [rows, columns] = self.0;
        (rows.unwrap_or(height), columns.unwrap_or(width)).into()
    }

    /// Returns the smallest size that is given.
    #[doc(hidden)]
    pub fn least(self) -> usize {
        self.0.into_iter().flatten().min().unwrap_or(1)
    }
}

macro_rules! from {
    ($($type:ty: $size:pat => $sizes:expr;)*) => {$(
        impl From<$type> for OutputSize {
            fn from($size: $type) -> Self {
                OutputSize($sizes)
            }
        }
    )*};
}

from! {
    usize: size => [Some(size); 2];
    [usize; 2]: sizes => sizes.map(Some);
    Pair: size => size.both().map(Some);
    (usize, usize): (height, width) => [Some(height), Some(width)];
    (Option<usize>, usize): (height, width) => [height, Some(width)];
    (usize, Option<usize>): (height, width) => [Some(height), width];
    (Option<usize>, Option<usize>): (height, width) => [height, width];
}

/// Equal sizes are written as one.
impl fmt::Debug for OutputSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |size: Option<usize>| size.map_or("None".to_owned(), |size| size.to_string());
        match self.0 {
            [Some(height), Some(width)] => Pair { height, width }.fmt(f),
            [height, width] => write!(f, "({}, {})", text(height), text(width)),
        }
    }
}
