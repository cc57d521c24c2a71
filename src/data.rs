//! Data sets, and the minibatches that training takes from them.
//!
//! - A [`Dataset`] has a number of examples and returns those at some indices as a [`Batch`], or as
//!   another type of [`BatchData`].
//! - A [`DataLoader`] iterates over a data set in minibatches, in order or shuffled.
//! - A [`Sampler`] chooses the examples of a loop; [`random_split`] and [`k_folds`] split a data set
//!   into [`Subset`]s; [`ListDataset`] and [`pad_sequences`] are for examples of unequal lengths.
//! - [`MixUp`] and [`CutMix`] mix the examples of each batch.
//! - [`CharTokenizer`], [`BpeTokenizer`] and [`Vocab`] turn text into integers, a [`DataFrame`] turns the
//!   columns of a CSV file into a tensor.
//! - A [`DataModule`] returns the loaders for training and validation that a trainer uses.
//!
//! [`SmallMnist`], [`Digits`], [`Shapes`], [`Leaves`], [`SyntheticRegression`] and the novel [`ALICE`] come
//! with Taper, the functions of a [`RustCorpus`] with Rust. [`Mnist`], [`FashionMnist`] and [`Cifar10`] are downloaded
//! once, in a terminal: `cargo taper data get mnist`.
//! Data sets are stored in the folder that the environment variable `TAPER_DATA` names; if it is not
//! set, in the folder `data` of Taper's cache.

mod batch;
mod dataset;
mod loader;
mod mixing;
mod module;
mod samplers;
mod sequences;
mod sets;
mod subset;
mod table;
mod text;
pub mod transforms;

pub(crate) use batch::typed;
#[doc(hidden)]
pub use batch::{AnyBatch, Search, Searched, agreed, parts_of};
pub use batch::{Batch, BatchData};
pub use dataset::{Dataset, TensorDataset};
#[doc(hidden)]
pub use loader::AnyLoader;
pub(crate) use loader::Share;
pub use loader::{Batches, DataLoader};
pub use mixing::{CutMix, MixUp};
pub use module::DataModule;
pub use samplers::{Sampler, StratifiedSampler, WeightedSampler};
pub use sequences::{ListDataset, pad_sequences};
pub use sets::{
    ALICE, Cifar10, Digits, FashionMnist, ImageDataset, ImageFolder, Leaves, Mnist, RustCorpus,
    Shapes, SmallMnist, SyntheticRegression,
};
pub use subset::{Subset, k_folds, random_split};
pub use table::DataFrame;
/// Implements [`BatchData`](trait@BatchData) for a struct of tensors, lists and other batches.
///
/// `#[batch(shared)]` above a field keeps it whole when the batch is split: it belongs to all examples,
/// as a causal mask does.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(BatchData)]
/// struct Pair { source: Tensor, target: Tensor }
///
/// let pair = Pair { source: zeros((3, 7)), target: zeros((3, 5)) };
/// assert_eq!(pair.num_examples()?, 3);
/// assert_eq!(pair.part(2, 1, &cpu())?.target.dims(), [1, 5]);
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail
/// # use taper::prelude::*;
/// #[derive(BatchData)]
/// struct Wrong { learning_rate: f64 } // not a value for each example
/// ```
pub use taper_macros::BatchData;
pub use text::{BpeTokenizer, CharTokenizer, Tokenizer, Vocab};
