//! Samplers: which examples a loader takes, and in which order.

use crate::error::{Result, refuse};
use crate::tensor::random_unit;

/// Chooses the examples of a loop through a loader, and their order.
///
/// ```
/// use taper::prelude::*;
///
/// /// From the last example to the first.
/// struct Backwards(usize);
///
/// impl Sampler for Backwards {
///     fn num_samples(&self) -> usize {
///         self.0
///     }
///
///     fn sample(&self) -> Result<Vec<usize>> {
///         Ok((0..self.0).rev().collect())
///     }
/// }
///
/// let numbers = arange(0, 4);
/// let data = TensorDataset::new(numbers.clone(), numbers)?;
/// let loader = DataLoader::new(data).sampler(Backwards(4));
/// let batch = loader.into_iter().next().expect("one batch")?;
/// assert_eq!(batch.x.to_vec1::<i64>(), [3, 2, 1, 0]);
/// # Ok::<(), Error>(())
/// ```
pub trait Sampler: Send + Sync {
    /// Returns the number of indices that [`sample`](Sampler::sample) returns.
    fn num_samples(&self) -> usize;

    /// Returns the indices of the next loop.
    ///
    /// # Errors
    /// If no indices can be drawn; the loop returns the error.
    fn sample(&self) -> Result<Vec<usize>>;
}

/// Draws examples with probabilities in proportion to their weights, as PyTorch's
/// `WeightedRandomSampler` does: rare classes can be drawn as often as frequent ones.
///
/// ```
/// use taper::prelude::*;
///
/// manual_seed(0);
/// let sampler = WeightedSampler::new([0.0, 1.0, 3.0], 400)?;
/// let drawn = sampler.sample()?;
/// let count = |index| drawn.iter().filter(|&&i| i == index).count();
/// assert_eq!(count(0), 0);
/// assert!((250..350).contains(&count(2))); // three of four
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WeightedSampler {
    weights: Vec<f64>,
    num_samples: usize,
    replacement: bool,
}

impl WeightedSampler {
    /// Creates a sampler that draws `num_samples` examples. `weights` has one weight for each example of
    /// the data set.
    ///
    /// # Errors
    /// If a weight is negative or not finite, or all are 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = WeightedSampler::new([1.0, -1.0], 10).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "WeightedSampler: expected finite weights of at least 0, not all of them 0, found -1 for example 1\n\
    ///      Give each example its weight, 1 divided by the size of its class for instance"
    /// );
    /// ```
    pub fn new(weights: impl Into<Vec<f64>>, num_samples: usize) -> Result<Self> {
        Self::of(weights.into(), num_samples)
    }

    fn of(weights: Vec<f64>, num_samples: usize) -> Result<Self> {
        let mut each = weights.iter().enumerate();
        let found = match each.find(|(_, w)| !(w.is_finite() && **w >= 0.0)) {
            Some((i, weight)) => format!("{weight} for example {i}"),
            None if weights.iter().any(|&weight| weight > 0.0) => {
                return Ok(Self {
                    weights,
                    num_samples,
                    replacement: true,
                });
            }
            None => format!("{} weights, none above 0", weights.len()),
        };
        refuse!(argument("WeightedSampler", found);
            "finite weights of at least 0, not all of them 0",
            "Give each example its weight, 1 divided by the size of its class for instance")
    }

    setters! {
        /// Sets whether an example can be drawn again; it can by default. Without replacement, the loop fails
        /// if fewer than `num_samples` examples have a weight above 0.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut drawn = WeightedSampler::new([1.0, 2.0, 3.0], 3)?.replacement(false).sample()?;
        /// drawn.sort();
        /// assert_eq!(drawn, [0, 1, 2]);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn replacement(self, replacement: bool): self.replacement = replacement;
    }

    fn with_replacement(&self) -> Vec<usize> {
        let mut sum = 0.0;
        let sums: Vec<f64> = self
            .weights
            .iter()
            .map(|w| {
                sum += w;
                sum
            })
            .collect();
        let last = self.weights.iter().rposition(|&w| w > 0.0).unwrap_or(0);
        let draw = |_| {
            let at = random_unit() * sum;
            sums.partition_point(|&upper| upper <= at).min(last)
        };
        (0..self.num_samples).map(draw).collect()
    }

    /// Draws by the method of Efraimidis and Spirakis: each example gets an exponential waiting time with
    /// its weight as the rate, and the examples with the shortest times are drawn.
    fn without_replacement(&self) -> Result<Vec<usize>> {
        let weights = self.weights.iter().enumerate();
        let mut times: Vec<(f64, usize)> = weights
            .filter(|(_, weight)| **weight > 0.0)
            .map(|(i, weight)| (-(1.0 - random_unit()).ln() / weight, i))
            .collect();
        refuse!(if times.len() < self.num_samples;
            argument("WeightedSampler without replacement", self.num_samples);
            ("at most {} samples, the examples with a weight above 0", times.len()),
            "Draw fewer, or with .replacement(true)");
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let drawn = times.into_iter().take(self.num_samples);
        Ok(drawn.map(|(_, i)| i).collect())
    }
}

impl Sampler for WeightedSampler {
    fn num_samples(&self) -> usize {
        self.num_samples
    }

    fn sample(&self) -> Result<Vec<usize>> {
        match self.replacement {
            true => Ok(self.with_replacement()),
            false => self.without_replacement(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataLoader, TensorDataset};
    use crate::tensor::{arange, with_seed};

    #[test]
    fn weights_that_cannot_be_drawn_from_are_refused() {
        for weights in [&[][..], &[0.0, 0.0], &[f64::NAN], &[f64::INFINITY, 1.0]] {
            let message = WeightedSampler::new(weights, 1).unwrap_err().to_string();
            assert_eq!(message.lines().count(), 2, "{message}");
        }
        let few = WeightedSampler::new([1.0, 0.0], 2)
            .unwrap()
            .replacement(false);
        assert!(few.sample().is_err());
    }

    #[test]
    fn without_replacement_heavy_examples_come_first() {
        let sampler = WeightedSampler::new([1.0, 9.0], 1)
            .unwrap()
            .replacement(false);
        let first = |seed| with_seed(seed, || sampler.sample().unwrap()[0]);
        let heavy = (0..1000).filter(|&seed| first(seed) == 1).count();
        assert!((870..930).contains(&heavy), "{heavy}");
    }

    #[test]
    fn a_loader_takes_what_its_sampler_draws() {
        let numbers = arange(0, 10);
        let data = TensorDataset::new(numbers.clone(), numbers).unwrap();
        let sampler = WeightedSampler::new([0.0, 0.0, 1.0], 25).unwrap();
        let loader = DataLoader::new(data).batch_size(10).sampler(sampler);
        assert_eq!(loader.num_batches(), 3);
        let batches = loader
            .into_iter()
            .map(|batch| batch.unwrap().x.to_vec1::<i64>());
        assert_eq!(
            batches.collect::<Vec<_>>(),
            [vec![2; 10], vec![2; 10], vec![2; 5]]
        );
    }
}
