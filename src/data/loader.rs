//! Minibatches of a data set.

mod batches;
#[cfg(test)]
mod tests;

pub use batches::Batches;

use super::{Batch, Dataset};
use crate::error;
use crate::notebook::Show;
use crate::tensor::{draw_seed, permutation, with_seed};
use candle_core::{Device, Result};
use std::fmt;
use std::sync::Arc;

/// Iterates over a data set in minibatches, once for each `for` loop.
///
/// ```
/// use taper::prelude::*;
///
/// let x = rand((10, 2), &cpu())?;
/// let data = TensorDataset::new(x.clone(), x.sum_keepdim(1)?)?;
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
#[derive(Clone)]
pub struct DataLoader {
    dataset: Arc<dyn Dataset>,
    batch_size: usize,
    shuffle: bool,
    drop_last: bool,
    prefetch: usize,
    device: Option<Device>,
}

impl DataLoader {
    /// Creates a loader of minibatches with 32 examples in the order of the data set, the last of
    /// which may be smaller. It prepares two batches ahead.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((70, 2), &cpu())?, zeros(70, &cpu())?)?;
    /// assert_eq!(DataLoader::new(data).num_batches(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(dataset: impl Dataset + 'static) -> Self {
        DataLoader {
            dataset: Arc::new(dataset),
            batch_size: 32,
            shuffle: false,
            drop_last: false,
            prefetch: 2,
            device: None,
        }
    }

    /// Sets the number of examples in a batch. With 0, iterating over the loader returns an error.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((70, 2), &cpu())?, zeros(70, &cpu())?)?;
    /// assert_eq!(DataLoader::new(data).batch_size(10).num_batches(), 7);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn batch_size(mut self, examples: usize) -> Self {
        self.batch_size = examples;
        self
    }

    /// Sets whether each loop takes the examples in a new random order. The order follows
    /// [`manual_seed`](crate::tensor::manual_seed).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// manual_seed(1);
    /// let numbers = arange(0, 5, &cpu())?;
    /// let data = TensorDataset::new(numbers.clone(), numbers)?;
    /// let loader = DataLoader::new(data).batch_size(5).shuffle(true);
    /// let batch = loader.into_iter().next().expect("one batch")?;
    /// assert_ne!(batch.x.to_vec1::<i64>()?, [0, 1, 2, 3, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Sets whether to leave out the last batch if it is smaller than the others.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((70, 2), &cpu())?, zeros(70, &cpu())?)?;
    /// assert_eq!(DataLoader::new(data).drop_last(true).num_batches(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.drop_last = drop_last;
        self
    }

    /// Sets how many batches a thread prepares while the loop works on another one; 0 for none. The
    /// batches are the same in any case.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((70, 2), &cpu())?, zeros(70, &cpu())?)?;
    /// let loader = DataLoader::new(data).prefetch(4);
    /// assert_eq!(loader.into_iter().count(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn prefetch(mut self, batches: usize) -> Self {
        self.prefetch = batches;
        self
    }

    /// Moves the batches to a device; without it, they stay on the device of the data set. The
    /// thread that prepares them also moves them, while the loop computes.
    ///
    /// [`Trainer::fit`](crate::train::Trainer::fit) asks for its own device.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let device = try_gpu(0);
    /// let data = TensorDataset::new(zeros((9, 2), &cpu())?, zeros(9, &cpu())?)?;
    /// for batch in &DataLoader::new(data).to_device(&device) {
    ///     assert!(batch?.x.device().same_device(&device));
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_device(mut self, device: &Device) -> Self {
        self.device = Some(device.clone());
        self
    }

    /// Returns the number of batches in one loop.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((9, 2), &cpu())?, zeros(9, &cpu())?)?;
    /// assert_eq!(DataLoader::new(data).batch_size(4).num_batches(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn num_batches(&self) -> usize {
        let examples = self.dataset.len();
        match (self.batch_size, self.drop_last) {
            (0, _) => 0,
            (size, true) => examples / size,
            (size, false) => examples.div_ceil(size),
        }
    }

    /// Returns the data set.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((9, 2), &cpu())?, zeros(9, &cpu())?)?;
    /// assert_eq!(DataLoader::new(data).dataset().len(), 9);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dataset(&self) -> &dyn Dataset {
        &*self.dataset
    }

    /// Refuses settings with which a loop would silently do nothing.
    fn check(&self) -> Result<()> {
        let examples = self.dataset.len();
        if self.batch_size == 0 {
            return Err(error::argument(
                "DataLoader",
                "a batch size of at least 1",
                0,
                "Set the number of examples in a batch: .batch_size(32)",
            ));
        }
        if examples == 0 {
            return Err(error::state(
                "DataLoader",
                "the data set is empty",
                "Give it at least one example",
            ));
        }
        if self.num_batches() == 0 {
            return Err(error::argument(
                "DataLoader with drop_last",
                format_args!("a batch size of at most {examples}, the number of examples"),
                self.batch_size,
                "Choose a smaller batch size, or .drop_last(false)",
            ));
        }
        Ok(())
    }

    /// Prepares one loop. All random values are drawn here, on the thread of the loop.
    fn plan(&self) -> Result<Plan> {
        self.check()?;
        let examples = self.dataset.len();
        let seed = draw_seed();
        let order = match self.shuffle {
            true => permutation(examples),
            false => (0..examples).collect(),
        };
        Ok(Plan {
            dataset: self.dataset.clone(),
            order,
            batch_size: self.batch_size,
            num_batches: self.num_batches(),
            seed,
            device: self.device.clone(),
        })
    }
}

/// The order and the seed of one loop: any thread makes the same batches from them.
struct Plan {
    dataset: Arc<dyn Dataset>,
    order: Vec<usize>,
    batch_size: usize,
    num_batches: usize,
    seed: u64,
    device: Option<Device>,
}

impl Plan {
    fn batch(&self, number: usize) -> Result<Batch> {
        let start = number * self.batch_size;
        let end = (start + self.batch_size).min(self.order.len());
        let batch = with_seed(self.seed.wrapping_add(number as u64), || {
            self.dataset.get(&self.order[start..end])
        })?;
        match &self.device {
            None => Ok(batch),
            Some(device) => batch.to_device(device),
        }
    }
}

/// Iterating by reference keeps the loader for the next loop.
impl IntoIterator for &DataLoader {
    type Item = Result<Batch>;
    type IntoIter = Batches;

    fn into_iter(self) -> Batches {
        Batches::new(self.plan(), self.prefetch)
    }
}

impl IntoIterator for DataLoader {
    type Item = Result<Batch>;
    type IntoIter = Batches;

    fn into_iter(self) -> Batches {
        (&self).into_iter()
    }
}

impl fmt::Debug for DataLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_text())
    }
}

impl Show for DataLoader {
    fn show_text(&self) -> String {
        format!(
            "DataLoader({} examples, batch_size={}, {} batches{}{})",
            self.dataset.len(),
            self.batch_size,
            self.num_batches(),
            if self.shuffle { ", shuffle" } else { "" },
            if self.drop_last { ", drop_last" } else { "" },
        )
    }
}
