//! Data modules: the loaders of a task.

use super::{Batch, BatchData, DataLoader};
use crate::error::Result;

/// The hidden methods of [`DataModule`]: its own, and those of one data set in their place.
macro_rules! loaders_here {
    ($(#[$hidden:meta])?) => {
        $(#[$hidden])?
        fn train_loader(&self) -> $crate::Result<$crate::data::AnyLoader> {
            let loader = $crate::data::DataModule::train_dataloader(self)?;
            Ok(loader.into_any())
        }

        $(#[$hidden])?
        fn val_loader(&self) -> $crate::Result<Option<$crate::data::AnyLoader>> {
            let loader = $crate::data::DataModule::val_dataloader(self)?;
            Ok(loader.map($crate::data::DataLoader::into_any))
        }

        $(#[$hidden])?
        fn test_loader(&self) -> $crate::Result<Option<$crate::data::AnyLoader>> {
            let loader = $crate::data::DataModule::test_dataloader(self)?;
            Ok(loader.map($crate::data::DataLoader::into_any))
        }
    };
}

/// The data of a task, as loaders for training, validation and testing.
///
/// ```
/// use taper::prelude::*;
///
/// struct Waves;
///
/// impl DataModule for Waves {
///     fn train_dataloader(&self) -> Result<DataLoader> {
///         let x = linspace(0.0, 6.0, 100).unsqueeze(1); // (100, 1)
///         let y = x.sin();
///         Ok(DataLoader::new(TensorDataset::new(x, y)?).batch_size(10).shuffle(true))
///     }
/// }
///
/// assert_eq!(Waves.train_dataloader()?.num_batches(), 10);
/// assert!(Waves.val_dataloader()?.is_none());
/// # Ok::<(), Error>(())
/// ```
pub trait DataModule<B: BatchData = Batch> {
    /// Returns the loader for training.
    ///
    /// # Errors
    /// If the data cannot be loaded.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let batches = Digits::new().batch_size(100).train_dataloader()?;
    /// assert_eq!(batches.num_batches(), 15);
    /// # Ok::<(), Error>(())
    /// ```
    fn train_dataloader(&self) -> Result<DataLoader<B>>;

    /// Returns the loader for validation; `None` by default.
    ///
    /// # Errors
    /// If the data cannot be loaded.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let batches = Digits::new().batch_size(100).val_dataloader()?;
    /// assert_eq!(batches.map(|loader| loader.num_batches()), Some(4));
    /// # Ok::<(), Error>(())
    /// ```
    fn val_dataloader(&self) -> Result<Option<DataLoader<B>>> {
        Ok(None)
    }

    /// Returns the loader for `Trainer::test`; `None` by default.
    ///
    /// # Errors
    /// If the data cannot be loaded.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Digits::new().test_dataloader()?.is_none());
    /// # Ok::<(), Error>(())
    /// ```
    fn test_dataloader(&self) -> Result<Option<DataLoader<B>>> {
        Ok(None)
    }

    // The data sets of this crate override the methods that follow with the same, so that they are compiled
    // here and not in the cells that train a model.

    loaders_here!(#[doc(hidden)]);
}

/// A loader alone is the training set and the test set of a task without a validation set.
impl<B: BatchData> DataModule<B> for DataLoader<B> {
    fn train_dataloader(&self) -> Result<DataLoader<B>> {
        Ok(self.clone())
    }

    fn test_dataloader(&self) -> Result<Option<DataLoader<B>>> {
        Ok(Some(self.clone()))
    }
}

/// Implements [`DataModule`] for a type with `train()`, `val()` and a field `batch_size`.
macro_rules! data_module {
    ($set:ident) => {
        impl $crate::data::DataModule for $set {
            fn train_dataloader(&self) -> crate::error::Result<$crate::data::DataLoader> {
                let loader = $crate::data::DataLoader::new(self.train()?);
                Ok(loader.batch_size(self.batch_size).shuffle(true))
            }

            fn val_dataloader(&self) -> crate::error::Result<Option<$crate::data::DataLoader>> {
                let val = self.val()?;
                if $crate::data::Dataset::is_empty(&val) {
                    return Ok(None);
                }
                let loader = $crate::data::DataLoader::new(val);
                Ok(Some(loader.batch_size(self.batch_size)))
            }

            $crate::data::module::loaders_here!();
        }
    };
}

pub(super) use {data_module, loaders_here};
