//! Data sets, and the minibatches that training takes from them.
//!
//! - A [`Dataset`] knows how many examples it has and gives those at some indices as a [`Batch`].
//! - A [`DataLoader`] goes through a data set once for each `for` loop, in batches, shuffled if asked.
//! - A [`DataModule`] is what a trainer takes: it gives the loaders for training and validation.

mod dataset;
mod digits;
mod draw;
mod folder;
mod leaves;
mod loader;
mod module;
mod shapes;
mod synthetic;
pub mod transforms;

pub use dataset::{Batch, Dataset, TensorDataset};
pub use digits::Digits;
pub use folder::ImageFolder;
pub use leaves::Leaves;
pub use loader::{Batches, DataLoader};
pub use module::DataModule;
pub use shapes::Shapes;
pub use synthetic::SyntheticRegression;
