//! What layers with attention keep between the calls of a model: keys and values.

use super::raw::Raw;
use crate::error::refuse;
use candle_core::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The fewest steps for which memory is reserved.
const LEAST: usize = 64;

/// The keys and values of all attention layers of a model, in the order in which the model calls them.
#[derive(Default)]
#[doc(hidden)]
pub struct Cache {
    entries: Vec<Entry>,
    /// The entry of the next layer that is called.
    next: usize,
    /// How many steps the model has seen before this call.
    steps: usize,
    /// How many steps this call adds.
    added: usize,
    /// Why a layer cannot continue a sequence, if one cannot.
    refusal: Option<String>,
}

/// A cache that a context and its owner share.
#[doc(hidden)]
pub type SharedCache = Arc<Mutex<Cache>>;

/// The keys and values of one layer.
struct Entry {
    /// Distinguishes the layer from others.
    layer: usize,
    /// The dimension of the steps. The other one of the first two is the batch.
    dim: usize,
    /// Memory for the steps and some more.
    buffers: [Raw; 2],
}

/// The keys and values of all steps, as a layer needs them.
#[doc(hidden)]
pub struct CachedKv {
    /// Memory for the keys and values: the first `len` steps count.
    pub buffers: [Raw; 2],
    /// How many steps precede the new ones.
    pub past: usize,
    pub len: usize,
}

/// Locks a cache. A panic in a layer leaves steps that [`Cache::begin`] ignores.
#[doc(hidden)]
pub fn lock(cache: &SharedCache) -> MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cache {
    /// Begins a call of the model.
    pub fn begin(&mut self) {
        self.next = 0;
        self.refusal = None;
    }

    /// Ends a call of the model. Returns why the model cannot continue a sequence, if it cannot.
    pub fn end(&mut self) -> Option<String> {
        let reason = match self.next {
            0 => Some("it has no layer with causal attention"),
            next if next < self.entries.len() => {
                Some("it calls fewer attention layers than before")
            }
            _ => None,
        };
        if self.refusal.is_none() && reason.is_none() {
            self.steps += self.added;
        }
        self.refusal.take().or(reason.map(str::to_owned))
    }

    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Forgets all steps but the first ones.
    pub fn truncate(&mut self, steps: usize) {
        self.steps = self.steps.min(steps);
        if self.steps == 0 {
            self.entries.clear();
        }
    }

    /// Returns the number of bytes of the memory.
    pub fn bytes(&self) -> usize {
        let buffers = self.entries.iter().flat_map(|entry| &entry.buffers);
        buffers
            .map(|x| x.elem_count() * x.dtype().size_in_bytes())
            .sum()
    }

    /// Replaces the batch by these sequences of it.
    pub fn select(&mut self, sequences: &[u32]) -> Result<()> {
        for entry in &mut self.entries {
            for buffer in &mut entry.buffers {
                let indices = Raw::new(sequences, buffer.device())?;
                *buffer = buffer.index_select(&indices, 1 - entry.dim)?.contiguous()?;
            }
        }
        Ok(())
    }

    /// Notes that a layer cannot continue a sequence.
    pub(crate) fn refuse(&mut self, layer: String) {
        self.refusal.get_or_insert(layer);
    }

    /// Appends the keys and values of a layer to its earlier keys and values. `layer` identifies the layer, `dim` is
    /// the dimension of the steps.
    pub(crate) fn remember(
        &mut self,
        layer: usize,
        dim: usize,
        new: [&Raw; 2],
    ) -> Result<CachedKv> {
        let (index, past) = (self.next, self.steps);
        self.next += 1;
        let added = new[0].dim(dim)?;
        if index > 0 && added != self.added {
            self.refuse("its attention layers have different numbers of steps".to_owned());
        }
        self.added = added;
        let len = past + added;
        match self.entries.get_mut(index) {
            Some(entry) if entry.layer != layer => {
                refuse!(
                    "KvCache: the attention layers are called in another order than before";
                    "Use one cache for each model, and clear() it before another sequence");
            }
            Some(entry) => entry.grow(past, len, new)?,
            None if past > 0 => {
                refuse!(
                    "KvCache: an attention layer is called that was not called for the earlier steps";
                    "Use one cache for each model, and clear() it before another sequence");
            }
            None => self.entries.push(Entry {
                layer,
                dim,
                buffers: [room(new[0], dim, len)?, room(new[1], dim, len)?],
            }),
        }
        let buffers = &self.entries[index].buffers;
        for (buffer, new) in buffers.iter().zip(new) {
            buffer.slice_set(new.contiguous()?.values(), dim, past)?;
        }
        Ok(CachedKv {
            buffers: buffers.clone(),
            past,
            len,
        })
    }
}

impl Entry {
    /// Makes room for `len` steps, and keeps the first `past`.
    fn grow(&mut self, past: usize, len: usize, new: [&Raw; 2]) -> Result<()> {
        let (dim, batch) = (self.dim, 1 - self.dim);
        for (buffer, new) in self.buffers.iter_mut().zip(new) {
            let fits = buffer.dim(batch)? == new.dim(batch)? && buffer.dtype() == new.dtype();
            refuse!(if !fits;
                ("KvCache: it holds {} sequences of {}, and the input has {} of {}",
                 buffer.dim(batch)?, buffer.dtype().as_str(), new.dim(batch)?, new.dtype().as_str());
                "Continue the same sequences, or clear() the cache");
            if buffer.dim(dim)? < len {
                let larger = room(new, dim, len)?;
                let kept = buffer.narrow(dim, 0, past)?.contiguous()?;
                larger.slice_set(kept.values(), dim, 0)?;
                *buffer = larger;
            }
        }
        Ok(())
    }
}

/// Returns memory for `len` steps, and for as many further ones.
fn room(new: &Raw, dim: usize, len: usize) -> Result<Raw> {
    let mut shape = new.dims().to_vec();
    shape[dim] = len.next_power_of_two().max(LEAST);
    Raw::zeros(shape, new.dtype(), new.device())
}
