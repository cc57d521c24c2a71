//! A folder of leaf images that need no download.

mod images;
mod render;

use super::location::data_folder;
use crate::compose;
use crate::data::module::loaders_here;
use crate::data::transforms::{
    CenterCrop, ColorJitter, Compose, Normalize, RandomHorizontalFlip, Resize, ToTensor,
};
use crate::data::{DataLoader, DataModule, ImageFolder};
use crate::error::Result;
use images::unwritable;
use std::path::PathBuf;

/// The mean and the standard deviation of red, green and blue in the images of ImageNet.
const MEAN: [f64; 3] = [0.485, 0.456, 0.406];
const STD: [f64; 3] = [0.229, 0.224, 0.225];

settings! {
    /// Images of leaves, healthy and diseased, in folders `train`, `validation` and `test`: drawn by
    /// Taper, and read back from their files like photographs.
    ///
    /// Each image is a PNG of 256 by 224 pixels. A diseased leaf has brown spots with a yellow rim; a
    /// healthy one may have highlights. The colour, shape, position and light of all leaves vary. The
    /// folder is created once, among Taper's [data sets](crate::data), and a seed fixes every image.
    ///
    /// As a [`DataModule`] it returns batches `(4, 3, 128, 128)` of normalised `f32` with targets `(4,)`,
    /// `u32`: 0 for diseased, 1 for healthy.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_leaves_{}", std::process::id()));
    /// let data = Leaves::new().num_train(4).num_val(1).num_test(1).folder(&folder);
    /// let batch = data.train_dataloader()?.into_iter().next().expect("a batch")?;
    /// assert_eq!(batch.x.dims(), [4, 3, 128, 128]);
    /// assert_eq!(data.test()?.classes(), ["diseased", "healthy"]);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct Leaves {
        /// Creates a data set with 80 images of each class for training, 20 for validation and 20 for
        /// testing, in batches of 4.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = Leaves::new().batch_size(16);
        /// assert!(format!("{data:?}").contains("num_train: 80"));
        /// ```
        new;

        /// Sets the number of training images of each class.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let folder = std::env::temp_dir().join(format!("taper_leaves_train_{}", std::process::id()));
        /// let data = Leaves::new().num_train(3).num_val(1).num_test(1).folder(&folder);
        /// assert_eq!(data.train()?.len(), 6); // 3 of each kind
        /// # std::fs::remove_dir_all(folder)?;
        /// # Ok::<(), Error>(())
        /// ```
        set num_train: usize = 80,

        /// Sets the number of validation images of each class.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let folder = std::env::temp_dir().join(format!("taper_leaves_val_{}", std::process::id()));
        /// let data = Leaves::new().num_train(1).num_val(3).num_test(1).folder(&folder);
        /// assert_eq!(data.val()?.len(), 6); // 3 of each kind
        /// # std::fs::remove_dir_all(folder)?;
        /// # Ok::<(), Error>(())
        /// ```
        set num_val: usize = 20,

        /// Sets the number of test images of each class.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let folder = std::env::temp_dir().join(format!("taper_leaves_test_{}", std::process::id()));
        /// let data = Leaves::new().num_train(1).num_val(1).num_test(3).folder(&folder);
        /// assert_eq!(data.test()?.len(), 6); // 3 of each kind
        /// # std::fs::remove_dir_all(folder)?;
        /// # Ok::<(), Error>(())
        /// ```
        set num_test: usize = 20,

        /// Sets the seed that fixes the images, 0 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let folder = std::env::temp_dir().join(format!("taper_leaves_seed_{}", std::process::id()));
        /// let data = Leaves::new().num_train(1).num_val(1).num_test(1).seed(1).folder(&folder);
        /// assert_eq!(data.train()?.len(), 2);
        /// # std::fs::remove_dir_all(folder)?;
        /// # Ok::<(), Error>(())
        /// ```
        set seed: u64 = 0,

        /// Sets the number of images in a batch.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let folder = std::env::temp_dir().join(format!("taper_leaves_batch_{}", std::process::id()));
        /// let data = Leaves::new().num_train(1).num_val(1).num_test(1).batch_size(2).folder(&folder);
        /// assert_eq!(data.train_dataloader()?.num_batches(), 1);
        /// # std::fs::remove_dir_all(folder)?;
        /// # Ok::<(), Error>(())
        /// ```
        set batch_size: usize = 4,
        ; folder: Option<PathBuf> = None
    }
}

macro_rules! images {
    ($($(#[$doc:meta])* $name:ident: $folder:literal, $transformer:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> Result<ImageFolder> {
            let images = ImageFolder::new(self.path()?.join($folder))?;
            Ok(images.transform(Self::$transformer()))
        }
    )*};
}

