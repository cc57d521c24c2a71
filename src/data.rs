//! Data sets, and the minibatches that training takes from them.
//!
//! - A [`Dataset`] has a number of examples and returns those at some indices as a [`Batch`].
//! - A [`DataLoader`] iterates over a data set in minibatches, in order or shuffled.
//! - A [`DataModule`] returns the loaders for training and validation that a trainer uses.
//!
//! [`Digits`], [`Shapes`], [`Leaves`] and [`SyntheticRegression`] come with Taper. [`Mnist`],
//! [`FashionMnist`] and [`Cifar10`] are downloaded once, in a terminal: `cargo taper data get mnist`.
//! Data sets are stored in the folder that the environment variable `TAPER_DATA` names, or, where it is
//! not set, in `data` in Taper's cache.

mod dataset;
mod loader;
mod module;
mod sets;
pub mod transforms;

pub use dataset::{Batch, Dataset, TensorDataset};
pub use loader::{Batches, DataLoader};
pub use module::DataModule;
pub use sets::{
    Cifar10, Digits, FashionMnist, ImageDataset, ImageFolder, Leaves, Mnist, Shapes,
    SyntheticRegression,
};
