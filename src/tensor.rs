//! Creating tensors, seeded random values, copies, computing without gradients.
//!
//! A tensor is Candle's own [`Tensor`](candle_core::Tensor). The functions here have PyTorch's
//! names and defaults: `f32` unless the values have another type, and an explicit device.

mod across;
mod create;
mod ext;
mod grad;
mod part;
mod random;
mod size;

pub(crate) use across::{Across, across, with_across};
pub use create::{arange, eye, full, linspace, ones, tensor, zeros};
pub use ext::TensorExt;
pub(crate) use ext::moved;
pub(crate) use grad::recorded;
pub use grad::{GradStoreExt, is_grad_enabled, no_grad};
pub(crate) use part::{Part, keep_by_example, with_part};
pub(crate) use random::{draw_seed, generator_state, permutation, random_unit, restore_generator};
pub use random::{manual_seed, normal, rand, randint, randn, randperm, uniform, with_seed};
pub(crate) use size::{check_size, fits_memory};
