//! The memory that operations hold for the backward pass.

use crate::tensor::{Candle, Raw};
use candle_core::{CpuStorage, Storage};
use std::collections::HashMap;

/// The memory that operations hold.
#[derive(Default)]
pub(crate) struct Held {
    /// The bytes of each storage, by its address.
    pub(super) storages: HashMap<usize, usize>,
    /// The bytes outside of tensors.
    pub(super) bytes: usize,
}

impl Held {
    /// Adds a tensor.
    pub(crate) fn tensor(&mut self, x: &Raw) {
        self.values(x.values());
    }

    /// Adds values that are not in a tensor.
    pub(crate) fn slice<T>(&mut self, values: &[T]) {
        self.bytes += size_of_val(values);
    }

    pub(super) fn values(&mut self, x: &Candle) {
        let (storage, _) = x.storage_and_layout();
        let count = match &*storage {
            Storage::Cpu(values) => count_of(values),
            _ => x.elem_count(),
        };
        let address = std::ptr::from_ref(&*storage).addr();
        let size = self.storages.entry(address).or_default();
        *size = (*size).max(count * x.dtype().size_in_bytes());
    }
}

fn count_of(values: &CpuStorage) -> usize {
    match values {
        CpuStorage::U8(values) => values.len(),
        CpuStorage::U32(values) => values.len(),
        CpuStorage::I64(values) => values.len(),
        CpuStorage::BF16(values) => values.len(),
        CpuStorage::F16(values) => values.len(),
        CpuStorage::F32(values) => values.len(),
        CpuStorage::F64(values) => values.len(),
        _ => 0,
    }
}
