//! Examples of a known linear function.

use crate::data::TensorDataset;
use crate::data::module::data_module;
use crate::error::{Result, attempt};
use crate::tensor::{Tensor, with_device};
use crate::tensor::{draw_seed, normal, randn, with_seed};
use candle_core::Device;

/// Examples of a linear function with some noise, as in d2l's chapter *Synthetic Regression Data*:
/// `y = x·w + b + noise`.
///
/// Inputs are `(batch, n)` for `n` weights, from the standard normal distribution, targets
/// `(batch, 1)`, both `f32`. The seed of the examples is drawn when the object is created and follows
/// [`manual_seed`](crate::tensor::manual_seed), so an object always returns the same examples.
///
/// ```
/// use taper::prelude::*;
///
/// let data = SyntheticRegression::new([2.0, -3.4], 4.2);
/// let batch = data.train_dataloader()?.into_iter().next().expect("a batch")?;
/// assert_eq!(batch.x.dims(), [32, 2]);
/// assert_eq!(batch.y.dims(), [32, 1]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SyntheticRegression {
    w: Vec<f64>,
    b: f64,
    noise: f64,
    num_train: usize,
    num_val: usize,
    batch_size: usize,
    seed: u64,
}

impl SyntheticRegression {
    /// Creates examples of the function with weights `w` and bias `b`: 1,000 for training and 1,000 for
    /// validation, noise of standard deviation 0.01, batches of 32.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = SyntheticRegression::new([2.0, -3.4], 4.2);
    /// assert_eq!(data.train()?.len(), 1000);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(w: impl Into<Vec<f64>>, b: f64) -> Self {
        SyntheticRegression {
            w: w.into(),
            b,
            noise: 0.01,
            num_train: 1000,
            num_val: 1000,
            batch_size: 32,
            seed: draw_seed(),
        }
    }

    setters! {
        /// Sets the standard deviation of the noise.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = SyntheticRegression::new([1.0], 0.0).noise(0.0).train()?;
        /// let batch = data.get(&[0, 1, 2])?;
        /// assert_eq!(batch.x.to_vec2::<f32>(), batch.y.to_vec2::<f32>());
        /// # Ok::<(), Error>(())
        /// ```
        pub fn noise(self, std: f64): self.noise = std;

        /// Sets the number of training examples.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = SyntheticRegression::new([1.0], 0.0).num_train(10);
        /// assert_eq!(data.train()?.len(), 10);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn num_train(self, examples: usize): self.num_train = examples;

        /// Sets the number of validation examples.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = SyntheticRegression::new([1.0], 0.0).num_val(10);
        /// assert_eq!(data.val()?.len(), 10);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn num_val(self, examples: usize): self.num_val = examples;

        /// Sets the number of examples in a batch.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = SyntheticRegression::new([1.0], 0.0).batch_size(100);
        /// assert_eq!(data.train_dataloader()?.num_batches(), 10);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn batch_size(self, examples: usize): self.batch_size = examples;
    }

    /// Returns the true weights, `(n, 1)`, to compare with the learned ones.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let w = SyntheticRegression::new([2.0, -3.4], 4.2).w(); // (2, 1)
    /// assert_eq!(w.to_vec2::<f32>(), [[2.0], [-3.4]]);
    /// ```
    pub fn w(&self) -> Tensor {
        let w: Vec<f32> = self.w.iter().map(|&w| w as f32).collect();
        Tensor::from_vec_on(w, (self.w.len(), 1), &Device::Cpu)
    }

    /// Returns the true bias.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(SyntheticRegression::new([2.0, -3.4], 4.2).b(), 4.2);
    /// ```
    pub fn b(&self) -> f64 {
        self.b
    }

    /// Returns the training examples.
    ///
    /// # Errors
    /// If the noise is negative or not finite.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let train = SyntheticRegression::new([2.0, -3.4], 4.2).train()?;
    /// let batch = train.get(&[0])?; // x: (1, 2), y: (1, 1)
    /// assert_eq!(batch.y.dims(), [1, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn train(&self) -> Result<TensorDataset> {
        self.examples(self.num_train, self.seed)
    }

    /// Returns the validation examples.
    ///
    /// # Errors
    /// If the noise is negative or not finite.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let val = SyntheticRegression::new([2.0, -3.4], 4.2).val()?;
    /// assert_eq!(val.len(), 1000);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn val(&self) -> Result<TensorDataset> {
        self.examples(self.num_val, self.seed.wrapping_add(1))
    }

    fn examples(&self, n: usize, seed: u64) -> Result<TensorDataset> {
        let draw = || {
            let x = with_device(&Device::Cpu, || randn((n, self.w.len()))); // (n, features)
            let noise = with_device(&Device::Cpu, || normal(0.0, self.noise, (n, 1)));
            let y = x.matmul(&self.w()) + self.b + noise; // (n, 1)
            TensorDataset::new(x, y)
        };
        attempt(|| with_seed(seed, draw)).flatten()
    }
}

data_module!(SyntheticRegression);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;

    #[test]
    fn the_examples_are_linear_up_to_the_noise() {
        let data = with_seed(3, || SyntheticRegression::new([2.0, -3.4], 4.2));
        let all: Vec<usize> = (0..1000).collect();
        let batch = data.train().unwrap().get(&all).unwrap();
        let noise = batch.y - (batch.x.matmul(&data.w()) + data.b());
        let std = noise.sqr().mean_all().sqrt().item();
        assert!((0.009..0.011).contains(&std), "{std}");
    }

    #[test]
    fn examples_are_fixed_and_validation_examples_differ() {
        let data = SyntheticRegression::new([1.0], 0.0);
        let first =
            |set: TensorDataset| -> Vec<Vec<f32>> { set.get(&[0, 1, 2]).unwrap().x.to_vec2() };
        let train = first(data.train().unwrap());
        assert_eq!(train, first(data.train().unwrap()));
        assert_ne!(train, first(data.val().unwrap()));
        let same = |seed| with_seed(seed, || SyntheticRegression::new([1.0], 0.0).seed);
        assert_eq!(same(5), same(5));
    }

    #[test]
    fn a_negative_noise_is_refused() {
        assert!(
            SyntheticRegression::new([1.0], 0.0)
                .noise(-1.0)
                .train()
                .is_err()
        );
    }
}
