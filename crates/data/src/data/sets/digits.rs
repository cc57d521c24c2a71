//! Handwritten digits that come with Taper.

use crate::data::TensorDataset;
use crate::data::module::data_module;
use crate::error::{self, Result};
use crate::tensor::{Tensor, with_device};
use crate::tensor::{permutation, tensor, with_seed};
use candle_core::Device;

/// All images in one file, and their labels; the README next to them describes the layout.
const SHEET: &[u8] = include_bytes!("digits/digits.png");
const LABELS: &str = include_str!("digits/labels.txt");

const SIDE: usize = 8;
const COLUMNS: usize = 40;
const COUNT: usize = 1797;
/// The grey level of the data set's largest value, 16.
const BRIGHTEST: f32 = 240.0;
const NUM_VAL: usize = 360;

settings! {
    /// 1,797 handwritten digits, 8 by 8 pixels: small enough to come with Taper, so nothing is downloaded.
    ///
    /// Inputs are `(batch, 1, 8, 8)`, `f32` from 0 (paper) to 1 (ink); targets `(batch,)`, `u32` from 0
    /// to 9. 1,437 digits are for training and 360 for validation, chosen at random, the same ones on
    /// every run.
    ///
    /// Source: the test images of *Optical Recognition of Handwritten Digits* by E. Alpaydin and
    /// C. Kaynak (1998), UCI Machine Learning Repository, <https://doi.org/10.24432/C50P49>, licence
    /// CC BY 4.0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = Digits::new().batch_size(128);
    /// for batch in &data.train_dataloader()? {
    ///     let Batch { x, y } = batch?; // (128, 1, 8, 8) and (128,)
    ///     assert_eq!(x.dims()[1..], [1, 8, 8]);
    ///     assert_eq!(y.dtype(), DType::U32);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct Digits {
        /// Creates the data set, with batches of 64.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Digits::new().train_dataloader()?.num_batches(), 23);
        /// # Ok::<(), Error>(())
        /// ```
        new;

        /// Sets the number of digits in a batch.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = Digits::new().batch_size(360);
        /// assert_eq!(data.val_dataloader()?.expect("there is one").num_batches(), 1);
        /// # Ok::<(), Error>(())
        /// ```
        set batch_size: usize = 64,

        /// Sets the seed that chooses the digits for validation, 0 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (data, other) = (Digits::new().val()?, Digits::new().split_seed(1).val()?);
        /// assert_ne!(data.get(&[0, 1, 2])?.y.to_vec1::<u32>(), other.get(&[0, 1, 2])?.y.to_vec1::<u32>());
        /// # Ok::<(), Error>(())
        /// ```
        set split_seed: u64 = 0,
    }
}

impl Digits {
    /// Returns all 1,797 digits in the order of the source.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let digits = Digits::new().all()?;
    /// let first = digits.get(&[0])?; // x: (1, 1, 8, 8), y: (1,)
    /// assert_eq!(digits.len(), 1797);
    /// assert_eq!(first.y.to_vec1::<u32>(), [0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn all(&self) -> Result<TensorDataset> {
        let (x, y) = read()?;
        TensorDataset::new(x, y)
    }

    /// Returns the 1,437 digits for training.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Digits::new().train()?.len(), 1437);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn train(&self) -> Result<TensorDataset> {
        self.part(NUM_VAL, COUNT)
    }

    /// Returns the 360 digits for validation.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Digits::new().val()?.len(), 360);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn val(&self) -> Result<TensorDataset> {
        self.part(0, NUM_VAL)
    }

    /// Returns the digits at these positions of a random order, which the seed fixes.
    fn part(&self, start: usize, end: usize) -> Result<TensorDataset> {
        let order = with_seed(self.split_seed, || permutation(COUNT));
        let chosen: Vec<u32> = order[start..end].iter().map(|&i| i as u32).collect();
        let chosen = with_device(&Device::Cpu, || tensor(chosen));
        let (x, y) = read()?;
        TensorDataset::new(x.index_select(&chosen, 0), y.index_select(&chosen, 0))
    }
}

data_module!(Digits);

/// Cuts the sheet into images, `(1797, 1, 8, 8)`, and reads their labels, `(1797,)`.
fn read() -> Result<(Tensor, Tensor)> {
    let sheet = crate::image::RgbImage::decode(SHEET)
        .map_err(|problem| error::state("Digits", problem, "Rebuild Taper"))?;
    let ink = |image: usize, y: usize, x: usize| {
        let (row, column) = (image / COLUMNS * SIDE + y, image % COLUMNS * SIDE + x);
        f32::from(sheet.rgb[(row * sheet.width + column) * 3]) / BRIGHTEST
    };
    let mut pixels = Vec::with_capacity(COUNT * SIDE * SIDE);
    for image in 0..COUNT {
        for y in 0..SIDE {
            pixels.extend((0..SIDE).map(|x| ink(image, y, x)));
        }
    }
    let labels: Vec<u32> = LABELS
        .chars()
        .filter_map(|label| label.to_digit(10))
        .collect();
    let x = Tensor::from_vec_on(pixels, (COUNT, 1, SIDE, SIDE), &Device::Cpu);
    Ok((x, Tensor::from_vec_on(labels, COUNT, &Device::Cpu)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;

    /// The expected values come from scikit-learn's `load_digits()`.
    #[test]
    fn the_digits_equal_those_of_scikit_learn() {
        let (x, y) = read().unwrap();
        let values = &x * 16.0;
        let sum = values.to_dtype(candle_core::DType::F64).sum_all();
        assert_eq!(sum.item(), 561_718.0);
        let first: Vec<f32> = values.i(0).to_vec();
        assert_eq!(first[..8], [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0]);
        assert_eq!(first[56..], [0.0, 0.0, 6.0, 13.0, 10.0, 0.0, 0.0, 0.0]);
        let mut counts = [0; 10];
        for label in y.to_vec1::<u32>() {
            counts[label as usize] += 1;
        }
        assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
    }

    #[test]
    fn the_split_is_the_same_every_time_and_loses_nothing() {
        let data = Digits::new();
        let labels = |set: TensorDataset| -> Vec<u32> {
            let all: Vec<usize> = (0..set.len()).collect();
            set.get(&all).unwrap().y.to_vec1()
        };
        let (train, val) = (labels(data.train().unwrap()), labels(data.val().unwrap()));
        assert_eq!(val, labels(Digits::new().val().unwrap()));
        let sum = |labels: &[u32]| labels.iter().sum::<u32>();
        assert_eq!(sum(&train) + sum(&val), sum(&labels(data.all().unwrap())));
        assert!((0..10).all(|digit| val.contains(&digit)));
    }
}
