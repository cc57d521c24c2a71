//! Minibatches of a data set.

mod any;
mod batches;
mod plan;
#[cfg(test)]
mod tests;

pub use any::AnyLoader;
pub use batches::Batches;
pub use plan::Share;

use super::{Batch, BatchData, Dataset, Sampler};
use crate::erased::Erased;
use crate::error::Result;
use crate::notebook::Show;
use candle_core::Device;
use std::fmt;
use std::sync::Arc;

/// Iterates over a data set in minibatches, once for each `for` loop.
///
/// ```
/// use taper::prelude::*;
///
/// let x = rand((10, 2));
/// let data = TensorDataset::new(x.clone(), x.sum_keepdim(1))?;
/// let loader = DataLoader::new(data).batch_size(4).shuffle(true);
/// for epoch in 0..2 {
///     let mut sizes = vec![];
///     for batch in &loader {
///         let Batch { x, y } = batch?; // (4, 2) and (4, 1), in the end (2, 2) and (2, 1)
///         sizes.push(x.dims()[0]);
///     }
///     assert_eq!(sizes, [4, 4, 2]);
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct DataLoader<B: BatchData = Batch> {
    dataset: Arc<dyn Dataset<B>>,
    any: Erased<AnyLoader>,
}

impl<B: BatchData> DataLoader<B> {
    /// Creates a loader of minibatches with 32 examples in the order of the data set, the last of
    /// which may be smaller. It prepares two batches ahead.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((70, 2)), zeros(70))?;
    /// assert_eq!(DataLoader::new(data).num_batches(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(dataset: impl Dataset<B> + 'static) -> Self {
        let dataset: Arc<dyn Dataset<B>> = Arc::new(dataset);
        let any = AnyLoader::new(Arc::new(dataset.clone()));
        DataLoader { dataset, any }
    }

    setters! {
        /// Sets the number of examples in a batch. With 0, iterating over the loader returns an error.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = TensorDataset::new(zeros((70, 2)), zeros(70))?;
        /// assert_eq!(DataLoader::new(data).batch_size(10).num_batches(), 7);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn batch_size(self, examples: usize): self.any.batch_size = examples;

        /// Sets whether each loop takes the examples in a new random order. The order follows
        /// [`manual_seed`](crate::tensor::manual_seed).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// manual_seed(1);
        /// let numbers = arange(0, 5);
        /// let data = TensorDataset::new(numbers.clone(), numbers)?;
        /// let loader = DataLoader::new(data).batch_size(5).shuffle(true);
        /// let batch = loader.into_iter().next().expect("one batch")?;
        /// assert_ne!(batch.x.to_vec1::<i64>(), [0, 1, 2, 3, 4]);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn shuffle(self, shuffle: bool): self.any.shuffle = shuffle;

        /// Sets the sampler, which chooses the examples of each loop and their order.
        ///
        /// [`Sampler`] has an example.
        pub fn sampler(self, sampler: impl Sampler + 'static): self.any.choose(Arc::new(sampler));

        /// Sets whether to leave out the last batch if it is smaller than the others.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = TensorDataset::new(zeros((70, 2)), zeros(70))?;
        /// assert_eq!(DataLoader::new(data).drop_last(true).num_batches(), 2);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn drop_last(self, drop_last: bool): self.any.drop_last = drop_last;

        /// Sets how many batches a thread prepares while the loop works on another one; 0 for none. The
        /// batches are the same in any case.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = TensorDataset::new(zeros((70, 2)), zeros(70))?;
        /// let loader = DataLoader::new(data).prefetch(4);
        /// assert_eq!(loader.into_iter().count(), 3);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn prefetch(self, batches: usize): self.any.prefetch = batches;

        /// Moves the batches to a device; without it, they stay on the device of the data set. The
        /// thread that prepares them also moves them, while the loop computes.
        ///
        /// `Trainer::fit` moves the batches to its own device.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let device = try_gpu(0);
        /// let data = TensorDataset::new(zeros((9, 2)), zeros(9))?;
        /// for batch in &DataLoader::new(data).to_device(&device) {
        ///     assert!(batch?.x.device().same_device(&device));
        /// }
        /// # Ok::<(), Error>(())
        /// ```
        pub fn to_device(self, device: &Device): self.any.device = Some(device.clone());
    }

    /// Returns the number of batches in one loop.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((9, 2)), zeros(9))?;
    /// assert_eq!(DataLoader::new(data).batch_size(4).num_batches(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn num_batches(&self) -> usize {
        self.any.num_batches()
    }

    /// Returns the data set.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((9, 2)), zeros(9))?;
    /// assert_eq!(DataLoader::new(data).dataset().len(), 9);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dataset(&self) -> &dyn Dataset<B> {
        &*self.dataset
    }

    /// Returns the loader without the type of its batches, for the training loop.
    #[doc(hidden)]
    pub fn into_any(self) -> AnyLoader {
        self.any.into_inner()
    }
}

/// Iterating by reference keeps the loader for the next loop.
impl<B: BatchData> IntoIterator for &DataLoader<B> {
    type Item = Result<B>;
    type IntoIter = Batches<B>;

    fn into_iter(self) -> Batches<B> {
        Batches::new(self.any.batches())
    }
}

impl<B: BatchData> IntoIterator for DataLoader<B> {
    type Item = Result<B>;
    type IntoIter = Batches<B>;

    fn into_iter(self) -> Batches<B> {
        (&self).into_iter()
    }
}

impl<B: BatchData> Clone for DataLoader<B> {
    fn clone(&self) -> Self {
        DataLoader {
            dataset: self.dataset.clone(),
            any: self.any.clone(),
        }
    }
}

impl<B: BatchData> fmt::Debug for DataLoader<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_text())
    }
}

impl<B: BatchData> Show for DataLoader<B> {
    fn show_text(&self) -> String {
        self.any.show_text()
    }
}
