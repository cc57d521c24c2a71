//! Samplers: which examples a loader takes, and in which order.

use crate::erased::outlined;
use crate::error::{Result, refuse};
use crate::tensor::{permutation, random_unit};

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

/// Takes all examples in a random order, in which each class has about the same share of every batch
/// as of the whole data set.
///
/// ```
/// use taper::prelude::*;
///
/// let classes = [[0; 90], [1; 90]].concat().into_iter().chain([2; 20]); // 200 in all
/// let sampler = StratifiedSampler::new(classes);
/// for batch in sampler.sample()?.chunks(20) {
///     let rare = batch.iter().filter(|&&i| i >= 180).count();
///     assert!((1..=3).contains(&rare)); // 2 in the mean
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct StratifiedSampler {
    /// The indices of each class.
    classes: Vec<Vec<usize>>,
    num_samples: usize,
}

outlined!(Clone Debug for StratifiedSampler { classes, num_samples });

impl StratifiedSampler {
    /// Creates a sampler from the class of each example, in the order of the data set.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let labels: Vec<u32> = Digits::new().val()?.all()?.y.to_vec1();
    /// let sampler = StratifiedSampler::new(labels.into_iter().map(|label| label as usize));
    /// assert_eq!(sampler.num_samples(), 360);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(labels: impl IntoIterator<Item = usize>) -> Self {
        Self::of(&mut labels.into_iter())
    }

    fn of(labels: &mut dyn Iterator<Item = usize>) -> Self {
        let mut num_samples = 0;
        let mut classes = std::collections::BTreeMap::<usize, Vec<usize>>::new();
        for (i, label) in labels.enumerate() {
            classes.entry(label).or_default().push(i);
            num_samples += 1;
        }
        Self {
            classes: classes.into_values().collect(),
            num_samples,
        }
    }
}

impl Sampler for StratifiedSampler {
    fn num_samples(&self) -> usize {
        self.num_samples
    }

    fn sample(&self) -> Result<Vec<usize>> {
        // Each class is spread evenly over the epoch, from a random start on.
        let mut places: Vec<(f64, usize)> = Vec::with_capacity(self.num_samples);
        for class in &self.classes {
            let start = random_unit();
            let order = permutation(class.len()).into_iter().enumerate();
            places.extend(
                order.map(|(i, example)| ((i as f64 + start) / class.len() as f64, class[example])),
            );
        }
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(places.into_iter().map(|(_, example)| example).collect())
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

    #[test]
    fn each_example_is_taken_once_and_classes_are_mixed() {
        let sampler = StratifiedSampler::new((0..100).map(|i| i / 50));
        let order = with_seed(1, || sampler.sample().unwrap());
        for pair in order.chunks(10) {
            assert_eq!(pair.iter().filter(|&&i| i < 50).count(), 5);
        }
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
