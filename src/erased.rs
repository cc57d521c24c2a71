//! A value that cells need not know in its parts.
//!
//! A cell that keeps a variable compiles how it is dropped, and all its parts with it. Where these
//! are many, they are hidden here.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Like `Box<T>`, but what `T` consists of is compiled only where it is put in.
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
