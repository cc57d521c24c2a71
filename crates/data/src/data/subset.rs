//! Parts of a data set.

use super::dataset::check_indices;
use super::{BatchData, Dataset};
use crate::error::{Result, refuse};
use crate::tensor::permutation;
use std::sync::Arc;

/// Some examples of a data set, by their indices.
///
/// ```
/// use taper::prelude::*;
///
/// let numbers = arange(0, 10);
/// let data = TensorDataset::new(numbers.clone(), numbers)?;
/// let even = Subset::new(data, [0, 2, 4, 6, 8])?;
/// assert_eq!(even.len(), 5);
/// assert_eq!(even.get(&[3])?.x.to_vec1::<i64>(), [6]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Subset<D> {
    dataset: D,
    indices: Vec<usize>,
}

impl<D> Subset<D> {
    /// Creates the data set of the examples at these indices, in this order.
    ///
    /// # Errors
    /// If an index is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = Subset::new(Digits::new().val()?, [0, 400]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "get: example 400 is out of range: there are 360, counted from 0\n\
    ///      Use indices from 0 to 359"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new<B: BatchData>(dataset: D, indices: impl Into<Vec<usize>>) -> Result<Self>
    where
        D: Dataset<B>,
    {
        let indices = indices.into();
        check_indices(&indices, dataset.len())?;
        Ok(Subset { dataset, indices })
    }

    /// Returns the indices in the whole data set.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let subset = Subset::new(Digits::new().val()?, [7, 3])?;
    /// assert_eq!(subset.indices(), [7, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }
}

impl<B: BatchData, D: Dataset<B>> Dataset<B> for Subset<D> {
    fn len(&self) -> usize {
        self.indices.len()
    }

    fn get(&self, indices: &[usize]) -> Result<B> {
        check_indices(indices, self.indices.len())?;
        let indices = indices.iter().map(|&index| self.indices[index]);
        self.dataset.get(&Vec::from_iter(indices))
    }
}

/// Splits a data set at random into parts of these sizes, for training and validation for instance.
/// The order follows [`manual_seed`](crate::tensor::manual_seed).
///
/// # Errors
/// If the sizes do not add up to the number of examples.
///
/// ```
/// use taper::prelude::*;
///
/// let [train, val, test] = random_split(Digits::new().val()?, [260, 50, 50])?;
/// assert_eq!((train.len(), val.len(), test.len()), (260, 50, 50));
///
/// let error = random_split(Digits::new().val()?, [300, 50]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "random_split: expected sizes with the sum 360, the number of examples, found 350\n\
///      Give each example to a part; parts that you do not need can be dropped"
/// );
/// # Ok::<(), Error>(())
/// ```
pub fn random_split<B: BatchData, D: Dataset<B>, const N: usize>(
    dataset: D,
    sizes: [usize; N],
) -> Result<[Subset<Arc<D>>; N]> {
    let parts = parts(dataset.len(), &sizes)?;
    let dataset = Arc::new(dataset);
    let mut parts = parts.into_iter();
    Ok(sizes.map(|_| Subset {
        dataset: dataset.clone(),
        indices: parts.next().unwrap_or_default(),
    }))
}

/// Returns the indices of each part of a random split.
fn parts(examples: usize, sizes: &[usize]) -> Result<Vec<Vec<usize>>> {
    let sum = sizes
        .iter()
        .try_fold(0, |sum: usize, &n| sum.checked_add(n));
    refuse!(if sum != Some(examples);
        argument("random_split", sum.map_or("too many".to_owned(), |sum| sum.to_string()));
        "sizes with the sum {examples}, the number of examples",
        "Give each example to a part; parts that you do not need can be dropped");
    let mut order = permutation(examples).into_iter();
    let part = |size: &usize| order.by_ref().take(*size).collect();
    Ok(sizes.iter().map(part).collect())
}

