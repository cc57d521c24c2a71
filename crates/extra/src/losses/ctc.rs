//! Connectionist temporal classification: the likelihood of a sequence, summed over all alignments with the steps.

use crate::error::{OrRaise, refuse};
use crate::ops::{Reduction, check, customized, reduce, same_device};
use crate::tensor::{Raw, Tensor, with_device};
use candle_core::{DType, Result};
use std::sync::Arc;

settings! {
    /// The negative log-likelihood of sequences of labels that are shorter than the sequences of predictions, and not aligned
    /// with them, as in the recognition of speech or handwriting. From Graves et al., 2006.
    ///
    /// Each step predicts a label or the blank. A path of predictions spells a sequence when repeated labels are merged and
    /// blanks are removed; the likelihood is the sum over all such paths.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// // Two steps and the classes blank and `a`; the paths `aa`, `_a` and `a_` spell `a`.
    /// let log_probs = full((2, 1, 2), 0.5f64.ln()); // (steps, batch, classes)
    /// let loss = CTCLoss::new().forward(&log_probs, &tensor(&[[1]]), &[2], &[1]);
    /// assert!((loss.item() + 0.75f64.ln()).abs() < 1e-6);
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct CTCLoss {
        /// Creates the loss with the default settings: the blank is class 0, and the loss of each sequence is divided by the
        /// number of its labels, before the mean over the batch.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = CTCLoss::new();
        /// ```
        new;

        /// Sets how the losses of the sequences become the loss of the batch. Only [`Reduction::Mean`] divides them by the
        /// number of labels.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = CTCLoss::new().reduction(Reduction::Sum);
        /// ```
        set reduction: Reduction = Reduction::Mean,

        /// Sets the class of the blank; 0 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = CTCLoss::new().blank(28);
        /// ```
        set blank: usize = 0,

        /// Sets whether the loss of a sequence that does not fit into its steps is 0 instead of infinite; `false` by
        /// default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = CTCLoss::new().zero_infinity(true);
        /// let loss = loss.forward(&zeros((1, 1, 3)), &tensor(&[[1, 2]]), &[1], &[2]);
        /// assert_eq!(loss.item(), 0.0);
        /// ```
        set zero_infinity: bool = false,
    }
}

impl CTCLoss {
    /// Returns the loss of log-probabilities, as [`log_softmax`](crate::ops::log_softmax) returns them.
    ///
    /// As in PyTorch, the gradient assumes normalised predictions: the gradients of a step add up to 0. It is computed
    /// on the CPU, and has no second derivatives.
    ///
    /// # Shapes
    /// `log_probs` is `(steps, batch, classes)`; `targets` are integers, `(batch, labels)`, or the labels of all sequences
    /// one after the other. The lengths count the steps and the labels of each sequence.
    ///
    /// # Panics
    /// If the shapes or lengths do not fit, or a label is the blank or out of range; for a mean, if the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let log_probs = randn((50, 3, 15)).log_softmax(-1); // (steps, batch, classes)
    /// let targets = randint(1, 15, (3, 30)); // (batch, labels)
    /// let loss = CTCLoss::new().forward(&log_probs, &targets, &[50, 50, 50], &[30, 25, 20]);
    /// assert!(loss.item() > 0.0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn forward(
        &self,
        log_probs: &Tensor,
        targets: &Tensor,
        input_lengths: &[usize],
        target_lengths: &[usize],
    ) -> Tensor {
        let lengths = (input_lengths, target_lengths);
        self.compute(log_probs.raw(), targets.raw(), lengths)
            .or_raise()
            .into()
    }

    fn compute(&self, x: &Raw, targets: &Raw, lengths: (&[usize], &[usize])) -> Result<Raw> {
        check::floating(&NAME, x)?;
        same_device(NAME, x, targets)?;
        let &[steps, batch, classes] = x.dims() else {
            let expected = "Expected logarithms of probabilities (steps, batch, classes)";
            return Err(check::wrong_shape(&NAME, x, expected));
        };
        let labels = labels(targets, batch, lengths.1)?;
        self.check(&labels, lengths.0, steps, classes)?;
        let problem = Arc::new(Problem {
            labels,
            lengths: lengths.0.to_vec(),
            blank: self.blank,
            zero_infinity: self.zero_infinity,
            shape: [steps, batch, classes],
        });
        let values = problem.losses(&elements(x));
        let y = with_device(x.device(), || Tensor::from_vec(values, batch)).to_dtype(x.dtype());
        let rule = {
            let problem = problem.clone();
            Box::new(move |x: &Tensor, g: &Tensor| {
                let of_x = problem.gradients(&elements(x.raw()), &elements(g.raw()));
                let of_x = with_device(x.device(), || Tensor::from_vec(of_x, x.shape()));
                of_x.to_dtype(x.dtype())
            })
        };
        let mut losses: Raw = customized(&Tensor::from_raw_ref(x).contiguous(), &y, rule).into();
        if self.reduction == Reduction::Mean {
            let counts = lengths.1.iter().map(|count| (*count).max(1) as f64);
            let counts = with_device(x.device(), || {
                Tensor::from_vec(counts.collect::<Vec<_>>(), batch)
            });
            losses = (Tensor::from(losses) / counts.to_dtype(x.dtype())).into();
        }
        reduce(NAME, &losses, self.reduction)
    }

    fn check(
        &self,
        labels: &[Vec<usize>],
        lengths: &[usize],
        steps: usize,
        classes: usize,
    ) -> Result<()> {
        let wrong = |expected: String, found: String, advice: &str| refuse!(argument(NAME, found); expected, advice);
        if lengths.len() != labels.len() || lengths.iter().any(|length| *length > steps) {
            return wrong(
                format!("{} input lengths of at most {steps}", labels.len()),
                format!("{lengths:?}"),
                "Pass the number of steps of each sequence",
            );
        }
        if self.blank >= classes {
            return wrong(
                format!("a blank below {classes}"),
                self.blank.to_string(),
                "Set .blank(…) to a class that is not a label",
            );
        }
        let is_wrong = |label: &&usize| **label == self.blank || **label >= classes;
        match labels.iter().flatten().find(is_wrong) {
            None => Ok(()),
            Some(label) => wrong(
                format!(
                    "labels below {classes} other than the blank, {}",
                    self.blank
                ),
                label.to_string(),
                "Leave a class for the blank: labels from 1 on, or .blank(classes - 1)",
            ),
        }
    }
}

