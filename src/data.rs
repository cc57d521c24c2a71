//! Data sets, and the minibatches that training takes from them.
//!
//! - A [`Dataset`] knows how many examples it has and gives those at some indices as a [`Batch`].
//! - A [`DataLoader`] goes through a data set once for each `for` loop, in batches, shuffled if asked.
//! - A [`DataModule`] is what a trainer takes: it gives the loaders for training and validation.

mod dataset;
mod loader;
mod module;

pub use dataset::{Batch, Dataset, TensorDataset};
pub use loader::{Batches, DataLoader};
pub use module::DataModule;
