//! The tensors of a batch.

use crate::tensor::Tensor;

/// A search through the tensors of a batch, each with the names of its fields: `x`, `tokens.mask`.
pub struct Search<'a> {
    path: String,
    see: &'a mut dyn FnMut(&str, &Tensor),
}

/// A part of a batch that has tensors.
pub trait Searched {
    /// Passes its tensors to the search.
    fn search(&self, search: &mut Search<'_>);
}

impl<'a> Search<'a> {
    /// Creates a search that passes each tensor to a function, with its name.
    pub fn new(see: &'a mut dyn FnMut(&str, &Tensor)) -> Self {
        let path = String::new();
        Search { path, see }
    }

    /// Goes through a field of the batch.
    pub fn field(&mut self, name: &str, part: &dyn Searched) {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        part.search(self);
        self.path.truncate(before);
    }

    /// Passes a tensor on.
    pub(super) fn tensor(&mut self, x: &Tensor) {
        (self.see)(&self.path, x);
    }
}