/// Returns the `k` splits of cross-validation, each as a pair of training part and validation part.
/// Each example is in the validation part of one split, and in the training parts of the others. From
/// d2l's chapter *Predicting House Prices on Kaggle*.
///
/// The order is random and follows [`manual_seed`](crate::tensor::manual_seed).
///
/// # Errors
/// If there are fewer than 2 examples, or `k` is below 2 or above the number of examples.
///
/// ```
/// use taper::prelude::*;
///
/// for [train, val] in k_folds(Digits::new().val()?, 5)? {
///     assert_eq!((train.len(), val.len()), (288, 72));
/// }
/// assert!(k_folds(Digits::new().val()?, 1).is_err());
/// # Ok::<(), Error>(())
/// ```
pub fn k_folds<B: BatchData, D: Dataset<B>>(
    dataset: D,
    k: usize,
) -> Result<Vec<[Subset<Arc<D>>; 2]>> {
    let folds = folds(dataset.len(), k)?;
    let dataset = Arc::new(dataset);
    let subset = |indices| Subset {
        dataset: dataset.clone(),
        indices,
    };
    Ok(folds.into_iter().map(|fold| fold.map(subset)).collect())
}

/// Returns the indices of both parts of each fold.
fn folds(examples: usize, k: usize) -> Result<Vec<[Vec<usize>; 2]>> {
    refuse!(if examples < 2; argument("k_folds", examples);
        "a data set of at least 2 examples", "Add examples: each fold needs one");
    refuse!(if k < 2 || k > examples; argument("k_folds", k);
        "from 2 to {examples} folds, the number of examples",
        "Choose 5 or 10, if there are that many examples");
    let order = permutation(examples);
    let fold = |i| {
        let (start, end) = (examples * i / k, examples * (i + 1) / k);
        let train = [&order[..start], &order[end..]].concat();
        [train, order[start..end].to_vec()]
    };
    Ok((0..k).map(fold).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TensorDataset;
    use crate::tensor::{arange, with_seed};

    fn numbers(n: i64) -> TensorDataset {
        let numbers = arange(0, n);
        TensorDataset::new(numbers.clone(), numbers).unwrap()
    }

    fn values(part: &impl Dataset) -> Vec<i64> {
        part.all().unwrap().x.to_vec1()
    }

    #[test]
    fn a_split_has_each_example_once_and_follows_the_seed() {
        let split = |seed| with_seed(seed, || random_split(numbers(20), [15, 5, 0]).unwrap());
        let [a, b, none] = split(1);
        let mut all = [values(&a), values(&b)].concat();
        assert_ne!(all, (0..20).collect::<Vec<i64>>());
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<i64>>());
        assert!(Dataset::is_empty(&none));
        assert_eq!(values(&split(1)[0]), values(&a));
        assert_ne!(values(&split(2)[0]), values(&a));
        assert!(random_split(numbers(3), [usize::MAX, 4]).is_err());
    }

    #[test]
    fn each_example_is_validated_in_one_fold() {
        let folds = k_folds(numbers(11), 3).unwrap();
        let mut all: Vec<i64> = vec![];
        for [train, val] in &folds {
            assert_eq!(train.len() + val.len(), 11);
            assert!(values(val).iter().all(|n| !values(train).contains(n)));
            all.extend(values(val));
        }
        all.sort_unstable();
        assert_eq!(all, (0..11).collect::<Vec<i64>>());
        assert!(k_folds(numbers(3), 4).is_err());
        for few in [0, 1] {
            let message = k_folds(numbers(few), 2).unwrap_err().to_string();
            assert!(
                message.starts_with("k_folds: expected a data set of at least 2 examples, found "),
                "{message}"
            );
        }
    }

    #[test]
    fn a_subset_of_a_subset_and_its_bounds() {
        let odd = Subset::new(numbers(10), [1, 3, 5]).unwrap();
        assert!(odd.get(&[3]).is_err());
        let last = Subset::new(odd, [2]).unwrap();
        assert_eq!(values(&last), [5]);
    }
}
