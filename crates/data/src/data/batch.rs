//! Batches of examples, on which a model is trained.

mod any;
mod impls;
mod search;

pub use any::AnyBatch;
pub use impls::typed;
#[doc(hidden)]
pub use impls::{agreed, parts_of};
#[doc(hidden)]
pub use search::{Search, Searched};

use crate::error::{Result, attempt, problem};
use crate::notebook::Show;
use crate::tensor::Tensor;
use candle_core::Device;

/// A minibatch of examples: inputs and targets, one of each per example.
///
/// ```
/// use taper::prelude::*;
///
/// let batch = Batch { x: zeros((4, 20)), y: zeros((4, 1)) };
/// assert_eq!(batch.len(), 4);
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    /// The inputs: `(batch, …)`.
    pub x: Tensor,
    /// The targets: `(batch, …)`; for classes `(batch,)`, as `u32`.
    pub y: Tensor,
}

impl Batch {
    /// Returns the number of examples: the first dimension of the inputs.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let batch = Batch { x: zeros((2, 1, 8, 8)), y: zeros(2) };
    /// assert_eq!(batch.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.x.dims().first().copied().unwrap_or(0)
    }

    /// Returns whether there are no examples.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let batch = Batch { x: zeros((0, 3)), y: zeros(0) };
    /// assert!(batch.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the batch on `device`. Tensors that are already there are not copied.
    ///
    /// # Errors
    /// If the device does not have enough memory or cannot be reached.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let batch = Batch { x: zeros((2, 3)), y: zeros(2) };
    /// let device = try_gpu(0);
    /// assert!(batch.to_device(&device)?.x.device().same_device(&device));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_device(&self, device: &Device) -> Result<Batch> {
        attempt(|| Batch {
            x: self.x.to_device(device),
            y: self.y.to_device(device),
        })
    }
}

impl Show for Batch {
    fn show_text(&self) -> String {
        (&self.x, &self.y).show_text()
    }
}

/// A type of batches: what a data set returns, a loader moves and splits, and a model is trained on.
///
/// [`Batch`] is the usual type. A tensor is a batch too, for models without targets, and so are tuples
/// and lists. For anything else, such as sequences with a mask, derive this trait for a struct of these:
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(BatchData)]
/// struct Sentences {
///     words: Tensor, // (batch, longest)
///     lengths: Vec<usize>,
///     #[batch(shared)] // the same for all examples, whatever their number
///     positions: Tensor, // (longest, features)
/// }
///
/// let batch = Sentences {
///     words: zeros((3, 5)),
///     lengths: vec![5, 2, 4],
///     positions: zeros((5, 8)),
/// };
/// let last = batch.part(1, 2, &cpu())?; // the last two examples
/// assert_eq!((last.words.dims(), last.lengths), (&[2, 5][..], vec![2, 4]));
/// assert_eq!(last.positions.dims(), [5, 8]);
/// # Ok::<(), Error>(())
/// ```
///
/// A model for such batches is a `Module` of this type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a batch, or a part of one",
    label = "has no `BatchData`",
    note = "a batch is a `Tensor`, a `Vec`, a tuple of these, or a struct of these with `#[derive(BatchData)]`"
)]
pub trait BatchData: Sized + Send + Sync + 'static {
    /// The input of the model's `forward`: the field `x` of a [`Batch`], the first item of a pair, and
    /// otherwise the whole batch.
    type Input: 'static;

    /// The target with which the model's `loss` compares the output: the field `y` of a [`Batch`], the
    /// second item of a pair, and otherwise the whole batch.
    type Target: 'static;

    /// Returns the input of the model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let batch = (zeros((4, 2)), zeros(4));
    /// assert_eq!(batch.input().dims(), [4, 2]);
    /// ```
    fn input(&self) -> &Self::Input;

    /// Returns the target with which the output is compared.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let batch = (zeros((4, 2)), zeros(4));
    /// assert_eq!(batch.target().dims(), [4]);
    /// ```
    fn target(&self) -> &Self::Target;

    /// Returns the number of examples.
    ///
    /// # Errors
    /// If the parts of the batch have different numbers of examples, or a tensor has no dimension.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(zeros((5, 2)).num_examples()?, 5);
    /// let error = (zeros(3), zeros(4)).num_examples().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "batch: expected 3 examples in `1`, as in `0`, found 4\n\
    ///      Give all parts the same first dimension; put #[batch(shared)] above a field that all examples share"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    fn num_examples(&self) -> Result<usize>;

    /// Returns `len` examples from `start` on, on a device.
    ///
    /// # Errors
    /// If there are fewer examples, or the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(arange(0, 5).part(1, 2, &cpu())?.to_vec1::<i64>(), [1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    fn part(&self, start: usize, len: usize, device: &Device) -> Result<Self>;

    /// Returns the batch on a device. Tensors that are already there are not copied.
    ///
    /// # Errors
    /// If the device does not have enough memory or cannot be reached.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (x, lengths) = (zeros((2, 3)), vec![3usize, 1]).to_device(&try_gpu(0))?;
    /// assert!(x.device().same_device(&try_gpu(0)));
    /// assert_eq!(lengths, [3, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    fn to_device(&self, device: &Device) -> Result<Self>;

    /// Joins batches, or examples that are batches of one, along the first dimension. Tensors of
    /// unequal lengths are joined after [`pad_sequences`](super::pad_sequences).
    ///
    /// # Errors
    /// If there are none, or their shapes differ in the other dimensions.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let joined = Tensor::collate(&[&ones((1, 3)), &zeros((2, 3))])?;
    /// assert_eq!(joined.dims(), [3, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    fn collate(batches: &[&Self]) -> Result<Self>;

    /// Passes the tensors to a search, which looks for NaN.
    #[doc(hidden)]
    fn search_tensors(&self, _search: &mut Search<'_>) {}

    // A cell compiles the methods that follow for its own types of batches. The types of this crate override
    // them with the same, so that they are compiled here.

    #[doc(hidden)]
    fn into_any(self) -> Box<dyn AnyBatch> {
        Box::new(self)
    }

    #[doc(hidden)]
    fn parts(&self, places: &[(usize, usize, &Device)]) -> Result<Vec<Self>> {
        parts(self, places)
    }
}

fn parts<B: BatchData>(batch: &B, places: &[(usize, usize, &Device)]) -> Result<Vec<B>> {
    let places = places.iter();
    places
        .map(|(start, len, device)| batch.part(*start, *len, device))
        .collect()
}

/// Overrides the hidden methods of [`BatchData`] for one type.
macro_rules! compiled_here {
    () => {
        fn into_any(self) -> Box<dyn AnyBatch> {
            Box::new(self)
        }

        fn parts(&self, places: &[(usize, usize, &Device)]) -> Result<Vec<Self>> {
            super::parts(self, places)
        }
    };
}
use compiled_here;

/// Returns the error of an empty list of batches.
fn nothing_to_join() -> crate::error::Error {
    problem!(argument("collate", "none"); "at least one batch", "Pass the batches to join")
}
