//! The part of MNIST that comes with Taper.

use crate::data::ImageDataset;
use crate::data::module::data_module;
use crate::error::{self, Result};
use crate::tensor::Tensor;
use candle_core::Device;

/// The images, one in each row, and their labels; the README next to them describes the files.
const TRAIN: (&[u8], &str) = (
    include_bytes!("small_mnist/train.png"),
    include_str!("small_mnist/train.txt"),
);
const VAL: (&[u8], &str) = (
    include_bytes!("small_mnist/val.png"),
    include_str!("small_mnist/val.txt"),
);

const SIDE: usize = 28;

settings! {
    /// 6,000 handwritten digits of MNIST, 28 by 28 pixels: they come with Taper, so nothing is downloaded.
    ///
    /// Inputs are `(batch, 1, 28, 28)`, `f32` from 0 (paper) to 1 (ink); targets `(batch,)`, `u32` from 0
    /// to 9. 5,000 images are for training, 500 of each digit from MNIST's training set, and 1,000 for
    /// validation, 100 of each digit from its test set, which other people wrote. Of ten images, each shows another
    /// digit, in a random order. [`Mnist`](super::Mnist), which is downloaded, has all 70,000.
    ///
    /// Source: Y. LeCun, C. Cortes and C. Burges, *The MNIST database of handwritten digits* (1998), licence
    /// CC BY-SA 3.0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = SmallMnist::new().batch_size(100);
    /// for batch in &data.train_dataloader()? {
    ///     let Batch { x, y } = batch?; // (100, 1, 28, 28) and (100,)
    ///     assert_eq!(x.dims(), [100, 1, 28, 28]);
    ///     assert_eq!(y.dtype(), DType::U32);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct SmallMnist {
        /// Creates the data set, with batches of 64.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(SmallMnist::new().train_dataloader()?.num_batches(), 79);
        /// # Ok::<(), Error>(())
        /// ```
        new;

        /// Sets the number of images in a batch.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = SmallMnist::new().batch_size(250);
        /// assert_eq!(data.val_dataloader()?.expect("there is one").num_batches(), 4);
        /// # Ok::<(), Error>(())
        /// ```
        set batch_size: usize = 64,
    }
}

impl SmallMnist {
    /// Returns the 5,000 images for training.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let train = SmallMnist::new().train()?;
    /// let first = train.get(&Vec::from_iter(0..10))?; // x: (10, 1, 28, 28), y: (10,)
    /// assert_eq!(train.len(), 5000);
    /// assert_eq!(first.y.to_vec1::<u32>(), [2, 6, 9, 3, 5, 0, 8, 7, 4, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn train(&self) -> Result<ImageDataset> {
        read(TRAIN)
    }

    /// Returns the 1,000 images for validation.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(SmallMnist::new().val()?.len(), 1000);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn val(&self) -> Result<ImageDataset> {
        read(VAL)
    }
}

data_module!(SmallMnist);

/// Reads a file of images and the text of their labels.
fn read((images, labels): (&[u8], &str)) -> Result<ImageDataset> {
    let sheet = crate::image::RgbImage::decode(images)
        .map_err(|problem| error::state("SmallMnist", problem, "Rebuild Taper"))?;
    let grey: Vec<u8> = sheet.rgb.into_iter().step_by(3).collect();
    let labels: Vec<u32> = labels.chars().filter_map(|c| c.to_digit(10)).collect();
    let images = Tensor::from_vec_on(grey, (sheet.height, 1, SIDE, SIDE), &Device::Cpu);
    let labels = Tensor::from_vec_on(labels, sheet.height, &Device::Cpu);
    ImageDataset::new(images, labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Dataset};
    use crate::tensor::arange;
    use candle_core::DType;

    fn all(data: ImageDataset) -> Batch {
        data.all().unwrap()
    }

    /// The expected values were computed from the published files, in Python.
    #[test]
    fn the_images_are_those_of_mnist() {
        let data = SmallMnist::new();
        for (set, count, sum, hash) in [
            (data.train(), 5000, 132_012_893, 0x7815_54c4_2f42_ec5c),
            (data.val(), 1000, 26_703_247, 0x8c18_3186_d73d_746a),
        ] {
            let x = all(set.unwrap()).x;
            assert_eq!(x.dims(), [count, 1, 28, 28]);
            let bytes: Vec<u8> = (x * 255.0).round().to_dtype(DType::U8).to_vec();
            assert_eq!(bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>(), sum);
            // FNV-1a.
            let found = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
            assert_eq!(found, hash);
        }
    }

    #[test]
    fn ten_images_show_all_digits() {
        let data = SmallMnist::new();
        for set in [data.train().unwrap(), data.val().unwrap()] {
            for ten in all(set).y.to_vec1::<u32>().chunks_mut(10) {
                ten.sort_unstable();
                assert_eq!(ten, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
            }
        }
    }

    /// So the labels belong to the images.
    #[test]
    fn the_nearest_mean_image_is_right_for_three_digits_of_four() {
        let data = SmallMnist::new();
        let (train, val) = (all(data.train().unwrap()), all(data.val().unwrap()));
        let classes = arange(0, 10).unsqueeze(1); // (10, 1)
        let belongs = classes.eq(&train.y).to_dtype(DType::F32); // (10, 5000)
        let means = belongs.matmul(&train.x.flatten_from(1)) / 500.0; // (10, 784)
        let distances = means.sqr().sum(1) - val.x.flatten_from(1).matmul(&means.t()) * 2.0;
        let accuracy = distances.argmin(1).eq(&val.y).mean_all().item();
        assert!(accuracy > 0.75, "{accuracy}");
    }
}
