//! Cross-entropy of logits: softmax, logarithm and mean in one kernel.

use super::targets::same_device;
use crate::error::explain;
use crate::ops::engine::autograd::{Backward, has_kernel, record};
use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::{CpuView, dispatch_dtype};
use crate::ops::lookup::{check_indices, or_nan};
use crate::ops::softmax::{log_softmax, softmax_in_place};
use candle_core::{DType, Result, Tensor};

/// Returns the mean cross-entropy of logits: of `-log softmax(y_hat)[y]`. From d2l's chapter *Softmax
/// Regression*.
///
/// # Shapes
/// Logits `(batch, classes)`, class indices `(batch,)`; the loss is a scalar `()`.
///
/// # Errors
/// If the shapes do not fit, the devices differ, or a class index is out of range. On a GPU reading the
/// indices would make every step wait: there the loss is NaN if one is out of range.
///
/// ```
/// use taper::prelude::*;
///
/// let logits = tensor(&[[0.0, 0.0], [9.0, -9.0]], &cpu())?; // (2, 2)
/// let loss = cross_entropy(&logits, &tensor(&[1, 0], &cpu())?)?;
/// assert!((loss.to_scalar::<f32>()? - 0.5 * 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
pub fn cross_entropy(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (dims, labels) = (y_hat.dims(), y.dims());
    let [batch, classes @ 1..=usize::MAX] = *dims else {
        return Err(explain(
            format!("cross_entropy cannot take logits of shape {dims:?}"),
            "Expected a row of logits for each example: (batch, classes)",
        ));
    };
    if labels != [batch] {
        return Err(explain(
            format!(
                "cross_entropy: logits of shape {dims:?} do not fit classes of shape {labels:?}"
            ),
            format!("Expected a class index for each example: ({batch},)"),
        ));
    }
    if y.dtype().is_float() {
        return Err(explain(
            format!(
                "cross_entropy takes class indices, but the targets are {}",
                y.dtype().as_str()
            ),
            "Convert them: y.to_dtype(DType::I64)?",
        ));
    }
    same_device("cross_entropy", y_hat, y)?;
    let remedy = "give the model more outputs";
    check_indices(&"cross_entropy", "class", y, classes, remedy)?;
    match has_kernel(&[y_hat]) && y_hat.elem_count() > 0 {
        true => {
            let classes = y.to_dtype(DType::U32)?.to_vec1::<u32>()?;
            dispatch_dtype!(y_hat, forward(y_hat, classes))
        }
        false => cross_entropy_with_candle(y_hat, y),
    }
}

fn cross_entropy_with_candle(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    let classes = y_hat.dim(1)?;
    let target = |y: &Tensor| {
        let y = y.unsqueeze(1)?.contiguous()?; // (batch, 1)
        log_softmax(y_hat)?.gather(&y, 1)?.squeeze(1) // (batch,)
    };
    let target = match y.device().is_cpu() {
        true => target(&y.to_dtype(DType::U32)?)?,
        false => or_nan(y, classes, target)?,
    };
    target.mean_all()?.neg()
}

fn forward<T: Element>(logits: &Tensor, classes: Vec<u32>) -> Result<Tensor> {
    let contiguous = logits.contiguous()?;
    let count = logits.dim(1)?;
    let mut probabilities = CpuView::of(&contiguous)?.as_slice::<T>()?.to_vec();
    let mut losses = Vec::with_capacity(classes.len());
    for (row, class) in probabilities.chunks_exact_mut(count).zip(&classes) {
        losses.push(loss_of_row(row, *class as usize));
    }
    let loss = losses.iter().copied().sum::<T>() / T::of(classes.len() as f64);
    record(&[logits], vec![loss], (), || Back {
        probabilities,
        classes,
    })
}

