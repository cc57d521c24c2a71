//! Softmax and cross-entropy in one.

use super::engine::autograd::{Backward, fits, record};
use super::engine::simd::{Element, multiversion};
use super::engine::{Numbers, for_type_of};
use super::softmax::probabilities;
use candle_core::{DType, Result, Tensor};

/// The mean loss of scores `(batch, classes)` for class numbers `(batch,)`, which must be in range;
/// `None` where there is no kernel.
pub(crate) fn cross_entropy(scores: &Tensor, classes: &Tensor) -> Result<Option<Tensor>> {
    if !fits(&[scores]) || scores.elem_count() == 0 {
        return Ok(None);
    }
    let classes = classes.to_dtype(DType::U32)?.to_vec1::<u32>()?;
    for_type_of!(scores, forward(scores, classes)).map(Some)
}

fn forward<T: Element>(scores: &Tensor, classes: Vec<u32>) -> Result<Tensor> {
    let contiguous = scores.contiguous()?;
    let count = scores.dim(1)?;
    let mut probabilities = Numbers::of(&contiguous)?.slice::<T>()?.to_vec();
    let mut losses = Vec::with_capacity(classes.len());
    for (row, class) in probabilities.chunks_exact_mut(count).zip(&classes) {
        losses.push(one_row(row, *class as usize));
    }
    let loss = losses.iter().copied().sum::<T>() / T::of(classes.len() as f64);
    record(&[scores], vec![loss], (), || Back {
        probabilities,
        classes,
    })
}

multiversion! {
    /// Makes probabilities of scores, and gives the loss.
    fn one_row<T: Element>(row: &mut [T], class: usize) -> T {
        let right = row[class];
        let (most, sum) = probabilities(row);
        sum.ln() - (right - most)
    }
}

struct Back<T> {
    probabilities: Vec<T>,
    classes: Vec<u32>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        _: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let batch = self.classes.len();
        let count = self.probabilities.len() / batch;
        let scale = T::of(gradient.to_dtype(DType::F64)?.to_scalar::<f64>()? / batch as f64);
        let mut of_scores: Vec<T> = self.probabilities.iter().map(|p| *p * scale).collect();
        for (row, class) in of_scores.chunks_exact_mut(count).zip(&self.classes) {
            row[*class as usize] += -scale;
        }
        let of_scores = Tensor::from_vec(of_scores, (batch, count), gradient.device())?;
        Ok([Some(of_scores), None, None])
    }
}
