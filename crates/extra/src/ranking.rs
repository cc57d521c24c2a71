//! Metrics of scores: whether positive examples have higher ones than negative examples.

use crate::error::{OrRaise, Result, refuse};
use crate::tensor::Tensor;
use candle_core::DType;

/// Returns the area under the receiver operating characteristic: the probability that a positive example has a higher score
/// than a negative one; equal scores count half.
///
/// # Shapes
/// Scores `(examples,)`, and classes of the same shape: 1 for a positive example, 0 for a negative one.
///
/// # Panics
/// If the shapes differ, a class is neither 0 nor 1, a score is NaN, or there is only one class.
///
/// ```
/// use taper::prelude::*;
///
/// let scores = tensor(&[0.1, 0.4, 0.35, 0.8]); // (4,)
/// assert_eq!(roc_auc(&scores, &tensor(&[0, 0, 1, 1])), 0.75);
/// ```
#[track_caller]
pub fn roc_auc(scores: &Tensor, classes: &Tensor) -> f64 {
    auc(scores, classes).or_raise()
}

fn auc(scores: &Tensor, classes: &Tensor) -> Result<f64> {
    let groups = groups("roc_auc", scores, classes)?;
    let (mut below, mut pairs) = (0.0, 0.0);
    // From the lowest score on.
    for [negative, positive] in groups.iter().rev() {
        pairs += positive * (below + negative / 2.0);
        below += negative;
    }
    let positives: f64 = groups.iter().map(|group| group[1]).sum();
    match below * positives > 0.0 {
        true => Ok(pairs / (below * positives)),
        false => refuse!(argument("roc_auc", "examples of one class");
            "examples of both classes", "Compute it over a larger set"),
    }
}

/// Returns the average precision: the mean, over the positive examples, of the share of positive examples among those with at
/// least the same score. It is the area under the curve of precision and recall, without interpolation.
///
/// # Shapes
/// As for [`roc_auc`].
///
/// # Panics
/// As for [`roc_auc`], and if there is no positive example.
///
/// ```
/// use taper::prelude::*;
///
/// let scores = tensor(&[0.1, 0.4, 0.35, 0.8]); // (4,)
/// let precision = average_precision(&scores, &tensor(&[0, 0, 1, 1]));
/// assert!((precision - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
/// ```
#[track_caller]
pub fn average_precision(scores: &Tensor, classes: &Tensor) -> f64 {
    precision(scores, classes).or_raise()
}

fn precision(scores: &Tensor, classes: &Tensor) -> Result<f64> {
    let (mut found, mut all, mut sum) = (0.0, 0.0, 0.0);
    for [negative, positive] in groups("average_precision", scores, classes)? {
        found += positive;
        all += negative + positive;
        sum += positive * found / all;
    }
    match found > 0.0 {
        true => Ok(sum / found),
        false => refuse!(argument("average_precision", "none");
            "a positive example", "Compute it over a larger set"),
    }
}

/// Returns the number of negative and of positive examples for each score, from the highest on.
fn groups(caller: &str, scores: &Tensor, classes: &Tensor) -> Result<Vec<[f64; 2]>> {
    refuse!(if scores.dims() != classes.dims(); shape(caller, classes.dims());
        ("a class for each score, {:?}", scores.dims()),
        "Pass scores and classes of the same shape");
    let to_f64 = |x: &Tensor| x.detach().to_dtype(DType::F64).to_vec::<f64>();
    let (scores, classes) = (to_f64(scores), to_f64(classes));
    let advice = "Pass 1 for a positive example and 0 for a negative one, and scores without NaN";
    if let Some(class) = classes
        .iter()
        .find(|class| **class != 0.0 && **class != 1.0)
    {
        refuse!(argument(caller, class); "classes 0 and 1", advice);
    }
    refuse!(if scores.iter().any(|score| score.is_nan()); argument(caller, "NaN");
        "scores", advice);
    let mut examples: Vec<(f64, f64)> = scores.into_iter().zip(classes).collect();
    examples.sort_by(|a, b| b.0.total_cmp(&a.0));
    let groups = examples.chunk_by(|a, b| a.0 == b.0);
    Ok(groups
        .map(|group| {
            let positive: f64 = group.iter().map(|example| example.1).sum();
            [group.len() as f64 - positive, positive]
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::tensor;

    /// scikit-learn 1.9: roc_auc_score and average_precision_score, with equal scores.
    #[test]
    fn they_agree_with_scikit_learn() {
        let scores = tensor(&[0.5, 0.5, 0.2, 0.9, 0.5, 0.7, 0.1, 0.7]);
        let classes = tensor(&[1, 0, 0, 1, 1, 0, 0, 1]);
        assert!((roc_auc(&scores, &classes) - 0.78125).abs() < 1e-9);
        let precision = average_precision(&scores, &classes);
        assert!((precision - 0.75).abs() < 1e-9, "{precision}");
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let scores = tensor(&[0.5, 0.2]);
        let message = |classes: Tensor| attempt(|| roc_auc(&scores, &classes)).unwrap_err();
        assert!(
            message(tensor(&[1, 1]))
                .to_string()
                .contains("both classes")
        );
        assert!(message(tensor(&[1, 2])).to_string().contains("found 2"));
        assert!(
            message(tensor(&[1]))
                .to_string()
                .contains("found shape [1]")
        );
    }
}
