//! A value that the cells of a notebook neither drop, clone nor print themselves.
//!
//! A cell that keeps a variable, or only gets a value, compiles how it is dropped, and that means all of its
//! fields. So a type with many fields keeps them in an [`Erased`], and is cloned and printed by functions that
//! are compiled once, in this crate.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// Like `T`, but how to drop it is compiled only where it is created.
pub struct Erased<T> {
    value: ManuallyDrop<T>,
    drop: unsafe fn(*mut T),
}

impl<T> Erased<T> {
    pub fn new(value: T) -> Self {
        Erased {
            value: ManuallyDrop::new(value),
            drop: std::ptr::drop_in_place::<T>,
        }
    }

    pub fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: neither `this` nor its field is used or dropped after this.
        unsafe { ManuallyDrop::take(&mut this.value) }
    }
}

impl<T> Drop for Erased<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the function drops a `T`, and the field is not used after this.
        unsafe { (self.drop)(&mut *self.value) }
    }
}

impl<T> From<T> for Erased<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for Erased<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: PartialEq> PartialEq for Erased<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Clone> Clone for Erased<T> {
    fn clone(&self) -> Self {
        Self::new((**self).clone())
    }
}

impl<T> Deref for Erased<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Erased<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Erased<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Collects texts, so that a cell compiles only their conversion.
#[inline(never)]
pub fn texts(texts: &mut dyn Iterator<Item = String>) -> Vec<String> {
    texts.collect()
}

/// Implements `Clone` or `Debug`, or both, like a derive, but by a function that is compiled in this crate and not in
/// each cell that calls it.
#[doc(hidden)]
#[macro_export]
macro_rules! outlined {
    (Clone Debug for $type:ident $fields:tt) => {
        $crate::erased::outlined!(Clone for $type $fields);
        $crate::erased::outlined!(Debug for $type $fields);
    };
    (Clone for $type:ident { $($field:ident),* $(,)? }) => {
        impl Clone for $type {
            #[inline(never)]
            fn clone(&self) -> Self {
                Self { $($field: self.$field.clone()),* }
            }
        }
    };
    (Debug for $type:ident { $($field:ident),* $(,)? }) => {
        impl std::fmt::Debug for $type {
            #[inline(never)]
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), &self.$field))*
                    .finish()
            }
        }
    };
}
pub use crate::outlined;

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn the_value_is_dropped_once() {
        let counted = Rc::new(7);
        let mut erased = Erased::new(vec![counted.clone()]);
        erased.push(counted.clone());
        let copy = erased.clone();
        assert_eq!(Rc::strong_count(&counted), 5);
        drop(erased);
        assert_eq!(format!("{copy:?}"), "[7, 7]");
        drop(copy);
        assert_eq!(Rc::strong_count(&counted), 1);
    }
}
