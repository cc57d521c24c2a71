//! A sampler that spreads the examples of each class evenly.

use crate::data::Sampler;
use crate::erased::outlined;
use crate::error::Result;
use crate::tensor::{permutation, random_unit};

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
    use crate::tensor::with_seed;

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