impl Leaves {
    setters! {
        /// Sets the folder of the images; the default is a folder among Taper's data sets. If it exists, it
        /// must be empty or contain exactly these images.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let folder = std::env::temp_dir().join(format!("taper_leaves_at_{}", std::process::id()));
        /// let data = Leaves::new().num_train(1).num_val(1).num_test(1).folder(&folder);
        /// assert_eq!(data.path()?, folder);
        /// # std::fs::remove_dir_all(folder)?;
        /// # Ok::<(), Error>(())
        /// ```
        pub fn folder(self, path: impl Into<PathBuf>): self.folder = Some(path.into());
    }

    /// Returns the folder that contains `train`, `validation` and `test`; draws the images if they are
    /// not there yet.
    ///
    /// # Errors
    /// If the folder contains other files, or cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_leaves_{}", std::process::id()));
    /// let data = Leaves::new().num_train(1).num_val(1).num_test(1).folder(&folder);
    /// assert!(data.path()?.join("train/healthy/000.png").exists());
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn path(&self) -> Result<PathBuf> {
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => self.own_folder()?,
        };
        if !self.are_in(&folder) {
            self.draw_into(&folder)?;
        }
        Ok(folder)
    }

    /// Returns the default folder of these images, and creates the folder of Taper's data sets.
    fn own_folder(&self) -> Result<PathBuf> {
        let data = data_folder()?;
        std::fs::create_dir_all(&data).map_err(|error| unwritable(&data, &error))?;
        Ok(data.join(self.folder_name()))
    }

    /// Returns the transform for training: resize, centre crop, random mirroring and contrast,
    /// normalisation. Its output is `(3, 128, 128)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let image = zeros((224, 256, 3)).to_dtype(DType::U8);
    /// assert_eq!(Leaves::training_transformer().apply(&image)?.dims(), [3, 128, 128]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn training_transformer() -> Compose {
        compose![
            Resize::new(224),
            CenterCrop::new(128),
            RandomHorizontalFlip::new(),
            ColorJitter::new().contrast(0.05),
            ToTensor,
            Normalize::new(MEAN, STD),
        ]
    }

    /// Returns the transform for validation: the one for training without its random steps.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let image = zeros((224, 256, 3)).to_dtype(DType::U8);
    /// assert_eq!(Leaves::validation_transformer().apply(&image)?.dims(), [3, 128, 128]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn validation_transformer() -> Compose {
        compose![
            Resize::new(224),
            CenterCrop::new(128),
            ToTensor,
            Normalize::new(MEAN, STD),
        ]
    }

    images! {
        /// Returns the training images, transformed by
        /// [`training_transformer`](Self::training_transformer).
        ///
        /// # Errors
        /// As for [`path`](Self::path).
        ///
        /// ```no_run
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Leaves::new().train()?.len(), 160);
        /// # Ok::<(), Error>(())
        /// ```
        train: "train", training_transformer;
        /// Returns the validation images, transformed by
        /// [`validation_transformer`](Self::validation_transformer).
        ///
        /// # Errors
        /// As for [`path`](Self::path).
        ///
        /// ```no_run
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Leaves::new().val()?.len(), 40);
        /// # Ok::<(), Error>(())
        /// ```
        val: "validation", validation_transformer;
        /// Returns the test images, transformed by
        /// [`validation_transformer`](Self::validation_transformer).
        ///
        /// # Errors
        /// As for [`path`](Self::path).
        ///
        /// ```no_run
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Leaves::new().test()?.len(), 40);
        /// # Ok::<(), Error>(())
        /// ```
        test: "test", validation_transformer;
    }

    /// Returns the test images in batches.
    ///
    /// # Errors
    /// As for [`path`](Self::path).
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Leaves::new().test_dataloader()?.num_batches(), 10);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn test_dataloader(&self) -> Result<DataLoader> {
        Ok(DataLoader::new(self.test()?).batch_size(self.batch_size))
    }
}

impl DataModule for Leaves {
    fn train_dataloader(&self) -> Result<DataLoader> {
        let loader = DataLoader::new(self.train()?);
        Ok(loader.batch_size(self.batch_size).shuffle(true))
    }

    // `ImageFolder` refuses a folder without images.
    fn val_dataloader(&self) -> Result<Option<DataLoader>> {
        let val = (self.num_val > 0).then(|| self.val()).transpose()?;
        Ok(val.map(|val| DataLoader::new(val).batch_size(self.batch_size)))
    }

    fn test_dataloader(&self) -> Result<Option<DataLoader>> {
        let test = (self.num_test > 0).then(|| self.test_dataloader());
        test.transpose()
    }

    loaders_here!();
}

#[cfg(test)]
mod tests;
