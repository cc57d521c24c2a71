//! Training on several devices: a replica of the model and a part of the batch on each.

mod data_parallel;
mod processes;
mod split;

pub use data_parallel::{DataParallel, Gradients};
pub(super) use data_parallel::{OfRank, backward, broadcast, replicate, set_training};
pub(super) use split::split;
pub use split::split_and_load;