const NAME: &str = "CTCLoss";

/// Returns the labels of each sequence.
fn labels(targets: &Raw, batch: usize, lengths: &[usize]) -> Result<Vec<Vec<usize>>> {
    if targets.dtype().is_float() {
        let advice = "Convert them: targets.to_dtype(DType::I64)";
        refuse!(dtype(NAME, targets.dtype()); "labels that are integers", advice);
    }
    let total: usize = lengths.iter().sum();
    let fits = match *targets.dims() {
        [count] => count == total,
        [rows, width] => rows == batch && lengths.iter().all(|length| *length <= width),
        _ => false,
    };
    refuse!(if !fits || lengths.len() != batch;
        ("{NAME}: targets of shape {:?} do not fit a batch of {batch} with the lengths {lengths:?}", targets.dims());
        "Pass targets (batch, labels), or all labels one after the other, and the number of labels of each sequence");
    let all: Vec<i64> = Tensor::from_raw_ref(targets).to_dtype(DType::I64).to_vec();
    let width = (targets.rank() == 2).then(|| targets.dims()[1]);
    let mut start = 0;
    let rows = lengths.iter().map(|length| {
        let row = &all[start..start + length];
        start += width.unwrap_or(*length);
        // A negative label is out of range, too.
        row.iter()
            .map(|label| usize::try_from(*label).unwrap_or(usize::MAX))
            .collect()
    });
    Ok(rows.collect())
}

fn elements(x: &Raw) -> Vec<f64> {
    Tensor::from_raw_ref(x)
        .detach()
        .to_dtype(DType::F64)
        .to_vec()
}

struct Problem {
    labels: Vec<Vec<usize>>,
    lengths: Vec<usize>,
    blank: usize,
    zero_infinity: bool,
    /// The number of steps, sequences and classes.
    shape: [usize; 3],
}

impl Problem {
    /// Returns the loss of each sequence.
    fn losses(&self, x: &[f64]) -> Vec<f64> {
        let loss = |i: usize| {
            let states = self.states(i);
            let loss = -total(&self.forward(x, i, &states));
            match self.zero_infinity && loss.is_infinite() {
                true => 0.0,
                false => loss,
            }
        };
        (0..self.shape[1]).map(loss).collect()
    }

    /// Returns the gradient of all logarithms, for the gradients of the losses.
    fn gradients(&self, x: &[f64], of_losses: &[f64]) -> Vec<f64> {
        let [_, batch, classes] = self.shape;
        let mut of_x = vec![0.0; x.len()];
        for (i, g) in of_losses.iter().enumerate() {
            let states = self.states(i);
            let before = self.forward(x, i, &states);
            let likelihood = total(&before);
            if self.zero_infinity && likelihood == f64::NEG_INFINITY {
                continue;
            }
            let after = self.backward(x, i, &states);
            for t in 0..self.lengths[i] {
                let first = (t * batch + i) * classes;
                let row = &mut of_x[first..][..classes];
                for (gradient, x) in row.iter_mut().zip(&x[first..]) {
                    *gradient = g * x.exp();
                }
                for (s, class) in states.iter().enumerate() {
                    // Both have the logarithm of this step's probability.
                    let path = before[t][s] + after[t][s] - x[first + class] - likelihood;
                    row[*class] -= g * path.exp();
                }
            }
        }
        of_x
    }

