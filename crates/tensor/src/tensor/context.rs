//! The context of a computation: what functions find without an argument.
//!
//! `Layer::forward` takes a tensor and nothing else, so what a step needs besides
//! is ambient. All of it is here, in one context for each thread:
//!
//! | field | set by | read by |
//! |---|---|---|
//! | whether operations are recorded | [`no_grad`](super::no_grad) | all operations |
//! | default device | [`with_device`](super::with_device) | functions that create tensors, layers |
//! | random generator | [`with_seed`](super::with_seed) | random tensors, dropout, samplers |
//! | part of the batch | data parallelism, ranks | dropout |
//! | connection to the ranks | synchronised batch normalisation | batch normalisation |
//! | keys and values of earlier steps | `KvCache` | attention, positions |
//! | metrics of the step | the trainer | `Module::plot` |
//! | type in which products are computed | `Trainer::precision` | products of matrices |
//! | tensors that are formatted | programs that print in a notebook | `Debug` of tensors |
//! | what operations do | measured summaries | operations, backward passes |
//! | weights in place of a layer's own | `WeightNorm` | parameters |
//!
//! A new thread has an empty context. [`fork`] takes along what is true for the whole computation.

use super::cache::SharedCache;
use super::{Raw, Tensor};
use candle_core::{DType, Device, Result};
use rand_chacha::ChaCha12Rng;
use std::cell::RefCell;
use std::mem::{ManuallyDrop, swap};
use std::sync::Arc;
use std::time::Instant;

/// The examples of a batch that this process computes, among those of all ranks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    pub start: usize,
    pub len: usize,
    pub total: usize,
}

/// A function that replaces values with their sums over all processes.
type Sum = dyn Fn(&mut [f32]) -> Result<()> + Send + Sync;

/// The connection to the processes that compute the other parts of a batch.
#[doc(hidden)]
#[derive(Clone)]
pub struct SyncStats {
    pub sum: Arc<Sum>,
    /// The number of this process's examples that count: all, or none if the batch has too few examples
    /// for all processes.
    pub own: usize,
    /// The number of examples that this process computes.
    pub len: usize,
    /// The number of examples in the batch of all processes.
    pub total: usize,
}

/// The value of a metric for one batch, and the number of examples of which it is the mean.
#[doc(hidden)]
pub struct Metric {
    pub name: String,
    pub value: Tensor,
    pub weight: f64,
}

/// What a thread has done since it [measures](measure).
#[derive(Default)]
#[doc(hidden)]
pub struct Counters {
    /// The multiply-adds of matrix products and convolutions.
    pub multiply_adds: u64,
    /// When the last operation began.
    pub began: Option<Instant>,
    /// When backward passes came to outputs with a mark, and when they ended, with mark 0.
    pub backward: Vec<(u64, Instant)>,
}

