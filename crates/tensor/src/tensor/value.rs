//! The type [`Tensor`].

use super::context::formatted;
use super::raw::Raw;
use std::fmt::{self, Debug, Display, Formatter};
use std::mem::ManuallyDrop;

/// An array of elements of one type, with any number of dimensions, on one device.
///
/// Operators broadcast as in NumPy and PyTorch, and take tensors, references and scalars. Methods have
/// PyTorch's names. A wrong shape, type, index or device is a panic whose message says what was expected
/// and what to do; [`attempt`](crate::error::attempt) makes an error of it.
///
/// A tensor is never changed, except for the values of a `Parameter`. A clone, a
/// view and a tensor on the same device share their memory.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]); // (2, 3)
/// let y = 2.0 * &x + tensor(&[10.0, 20.0, 30.0]); // (2, 3)
/// assert_eq!(y.to_vec2::<f32>(), [[12.0, 24.0, 36.0], [18.0, 30.0, 42.0]]);
/// assert_eq!(x.mean_all().item(), 3.5);
/// ```
///
/// # Candle
///
/// The values are a [Candle tensor](candle_core::Tensor): [`From`] converts in both directions, and
/// [`as_candle`](Tensor::as_candle) borrows. Neither copies elements. What Candle has computed from its variables brings
/// its gradients along; in the other direction, the values go without what they were computed from. To compute with a
/// layer of Candle's, use [`apply`](Tensor::apply).
#[repr(transparent)]
pub struct Tensor(ManuallyDrop<Raw>);

// What a cell of a notebook drops, clones and prints would be compiled in that cell. These functions are not
// generic and not inlined, so they are compiled once, in this crate.
impl Drop for Tensor {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: the field is not used after this.
        unsafe { ManuallyDrop::drop(&mut self.0) }
    }
}

impl Clone for Tensor {
    #[inline(never)]
    fn clone(&self) -> Self {
        Self::from_raw(self.raw().clone())
    }
}

impl Debug for Tensor {
    #[inline(never)]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        formatted(self.raw());
        Debug::fmt(self.raw(), f)
    }
}

impl Display for Tensor {
    #[inline(never)]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self.raw(), f)
    }
}

impl Tensor {
    pub(crate) fn from_raw(raw: Raw) -> Self {
        Self(ManuallyDrop::new(raw))
    }

    #[doc(hidden)]
    pub fn raw(&self) -> &Raw {
        &self.0
    }

    /// Borrows a Candle tensor as a tensor.
    #[doc(hidden)]
    pub fn from_raw_ref(raw: &Raw) -> &Self {
        // SAFETY: both types are `repr(transparent)` around `Raw`.
        unsafe { &*std::ptr::from_ref(raw).cast::<Self>() }
    }

    /// Borrows the values, for functions of Candle's crates. No gradients flow through them.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[4.0, 9.0]); // (2,)
    /// let roots: Tensor = x.as_candle().sqrt()?.into();
    /// assert_eq!(roots.to_vec1::<f32>(), [2.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn as_candle(&self) -> &candle_core::Tensor {
        self.raw().values()
    }
}

impl From<Raw> for Tensor {
    fn from(raw: Raw) -> Self {
        Self::from_raw(raw)
    }
}

impl From<&Raw> for Tensor {
    fn from(raw: &Raw) -> Self {
        Self::from_raw(raw.clone())
    }
}

impl From<Tensor> for Raw {
    fn from(tensor: Tensor) -> Self {
        tensor.raw().clone()
    }
}

impl From<&Tensor> for Raw {
    fn from(tensor: &Tensor) -> Self {
        tensor.raw().clone()
    }
}

/// The values.
impl From<Tensor> for candle_core::Tensor {
    #[inline(never)]
    fn from(tensor: Tensor) -> Self {
        tensor.as_candle().clone()
    }
}

/// The values.
impl From<&Tensor> for candle_core::Tensor {
    #[inline(never)]
    fn from(tensor: &Tensor) -> Self {
        tensor.as_candle().clone()
    }
}

impl AsRef<Tensor> for Tensor {
    fn as_ref(&self) -> &Tensor {
        self
    }
}
