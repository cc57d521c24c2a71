//! Examples of unequal lengths.

use super::dataset::check_indices;
use super::{BatchData, Dataset};
use crate::error::{Result, attempt, refuse};
use crate::ops::cat;
use crate::tensor::{Raw, Tensor};

/// Joins sequences of unequal lengths into one tensor: `padding` fills the end of the shorter ones.
///
/// # Shapes
/// Each sequence `(length, …)`; the result `(batch, longest, …)`.
///
/// # Errors
/// If there are no sequences, or their shapes differ in more than the length, or their dtypes differ.
///
/// ```
/// use taper::prelude::*;
///
/// let words = [tensor(&[5, 3]), tensor(&[7, 2, 9])];
/// let batch = pad_sequences(&words, 0.0)?; // (2, 3)
/// assert_eq!(batch.to_vec2::<i64>(), [[5, 3, 0], [7, 2, 9]]);
/// # Ok::<(), Error>(())
/// ```
pub fn pad_sequences(sequences: &[Tensor], padding: f64) -> Result<Tensor> {
    let Some(first) = sequences.first() else {
        refuse!(argument("pad_sequences", "none");
            "at least one sequence", "Pass the sequences of a batch");
    };
    let rest = first.dims().get(1..);
    let mut longest = 0;
    for sequence in sequences {
        let shape = sequence.dims();
        let (Some(&length), true) = (shape.first(), shape.get(1..) == rest) else {
            let expected = match rest {
                Some(rest) => format!("a length, then the shape of the others, {rest:?}"),
                None => "sequences, whose first dimension is the length".to_owned(),
            };
            refuse!(shape("pad_sequences", shape);
                expected, "Give all sequences the same shape but for the first dimension");
        };
        longest = longest.max(length);
    }
    if let Some(other) = sequences.iter().find(|x| x.dtype() != first.dtype()) {
        refuse!(dtype("pad_sequences", other.dtype());
            ("{}, as the first sequence", first.dtype().as_str()), "Convert it: x.to_dtype(…)");
    }
    let padded = |sequence: &Tensor| -> Result<Tensor> {
        let mut shape = sequence.dims().to_vec();
        shape[0] = longest - shape[0];
        if shape[0] == 0 {
            return Ok(sequence.clone());
        }
        let end = Raw::full(padding, shape, sequence.device())?.to_dtype(sequence.dtype())?;
        attempt(|| cat(&[sequence, &end.into()], 0))
    };
    let padded: Vec<Tensor> = sequences.iter().map(padded).collect::<Result<_>>()?;
    attempt(|| Tensor::stack(&padded, 0))
}

/// A list of examples of any type, and a function that makes a batch of some of them, like the
/// `collate_fn` of PyTorch's loaders.
///
/// ```
/// use taper::prelude::*;
///
/// let words = ["a", "tensor", "of", "words"];
/// let data = ListDataset::new(words, |words: &[&&str]| {
///     let bytes = words.iter().map(|word| tensor(word.as_bytes()));
///     let lengths = words.iter().map(|word| word.len()).collect();
///     Ok((pad_sequences(&bytes.collect::<Vec<_>>(), 0.0)?, lengths))
/// });
/// let (x, lengths): (Tensor, Vec<usize>) = data.get(&[0, 2])?;
/// assert_eq!(x.to_vec2::<u8>(), [[b'a', 0], [b'o', b'f']]);
/// assert_eq!(lengths, [1, 2]);
/// let loader = DataLoader::new(data).batch_size(2).shuffle(true);
/// assert_eq!(loader.num_batches(), 2);
/// # Ok::<(), Error>(())
/// ```
pub struct ListDataset<T, B> {
    items: Vec<T>,
    collate: Collate<T, B>,
}

type Collate<T, B> = Box<dyn Fn(&[&T]) -> Result<B> + Send + Sync>;

impl<T, B: BatchData> ListDataset<T, B> {
    /// Creates a data set of these items; `collate` makes a batch of some of them.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = ListDataset::new([1, 2, 3], |items: &[&i64]| {
    ///     Ok(tensor(items.iter().map(|n| **n).collect::<Vec<i64>>()))
    /// });
    /// assert_eq!(data.all()?.to_vec1::<i64>(), [1, 2, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(
        items: impl IntoIterator<Item = T>,
        collate: impl Fn(&[&T]) -> Result<B> + Send + Sync + 'static,
    ) -> Self {
        Self {
            items: items.into_iter().collect(),
            collate: Box::new(collate),
        }
    }
}

impl<T: Send + Sync, B: BatchData> Dataset<B> for ListDataset<T, B> {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn get(&self, indices: &[usize]) -> Result<B> {
        check_indices(indices, self.items.len())?;
        let items = indices.iter().map(|&index| &self.items[index]);
        (self.collate)(&Vec::from_iter(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{ones, zeros};
    use candle_core::DType;

    #[test]
    fn sequences_of_vectors_and_of_length_0_are_padded() -> Result<()> {
        let sequences = [ones((2, 3)), zeros((0, 3)), ones((1, 3))];
        let padded = pad_sequences(&sequences, -1.0)?;
        assert_eq!(padded.dims(), [3, 2, 3]);
        let sums = padded.sum((1, 2)).to_vec1::<f32>();
        assert_eq!(sums, [6.0, -6.0, 0.0]);
        Ok(())
    }

    #[test]
    fn sequences_that_do_not_fit_are_explained() {
        let scalar = ones(());
        let double = ones(3).to_dtype(DType::F64);
        for list in [
            vec![],
            vec![scalar],
            vec![ones((2, 3)), ones((2, 4))],
            vec![ones(2), ones((2, 4))],
            vec![ones(2), double],
        ] {
            let message = pad_sequences(&list, 0.0).unwrap_err().to_string();
            assert_eq!(message.lines().count(), 2, "{message}");
        }
    }

    #[test]
    fn an_index_out_of_range_is_an_error() {
        let data = ListDataset::new([1.0, 2.0], |items: &[&f64]| {
            Ok(items.iter().map(|x| **x).collect::<Vec<f64>>())
        });
        assert!(data.get(&[2]).is_err());
        assert_eq!(data.get(&[1, 1]).unwrap(), [2.0, 2.0]);
    }
}
