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

#[doc(inline)]
pub use taper_data::data::*;
#[doc(inline)]
pub use taper_extra::{CutMix, MixUp, StratifiedSampler};