    /// Returns the labels of a sequence with blanks around each.
    fn states(&self, i: usize) -> Vec<usize> {
        let mut states = vec![self.blank];
        for label in &self.labels[i] {
            states.extend([*label, self.blank]);
        }
        states
    }

    /// Returns, for each step and state, the logarithm of the likelihood of all paths that are there.
    fn forward(&self, x: &[f64], i: usize, states: &[usize]) -> Vec<Vec<f64>> {
        let steps = (0..self.lengths[i]).collect::<Vec<_>>();
        self.walk(x, i, states, &steps)
    }

    /// Returns the same of all paths from there to the end.
    fn backward(&self, x: &[f64], i: usize, states: &[usize]) -> Vec<Vec<f64>> {
        let steps = (0..self.lengths[i]).rev().collect::<Vec<_>>();
        let reversed: Vec<usize> = states.iter().rev().copied().collect();
        let mut rows = self.walk(x, i, &reversed, &steps);
        rows.reverse();
        rows.iter_mut().for_each(|row| row.reverse());
        rows
    }

    fn walk(&self, x: &[f64], i: usize, states: &[usize], steps: &[usize]) -> Vec<Vec<f64>> {
        let [_, batch, classes] = self.shape;
        let mut rows: Vec<Vec<f64>> = vec![];
        for t in steps {
            let at = |class: usize| x[(t * batch + i) * classes + class];
            let row = { states.iter().enumerate() }.map(|(s, class)| {
                let reached = match rows.last() {
                    // A path begins with the blank or with the first label.
                    None if s < 2 => 0.0,
                    None => f64::NEG_INFINITY,
                    Some(last) => {
                        let skips = s >= 2 && *class != self.blank && *class != states[s - 2];
                        let earliest = s.saturating_sub(1 + skips as usize);
                        log_sum(&last[earliest..=s])
                    }
                };
                reached + at(*class)
            });
            let row = row.collect();
            rows.push(row);
        }
        rows
    }
}

/// Returns the logarithm of the likelihood of all paths, from their rows.
fn total(rows: &[Vec<f64>]) -> f64 {
    match rows.last() {
        // A path ends with the last label or with the blank.
        Some(last) => log_sum(&last[last.len().saturating_sub(2)..]),
        None => f64::NEG_INFINITY,
    }
}

fn log_sum(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match largest.is_finite() {
        true => largest + logs.iter().map(|x| (x - largest).exp()).sum::<f64>().ln(),
        false => largest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{randn, tensor, zeros};

    /// Sums over all paths of 4 steps that spell the labels.
    #[test]
    fn it_is_the_sum_over_all_paths() {
        let x = randn((4, 1, 3)).log_softmax(-1);
        let rows: Vec<f32> = x.to_vec();
        for labels in [vec![1, 2], vec![1, 1], vec![2]] {
            let mut sum = 0.0;
            for path in 0..81usize {
                let path: Vec<usize> = (0..4).map(|t| path / 3usize.pow(t) % 3).collect();
                let mut spelled = path.clone();
                spelled.dedup();
                spelled.retain(|class| *class != 0);
                if spelled == labels {
                    let log: f32 = (0..4).map(|t| rows[t * 3 + path[t]]).sum();
                    sum += (log as f64).exp();
                }
            }
            let targets: Vec<i64> = labels.iter().map(|label| *label as i64).collect();
            let targets = Tensor::from_vec(targets, (1, labels.len()));
            let loss = CTCLoss::new().reduction(Reduction::Sum);
            let loss = loss.forward(&x, &targets, &[4], &[labels.len()]).item();
            assert!((loss + sum.ln()).abs() < 1e-5, "{labels:?}: {loss}");
        }
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let (x, loss) = (zeros((4, 2, 3)), CTCLoss::new());
        let message = |targets: Tensor, steps: &[usize], labels: &[usize]| {
            let loss = attempt(|| loss.forward(&x, &targets, steps, labels));
            loss.unwrap_err().to_string()
        };
        let text = message(tensor(&[1, 2, 1]), &[4, 4], &[1, 1]);
        assert!(text.contains("targets of shape [3] do not fit"), "{text}");
        let text = message(tensor(&[1, 2]), &[4, 5], &[1, 1]);
        assert!(
            text.contains("expected 2 input lengths of at most 4, found [4, 5]"),
            "{text}"
        );
        let text = message(tensor(&[1, 0]), &[4, 4], &[1, 1]);
        assert!(text.contains("other than the blank, 0, found 0"), "{text}");
        let text = message(zeros((2, 1)), &[4, 4], &[1, 1]);
        assert!(text.contains("found f32"), "{text}");
    }
}
