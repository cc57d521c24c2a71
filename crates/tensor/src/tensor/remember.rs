//! The cache of a context.
//!
//! A model maps all steps of a sequence to outputs, and its layers find the cache in the context. So a model that is
//! called with the new steps alone needs no argument for it: its attention layers add what they have computed before,
//! and its layers with positions count from there.

use super::cache::{Cache, CachedKv, SharedCache, lock};
use super::context::{self, Field, Scope};
use super::raw::Raw;
use candle_core::Result;

/// Runs `work` with a cache for the layers that it calls.
pub fn with_cache<T>(cache: SharedCache, work: impl FnOnce() -> T) -> T {
    let _scope = Scope::new(Field::Cache(Some(cache)));
    work()
}

/// Returns how many steps precede the input: 0 unless a model continues a sequence.
pub fn past_steps() -> usize {
    with(|cache| cache.steps()).unwrap_or(0)
}

/// Returns whether a model continues a sequence.
pub fn has_cache() -> bool {
    context::cache().is_some()
}

/// Notes that a layer cannot continue a sequence from its cache.
pub fn refuse_cache(layer: &dyn Fn() -> String) {
    with(|cache| cache.refuse(layer()));
}

/// Appends the keys and values of a layer to the cache, as [`Cache::remember`] does. `None` without a cache.
pub fn remember(layer: usize, dim: usize, new: [&Raw; 2]) -> Result<Option<CachedKv>> {
    with(|cache| cache.remember(layer, dim, new)).transpose()
}

fn with<T>(work: impl FnOnce(&mut Cache) -> T) -> Option<T> {
    context::cache().map(|cache| work(&mut lock(&cache)))
}
