//! The accuracy of a classifier.

use crate::erased::outlined;
use crate::error::{OrRaise, Result, raise, refuse};
use crate::nn::same_device;
use crate::tensor::{Tensor, with_device, zeros};
use candle_core::DType;

/// Returns the share of examples whose largest logit is that of the right class, on the device of
/// the logits.
///
/// # Shapes
/// Logits `(batch, classes)`, classes `(batch,)`, or logits `(batch, classes, …)` and classes
/// `(batch, …)`, one for each position; the result is a scalar of `f32`. Targets may also be probabilities with the shape of
/// the logits, as `MixUp` makes them; the most likely class is then the right one.
///
/// # Panics
/// If the shapes do not fit, class indices are floating-point numbers, or the batch is empty.
///
/// ```
/// use taper::prelude::*;
///
/// let scores = tensor(&[[0.1, 0.9], [0.8, 0.2]]); // (2, 2)
/// assert_eq!(accuracy(&scores, &tensor(&[1, 1])).item(), 0.5);
/// ```
#[track_caller]
pub fn accuracy(y_hat: &Tensor, y: &Tensor) -> Tensor {
    share(y_hat, y).or_raise()
}

fn share(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    match y_hat.dims().first() {
        Some(0) => refuse!(argument("accuracy", "an empty batch");
            "at least one example", "Skip empty batches"),
        _ => {
            let (right, count) = right(y_hat, y)?;
            Ok(right / count as f64)
        }
    }
}

/// Counts the right predictions, and all; the first count stays on the device.
fn right(y_hat: &Tensor, y: &Tensor) -> Result<(Tensor, usize)> {
    let is_probability = y.dtype().is_float() && y.rank() > 1 && y.dims() == y_hat.dims();
    if is_probability && y.elem_count() > 0 {
        return right(y_hat, &y.argmax(1));
    }
    check_classes(y_hat, y)?;
    same_device("accuracy", y_hat.raw(), y.raw())?;
    if y.elem_count() == 0 {
        return Ok((with_device(y_hat.device(), || zeros(())), 0));
    }
    let chosen = y_hat.detach().argmax(1); // (batch, …)
    // Compared as 64 bits: cut to 32, a class that is far too large may look right.
    let equal = chosen.to_dtype(DType::I64).eq(y.to_dtype(DType::I64));
    Ok((equal.to_dtype(DType::F32).sum_all(), y.elem_count()))
}

/// Refuses anything but logits `(batch, classes, …)` and class indices `(batch, …)`.
fn check_classes(y_hat: &Tensor, y: &Tensor) -> Result<()> {
    let &[batch, _, ref positions @ ..] = y_hat.dims() else {
        refuse!(shape("accuracy", y_hat.dims());
            "logits (batch, classes)", "Pass one row of logits for each example");
    };
    let expected = [&[batch][..], positions].concat();
    let wanted = match positions {
        [] => format!("one class for each of {batch} examples"),
        _ => format!("one class for each position of the logits, {expected:?}"),
    };
    refuse!(if y.dims() != expected; shape("accuracy", y.dims());
        wanted, ("Pass classes of shape {}", shape_text(&expected)));
    refuse!(if y.dtype().is_float(); dtype("accuracy", y.dtype());
        "class indices", "Convert them: y.to_dtype(DType::I64)");
    Ok(())
}

/// Writes a shape as a tuple.
fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        shape => format!("{shape:?}").replace('[', "(").replace(']', ")"),
    }
}

/// Counts right predictions over many batches, and over the parts of a batch on several devices, as
/// MXNet's metric does.
///
/// The counts stay on their devices until [`get`](Accuracy::get).
///
/// ```
/// use taper::prelude::*;
///
/// let devices = [cpu(), cpu()];
/// let labels = split_and_load(&tensor(&[0, 1, 1]), &devices)?; // (2,) and (1,)
/// let outputs = split_and_load(&tensor(&[[2.0, 1.0], [2.0, 1.0], [1.0, 2.0]]), &devices)?;
/// let mut accuracy = Accuracy::new();
/// accuracy.update(&outputs, &labels);
/// assert_eq!(accuracy.get(), 2.0 / 3.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct Accuracy {
    /// One count for each position in the lists.
    right: Vec<Tensor>,
    total: usize,
}

outlined!(Clone Debug for Accuracy { right, total });

impl Accuracy {
    /// Creates a metric without predictions.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let accuracy = Accuracy::new();
    /// assert!(attempt(|| accuracy.get()).is_err());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the predictions of one batch: for each device a tensor of logits, `(batch, classes)`, and a
    /// tensor of classes, `(batch,)`, in the order of [`accuracy`].
    ///
    /// # Panics
    /// If the lists are not equally long, or the shapes do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.update(&[tensor(&[[0.0, 1.0]])], &[tensor(&[1])]);
    /// assert_eq!(accuracy.get(), 1.0);
    /// ```
    #[track_caller]
    pub fn update(&mut self, outputs: &[Tensor], labels: &[Tensor]) {
        self.add(outputs, labels).or_raise();
    }

    fn add(&mut self, outputs: &[Tensor], labels: &[Tensor]) -> Result<()> {
        refuse!(if labels.len() != outputs.len(); argument("accuracy", outputs.len());
            ("as many tensors of outputs as of labels, {}", labels.len()),
            "Pass one tensor of labels for each tensor of outputs");
        for (i, (y, y_hat)) in labels.iter().zip(outputs).enumerate() {
            let (count, total) = right(y_hat, y)?;
            match self
                .right
                .get_mut(i)
                .filter(|sum| sum.device().same_device(count.device()))
            {
                Some(sum) => *sum += count,
                None => self.right.insert(i.min(self.right.len()), count),
            }
            self.total += total;
        }
        Ok(())
    }

    /// Returns the share of right predictions so far, from 0 to 1.
    ///
    /// # Panics
    /// If no predictions were counted.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.update(&[tensor(&[[0.0, 1.0]])], &[tensor(&[0])]);
    /// assert_eq!(accuracy.get(), 0.0);
    /// ```
    #[track_caller]
    pub fn get(&self) -> f64 {
        raise!(if self.total == 0; state("accuracy");
            "no predictions were counted yet", "Call update(&outputs, &labels) first");
        self.right.iter().map(Tensor::item).sum::<f64>() / self.total as f64
    }

    /// Resets the metric to the state of [`new`](Self::new).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.update(&[tensor(&[[0.0, 1.0]])], &[tensor(&[0])]);
    /// accuracy.reset(); // before the next epoch
    /// assert!(attempt(|| accuracy.get()).is_err());
    /// ```
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{tensor, zeros};

    #[test]
    fn impossible_classes_are_not_right() {
        let scores = tensor(&[[1.0, 0.0]]);
        let share = |class: i64| accuracy(&scores, &tensor(&[class])).item();
        assert_eq!([share(0), share(1 << 32), share(-1)], [1.0, 0.0, 0.0]);
        let message = |scores: &Tensor, classes: &Tensor| {
            let error = attempt(|| accuracy(scores, classes)).unwrap_err();
            error.to_string()
        };
        let floats = message(&scores, &zeros(1));
        assert!(
            floats.contains("expected class indices, found f32"),
            "{floats}"
        );
        let none = tensor(Vec::<i64>::new());
        let empty = message(&zeros((0, 2)), &none);
        assert!(empty.contains("found an empty batch"), "{empty}");
    }
}