/// Defines the fields of the context once: the struct and its initial values, and a [`Field`] for each.
macro_rules! context {
    ($($(#[$doc:meta])* $field:ident $variant:ident: $type:ty = $initial:expr;)*) => {
        struct Context {
            $($(#[$doc])* $field: $type,)*
        }

        thread_local! {
            static CONTEXT: RefCell<Context> = const {
                RefCell::new(Context { $($field: $initial,)* })
            };
        }

        /// A field of the context, and a value for it.
        #[doc(hidden)]
        pub enum Field {
            $($variant($type),)*
        }

        impl Field {
            /// Exchanges the value with the one in this thread's context.
            fn exchange(&mut self) {
                CONTEXT.with_borrow_mut(|context| match self {
                    $(Field::$variant(value) => swap(value, &mut context.$field),)*
                });
            }
        }
    };
}

context! {
    is_recorded IsRecorded: bool = true;
    device Device: Option<Device> = None;
    generator Generator: Option<Box<ChaCha12Rng>> = None;
    part Part: Option<Part> = None;
    across SyncStats: Option<SyncStats> = None;
    cache Cache: Option<SharedCache> = None;
    metrics Metrics: Option<Vec<Metric>> = None;
    precision Precision: Option<DType> = None;
    /// The address of a parameter, and the values in place of its own.
    substitutes Substitutes: Vec<(usize, Tensor)> = Vec::new();
    /// The tensors that are formatted by `{:?}`, while they are collected.
    formatted Formatted: Option<Vec<Raw>> = None;
    counters Counters: Option<Counters> = None;
}

/// Restores a field of this thread's context when it is dropped, also after a panic.
///
/// It is opaque: generic functions such as [`no_grad`](super::no_grad) use it in the crate of their caller.
#[doc(hidden)]
pub struct Scope(ManuallyDrop<Field>);

impl Scope {
    /// Sets a field until the scope is dropped.
    #[inline(never)]
    pub fn new(mut field: Field) -> Self {
        field.exchange();
        Scope(ManuallyDrop::new(field))
    }
}

impl Drop for Scope {
    #[inline(never)]
    fn drop(&mut self) {
        self.0.exchange();
        // SAFETY: the field is not used after this.
        unsafe { ManuallyDrop::drop(&mut self.0) }
    }
}

/// Runs `work` with a connection, over which batch normalisation computes the statistics of the whole
/// batch.
#[doc(hidden)]
pub fn with_across<T>(across: Option<SyncStats>, work: impl FnOnce() -> T) -> T {
    let _scope = Scope::new(Field::SyncStats(across));
    work()
}

/// Runs `work`, in which products of `f32` matrices are computed with inputs of this type.
#[doc(hidden)]
pub fn with_precision<T>(precision: Option<DType>, work: impl FnOnce() -> T) -> T {
    let _scope = Scope::new(Field::Precision(precision));
    work()
}

/// Returns the type in which this thread computes products, if it is not that of their inputs.
pub fn precision() -> Option<DType> {
    CONTEXT.with_borrow(|context| context.precision)
}

/// Returns whether operations on this thread are recorded for gradients.
pub(super) fn is_recorded() -> bool {
    CONTEXT.with_borrow(|context| context.is_recorded)
}

/// Returns the default device of this thread's [`with_device`](super::with_device), if there is one.
pub(super) fn device() -> Option<Device> {
    CONTEXT.with_borrow(|context| context.device.clone())
}

/// Returns the part of the batch that this thread computes.
pub(super) fn part() -> Option<Part> {
    CONTEXT.with_borrow(|context| context.part)
}

/// Returns the keys and values of earlier steps, if a model continues a sequence.
pub(super) fn cache() -> Option<SharedCache> {
    CONTEXT.with_borrow(|context| context.cache.clone())
}

/// Returns the connection to the ranks that compute the other parts of the batch.
#[doc(hidden)]
pub fn across() -> Option<SyncStats> {
    CONTEXT.with_borrow(|context| context.across.clone())
}

/// Calls `draw` with the generator of this thread's [`with_seed`](super::with_seed), if there is one.
pub(super) fn with_generator<T>(draw: impl FnOnce(Option<&mut ChaCha12Rng>) -> T) -> T {
    CONTEXT.with_borrow_mut(|context| draw(context.generator.as_deref_mut()))
}

/// Adds a metric to those of this thread's step, if there is one.
#[doc(hidden)]
pub fn record_metric(metric: impl FnOnce() -> Metric) {
    let is_collected = CONTEXT.with_borrow(|context| context.metrics.is_some());
    if is_collected {
        let metric = metric();
        CONTEXT.with_borrow_mut(|context| context.metrics.get_or_insert_default().push(metric));
    }
}

/// Runs a step. Returns its result, and the metrics that it recorded.
#[doc(hidden)]
pub fn collect_metrics<T>(step: impl FnOnce() -> T) -> (T, Vec<Metric>) {
    let _scope = Scope::new(Field::Metrics(Some(Vec::new())));
    let result = step();
    let metrics = CONTEXT.with_borrow_mut(|context| context.metrics.take());
    (result, metrics.unwrap_or_default())
}

/// Runs a function that formats a value, and returns the tensors that it formats by `{:?}`.
#[doc(hidden)]
pub fn collect_formatted<T>(format: impl FnOnce() -> T) -> (T, Vec<Raw>) {
    let _scope = Scope::new(Field::Formatted(Some(Vec::new())));
    let result = format();
    let formatted = CONTEXT.with_borrow_mut(|context| context.formatted.take());
    (result, formatted.unwrap_or_default())
}

/// Adds a tensor that is formatted.
pub(super) fn formatted(x: &Raw) {
    CONTEXT.with_borrow_mut(|context| context.formatted.as_mut().map(|all| all.push(x.clone())));
}

/// Begins to measure, or ends it with `None`.
#[doc(hidden)]
pub fn measure(counters: Option<Counters>) {
    CONTEXT.with_borrow_mut(|context| context.counters = counters);
}

/// Calls `change` with what was measured so far; `None` while nothing is measured. `change` must not use the context.
#[doc(hidden)]
pub fn with_counters<T>(change: impl FnOnce(&mut Counters) -> T) -> Option<T> {
    let counted = CONTEXT.try_with(|context| context.borrow_mut().counters.as_mut().map(change));
    counted.ok().flatten()
}

/// Runs `work`, in which the parameter at this address has these values.
#[doc(hidden)]
pub fn with_substitute<T>(address: usize, values: &Tensor, work: impl FnOnce() -> T) -> T {
    let mut all = CONTEXT.with_borrow(|context| context.substitutes.clone());
    all.push((address, values.clone()));
    let _scope = Scope::new(Field::Substitutes(all));
    work()
}

/// Returns the values in place of those of the parameter at this address, if there are some.
#[doc(hidden)]
pub fn substitute(address: usize) -> Option<Tensor> {
    CONTEXT.with_borrow(|context| {
        let mut latest = context.substitutes.iter().rev();
        let own = latest.find(|(parameter, _)| *parameter == address);
        own.map(|(_, values)| values.clone())
    })
}

/// What a thread takes along: recording, default device, part of the batch, connection to the ranks and precision. Its random
/// generator and its metrics are its own.
#[derive(Clone)]
#[doc(hidden)]
pub struct Fork {
    is_recorded: bool,
    device: Option<Device>,
    part: Option<Part>,
    across: Option<SyncStats>,
    precision: Option<DType>,
}

/// Returns this thread's context for another thread.
#[doc(hidden)]
pub fn fork() -> Fork {
    Fork {
        is_recorded: is_recorded(),
        device: device(),
        part: part(),
        across: across(),
        precision: precision(),
    }
}

impl Fork {
    /// Runs `work` in this context.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        let _recorded = Scope::new(Field::IsRecorded(self.is_recorded));
        let _device = Scope::new(Field::Device(self.device));
        let _part = Scope::new(Field::Part(self.part));
        let _across = Scope::new(Field::SyncStats(self.across));
        let _precision = Scope::new(Field::Precision(self.precision));
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{no_grad, with_device, with_part};

    #[test]
    fn a_thread_takes_the_context_along() {
        let half = Part {
            start: 0,
            len: 4,
            total: 8,
        };
        let context = || (is_recorded(), device().is_some(), part());
        let seen = |fork: Fork| {
            let thread = move || (context(), fork.run(context));
            std::thread::spawn(thread)
                .join()
                .expect("it does not panic")
        };
        let fork = with_part(half, || with_device(&Device::Cpu, || no_grad(fork)));
        let expected = ((true, false, None), (false, true, Some(half)));
        assert_eq!(seen(fork), expected);
        assert_eq!(context(), (true, false, None));
    }

    #[test]
    fn a_field_is_restored_after_a_panic() {
        let step = || collect_metrics(|| no_grad(|| panic!("on purpose")));
        assert!(std::panic::catch_unwind(step).is_err());
        assert!(is_recorded());
        record_metric(|| unreachable!("no step collects metrics"));
    }
}
