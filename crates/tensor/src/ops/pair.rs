//! A setting for height and width.

use std::fmt;

/// A setting for height and width: `3` for both, or `(3, 5)`.
///
/// Functions take `impl Into<Pair>`, so that both forms can be passed.
///
/// ```
/// use taper::prelude::*;
///
/// let both = Conv2d::new(1, 1, 3).padding(1);
/// let each = Conv2d::new(1, 1, (3, 5)).padding((1, 2));
/// let x = zeros((1, 1, 8, 8));
/// assert_eq!(both.forward(&x).dims(), each.forward(&x).dims());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The setting for the height.
    pub height: usize,
    /// The setting for the width.
    pub width: usize,
}

impl Pair {
    /// Returns the settings for height and width.
    #[doc(hidden)]
    pub fn both(self) -> [usize; 2] {
        [self.height, self.width]
    }

    /// Returns the settings that `f` computes from these.
    pub(crate) fn map(self, f: impl Fn(usize) -> usize) -> Self {
        Pair {
            height: f(self.height),
            width: f(self.width),
        }
    }

    /// Returns the smaller setting.
    #[doc(hidden)]
    pub fn least(self) -> usize {
        self.height.min(self.width)
    }

    pub(crate) fn product(self) -> usize {
        self.height.saturating_mul(self.width)
    }
}

impl From<usize> for Pair {
    fn from(size: usize) -> Self {
        Pair {
            height: size,
            width: size,
        }
    }
}

impl From<(usize, usize)> for Pair {
    fn from((height, width): (usize, usize)) -> Self {
        Pair { height, width }
    }
}

impl From<[usize; 2]> for Pair {
    fn from([height, width]: [usize; 2]) -> Self {
        Pair { height, width }
    }
}

/// Equal settings are written as one.
impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.height == self.width {
            true => write!(f, "{}", self.height),
            false => write!(f, "({}, {})", self.height, self.width),
        }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
