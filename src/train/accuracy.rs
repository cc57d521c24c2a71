//! The accuracy of a classifier.

use crate::error;
use crate::nn::same_device;
use candle_core::{DType, Result, Tensor};

/// Returns the share of examples whose largest logit is that of the right class, on the device of
/// the logits.
///
/// # Shapes
/// Logits `(batch, classes)`, classes `(batch,)`, or logits `(batch, classes, …)` and classes
/// `(batch, …)`, one for each position; the result is a scalar of `f32`.
///
/// # Errors
/// If the shapes do not fit, the classes are floating-point numbers, or the batch is empty.
///
/// ```
/// use taper::prelude::*;
///
/// let scores = tensor(&[[0.1, 0.9], [0.8, 0.2]], &cpu())?; // (2, 2)
/// assert_eq!(accuracy(&scores, &tensor(&[1, 1], &cpu())?)?.to_scalar::<f32>()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
pub fn accuracy(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    if y_hat.dims().first() == Some(&0) {
        return Err(error::argument(
            "accuracy",
            "at least one example",
            "an empty batch",
            "Skip empty batches",
        ));
    }
    let right = right(y_hat, y)?;
    right / y.elem_count() as f64
}

/// Counts the right predictions; the count stays on the device.
fn right(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    check_classes(y_hat, y)?;
    same_device("accuracy", y_hat, y)?;
    if y.elem_count() == 0 {
        return Tensor::zeros((), DType::F32, y_hat.device());
    }
    let chosen = y_hat.detach().argmax(1)?; // (batch, …)
    // Compared as 64 bits: cut to 32, a class that is far too large may look right.
    let equal = chosen.to_dtype(DType::I64)?.eq(&y.to_dtype(DType::I64)?)?;
    equal.to_dtype(DType::F32)?.sum_all()
}

/// Refuses anything but logits `(batch, classes, …)` and class indices `(batch, …)`.
fn check_classes(y_hat: &Tensor, y: &Tensor) -> Result<()> {
    let &[batch, _, ref positions @ ..] = y_hat.dims() else {
        return Err(error::shape(
            "accuracy",
            "logits (batch, classes)",
            y_hat.dims(),
            "Pass one row of logits for each example",
        ));
    };
    let expected = [&[batch][..], positions].concat();
    if y.dims() != expected {
        return Err(error::shape(
            "accuracy",
            match positions {
                [] => format!("one class for each of {batch} examples"),
                _ => format!("one class for each position of the logits, {expected:?}"),
            },
            y.dims(),
            format_args!("Pass classes of shape {}", shape_text(&expected)),
        ));
    }
    if y.dtype().is_float() {
        return Err(error::dtype(
            "accuracy",
            "class indices",
            y.dtype(),
            "Convert them: y.to_dtype(DType::I64)?",
        ));
    }
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
/// let labels = split_and_load(&tensor(&[0, 1, 1], &cpu())?, &devices)?; // (2,) and (1,)
/// let outputs = split_and_load(&tensor(&[[2.0, 1.0], [2.0, 1.0], [1.0, 2.0]], &cpu())?, &devices)?;
/// let mut accuracy = Accuracy::new();
/// accuracy.update(&labels, &outputs)?;
/// assert_eq!(accuracy.get()?, 2.0 / 3.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Accuracy {
    /// One count for each position in the lists.
    right: Vec<Tensor>,
    total: usize,
}

impl Accuracy {
    /// Creates a metric without predictions.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Accuracy::new().get().is_err());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the predictions of one batch: for each device a tensor of classes, `(batch,)`, and a tensor
    /// of logits, `(batch, classes)`.
    ///
    /// # Errors
    /// If the lists are not equally long, or the shapes do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.update(&[tensor(&[1], &cpu())?], &[tensor(&[[0.0, 1.0]], &cpu())?])?;
    /// assert_eq!(accuracy.get()?, 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn update(&mut self, labels: &[Tensor], outputs: &[Tensor]) -> Result<()> {
        if labels.len() != outputs.len() {
            return Err(error::argument(
                "accuracy",
                format_args!("as many tensors of outputs as of labels, {}", labels.len()),
                outputs.len(),
                "Pass one tensor of labels for each tensor of outputs",
            ));
        }
        for (i, (y, y_hat)) in labels.iter().zip(outputs).enumerate() {
            let count = right(y_hat, y)?;
            match self
                .right
                .get_mut(i)
                .filter(|sum| sum.device().same_device(count.device()))
            {
                Some(sum) => *sum = (&*sum + count)?,
                None => self.right.insert(i.min(self.right.len()), count),
            }
            self.total += y.elem_count();
        }
        Ok(())
    }

    /// Returns the share of right predictions so far, from 0 to 1.
    ///
    /// # Errors
    /// If no predictions were counted.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.update(&[tensor(&[0], &cpu())?], &[tensor(&[[0.0, 1.0]], &cpu())?])?;
    /// assert_eq!(accuracy.get()?, 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get(&self) -> Result<f64> {
        if self.total == 0 {
            return Err(error::state(
                "accuracy",
                "no predictions were counted yet",
                "Call update(&labels, &outputs)? first",
            ));
        }
        let counts = self.right.iter().map(|sum| sum.to_scalar::<f32>());
        let counts: Vec<f32> = counts.collect::<Result<_>>()?;
        Ok(counts.iter().map(|&count| f64::from(count)).sum::<f64>() / self.total as f64)
    }

    /// Resets the metric to the state of [`new`](Self::new).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut accuracy = Accuracy::new();
    /// accuracy.update(&[tensor(&[0], &cpu())?], &[tensor(&[[0.0, 1.0]], &cpu())?])?;
    /// accuracy.reset(); // before the next epoch
    /// assert!(accuracy.get().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{tensor, zeros};
    use candle_core::Device;

    #[test]
    fn impossible_classes_are_not_right() {
        let scores = tensor(&[[1.0, 0.0]], &Device::Cpu).unwrap();
        let share = |class: i64| {
            let share = accuracy(&scores, &tensor(&[class], &Device::Cpu).unwrap());
            share.unwrap().to_scalar::<f32>().unwrap()
        };
        assert_eq!([share(0), share(1 << 32), share(-1)], [1.0, 0.0, 0.0]);
        let message = accuracy(&scores, &zeros(1, &Device::Cpu).unwrap()).unwrap_err();
        assert!(
            message
                .to_string()
                .contains("expected class indices, found f32")
        );
        let none = tensor(Vec::<i64>::new(), &Device::Cpu).unwrap();
        let message = accuracy(&zeros((0, 2), &Device::Cpu).unwrap(), &none).unwrap_err();
        assert!(
            message.to_string().contains("found an empty batch"),
            "{message}"
        );
    }
}
