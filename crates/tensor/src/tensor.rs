//! The type [`Tensor`]: creation, seeded random values, gradients. Its methods and operators are in `ops`.
//!
//! Functions and methods have PyTorch's names and defaults: `f32` unless the values have another type, and
//! an explicit device.

mod axis;
mod cache;
mod context;
mod create;
mod default_device;
mod draw;
mod ext;
mod grad;
mod index;
mod memory;
mod number;
mod operand;
mod part;
mod random;
mod raw;
#[doc(hidden)]
pub mod remember;
mod size;
mod sizes;
mod value;

pub use axis::{Axes, Axis};
#[doc(hidden)]
pub use cache::{SharedCache, lock};
#[doc(hidden)]
pub use context::{
    Counters, Field, Metric, Part, Scope, SyncStats, across, collect_formatted, collect_metrics,
    fork, measure, precision, record_metric, substitute, with_across, with_counters,
    with_precision, with_substitute,
};
pub(crate) use create::placed;
pub use create::{
    arange, arange_step, arange_with_dtype, eye, full, full_with_dtype, linspace,
    linspace_with_dtype, ones, tensor, zeros,
};
pub use default_device::{default_device, set_default_device, with_device};
pub use draw::{random, random_integer};
#[doc(hidden)]
pub use ext::{copied, moved};
pub(crate) use grad::with_recording;
pub use grad::{GradStore, is_grad_enabled, no_grad};
pub use index::{Ellipsis, Index, Indices, NewAxis};
pub(crate) use memory::storage_address;
pub use number::{Integer, Number, Shifts};
pub use operand::Operand;
#[doc(hidden)]
pub use part::{keep_by_example, with_part};
#[doc(hidden)]
pub use random::{
    draw_seed, generator_state, permutation, random_beta, random_unit, restore_generator,
};
pub use random::{manual_seed, normal, rand, randint, randn, randperm, uniform, with_seed};
#[doc(hidden)]
pub use raw::{Candle, History, Key, Raw};
#[doc(hidden)]
pub use remember::{has_cache, past_steps, refuse_cache, remember, with_cache};
#[doc(hidden)]
pub use size::{check_size, fits_memory};
pub use sizes::{Size, Sizes};
pub use value::Tensor;
