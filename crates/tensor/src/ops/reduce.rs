//! Sums and means along dimensions; the largest and smallest values.

mod cumsum;
mod extremes;
mod moments;
mod norms;
mod products;
mod sums;

pub use cumsum::cumsum;
pub use extremes::{argmax, argmin, max, max_all, max_keepdim, min, min_all, min_keepdim};
pub use moments::{norm, std, var};
pub(super) use sums::mean_as;
pub(crate) use sums::sum_as;
pub(crate) use sums::sum_over;
pub use sums::{mean, mean_all, mean_keepdim, sum, sum_all, sum_keepdim};

/// The elements that one task writes.
const CHUNK: usize = 1 << 14;
/// The elements that one task reads.
const TASK: usize = 1 << 15;
