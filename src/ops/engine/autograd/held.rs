//! What a kernel holds for its backward pass.

use crate::tensor::Raw;

/// The memory that kernels say that they hold.
#[derive(Default)]
pub(in crate::ops) struct Held {
    pub(super) tensors: Vec<Raw>,
    /// The bytes outside of tensors.
    pub(super) bytes: usize,
}

impl Held {
    /// Adds a tensor.
    pub(in crate::ops) fn tensor(&mut self, x: &Raw) {
        self.tensors.push(x.clone());
    }

    /// Adds values that are not in a tensor.
    pub(in crate::ops) fn slice<T>(&mut self, values: &[T]) {
        self.bytes += size_of_val(values);
    }
}
