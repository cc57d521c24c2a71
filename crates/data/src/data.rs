//! Data sets, and the minibatches that training takes from them.

mod batch;
mod dataset;
mod loader;
mod module;
mod samplers;
mod sequences;
mod sets;
mod subset;
mod table;
mod text;
pub mod transforms;

#[doc(hidden)]
pub use batch::typed;
#[doc(hidden)]
pub use batch::{AnyBatch, Search, Searched, agreed, parts_of};
pub use batch::{Batch, BatchData};
pub use dataset::{Dataset, TensorDataset};
#[doc(hidden)]
pub use loader::AnyLoader;
#[doc(hidden)]
pub use loader::Share;
pub use loader::{Batches, DataLoader};
pub use module::DataModule;
pub use samplers::{Sampler, WeightedSampler};
pub use sequences::{ListDataset, pad_sequences};
pub use sets::*;
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