multiversion! {
    /// Replaces logits by probabilities; returns the loss.
    fn loss_of_row<T: Element>(row: &mut [T], class: usize) -> T {
        let target = row[class];
        let (largest, sum) = softmax_in_place(row);
        sum.ln() - (target - largest)
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
        let mut of_logits: Vec<T> = self.probabilities.iter().map(|p| *p * scale).collect();
        for (row, class) in of_logits.chunks_exact_mut(count).zip(&self.classes) {
            row[*class as usize] += -scale;
        }
        let of_logits = Tensor::from_vec(of_logits, (batch, count), gradient.device())?;
        Ok([Some(of_logits), None, None])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Operation, compare};
    use crate::tensor::{randn, tensor, zeros};
    use candle_core::{Device, Var};

    const CPU: Device = Device::Cpu;

    #[test]
    fn wrong_inputs_are_explained() {
        let logits = zeros((2, 3), &CPU).unwrap();
        let message = |y: Tensor| cross_entropy(&logits, &y).unwrap_err().to_string();
        assert_eq!(
            message(tensor(&[0, 3], &CPU).unwrap()),
            "cross_entropy: class 3 is out of range: there are 3, from 0 to 2\n\
             Use class indices from 0 to 2, or give the model more outputs"
        );
        assert!(message(tensor(&[-1, 0], &CPU).unwrap()).contains("class -1 is out of range"));
        assert!(
            message(zeros(2, &CPU).unwrap()).contains("class indices, but the targets are f32")
        );
        assert!(message(tensor(&[0], &CPU).unwrap()).ends_with("for each example: (2,)"));
        let flat = cross_entropy(&zeros(3, &CPU).unwrap(), &tensor(&[0], &CPU).unwrap());
        assert!(flat.unwrap_err().to_string().contains("(batch, classes)"));
        let none = cross_entropy(&zeros((1, 0), &CPU).unwrap(), &tensor(&[0], &CPU).unwrap());
        assert!(none.unwrap_err().to_string().contains("shape [1, 0]\n"));
    }

    /// What a GPU computes, where indices are not checked.
    #[test]
    fn without_a_check_a_class_out_of_range_gives_nan() {
        let logits = Var::from_tensor(&randn((3, 4), &CPU).unwrap()).unwrap();
        let loss = |classes: &[i64]| {
            let target = |y: &Tensor| {
                log_softmax(&logits)?
                    .gather(&y.unsqueeze(1)?, 1)?
                    .squeeze(1)
            };
            or_nan(&tensor(classes, &CPU)?, 4, target)?
                .mean_all()?
                .neg()
        };
        let good = loss(&[0, 3, 2]).unwrap();
        let expected = cross_entropy(&logits, &tensor(&[0, 3, 2], &CPU).unwrap()).unwrap();
        let number = |loss: &Tensor| loss.to_scalar::<f32>().unwrap();
        assert!((number(&good) - number(&expected)).abs() < 1e-6);
        let gradient = |loss: &Tensor| {
            let gradients = loss.backward().unwrap();
            let gradient = gradients.get(&logits).unwrap().flatten_all();
            gradient.unwrap().to_vec1::<f32>().unwrap()
        };
        for (a, b) in gradient(&good).into_iter().zip(gradient(&expected)) {
            assert!((a - b).abs() < 1e-6);
        }
        for wrong in [
            [0, 4, 2],
            [-1, 0, 0],
            [i64::MAX, 0, 0],
            [u32::MAX.into(), 0, 0],
        ] {
            assert!(number(&loss(&wrong).unwrap()).is_nan(), "{wrong:?}");
        }
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        type Loss = fn(&Tensor, &Tensor) -> Result<Tensor>;
        compare("cross_entropy", 40, |case| {
            let (batch, classes) = (case.between(1, 70), case.between(1, 40));
            let targets: Vec<i64> = (0..batch)
                .map(|_| case.between(0, classes - 1) as i64)
                .collect();
            let targets = Tensor::from_vec(targets, batch, &CPU).unwrap();
            let logits = randn((batch, classes), &CPU).and_then(|x| x * 5.0);
            let inputs = vec![case.input(logits)];
            let of = |loss: Loss| -> Operation {
                let targets = targets.clone();
                Box::new(move |x| loss(&x[0], &targets))
            };
            Some((inputs, of(cross_entropy), of(cross_entropy_with_candle)))
        });
    }
}
