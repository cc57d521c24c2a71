//! A box that hides the parts of a value from the cells of a notebook.
//!
//! A cell that keeps a variable compiles its destructor, including those of all fields. For types with
//! many fields that takes time in every cell; behind a trait object it is compiled once, in this crate.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Like `Box<T>`, but the destructor of `T` is compiled only where the box is created.
pub(crate) struct Erased<T: 'static>(Box<dyn Holds<T>>);

trait Holds<T>: Send + Sync {
    fn get(&self) -> &T;
    fn get_mut(&mut self) -> &mut T;
}

impl<T: Send + Sync> Holds<T> for T {
    fn get(&self) -> &T {
        self
    }

    fn get_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: Send + Sync> Erased<T> {
    pub(crate) fn new(value: T) -> Self {
        Erased(Box::new(value))
    }
}

impl<T> Deref for Erased<T> {
    type Target = T;

    fn deref(&self) -> &T {
        (*self.0).get()
    }
}

impl<T> DerefMut for Erased<T> {
    fn deref_mut(&mut self) -> &mut T {
        (*self.0).get_mut()
    }
}

impl<T: fmt::Debug> fmt::Debug for Erased<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
