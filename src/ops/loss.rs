//! How far predictions are from their targets. Each loss is a mean over the batch: one number.

use crate::device::DeviceExt;
use crate::error::explain;
use crate::nn::layers::embedding::{check_numbers, or_nan};
use crate::ops;
use candle_core::{D, DType, Result, Tensor};

/// The mean of the squared differences. From d2l's chapter *Linear Regression*, without its ½.
///
/// # Shapes
/// Any, the same for both; the loss has none: `()`.
///
/// # Errors
/// If the shapes, types or devices differ.
///
/// ```
/// use taper::prelude::*;
///
/// let loss = mse_loss(&tensor(&[1.0, 2.0], &cpu())?, &tensor(&[1.0, 4.0], &cpu())?)?;
/// assert_eq!(loss.to_scalar::<f32>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
pub fn mse_loss(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    difference("mse_loss", y_hat, y)?.sqr()?.mean_all()
}

/// The mean of the absolute differences.
///
/// # Shapes
/// Any, the same for both; the loss has none: `()`.
///
/// # Errors
/// If the shapes, types or devices differ.
///
/// ```
/// use taper::prelude::*;
///
/// let loss = l1_loss(&tensor(&[1.0, 2.0], &cpu())?, &tensor(&[1.0, 4.0], &cpu())?)?;
/// assert_eq!(loss.to_scalar::<f32>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
pub fn l1_loss(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    absolute(&difference("l1_loss", y_hat, y)?)?.mean_all()
}

/// Half the squared difference where it is below `delta`, and a straight line beyond: outliers pull
/// less than with [`mse_loss`]. From Huber, 1964.
///
/// # Shapes
/// Any, the same for both; the loss has none: `()`.
///
/// # Errors
/// If the shapes, types or devices differ, or `delta` is not positive.
///
/// ```
/// use taper::prelude::*;
///
/// let loss = huber_loss(&tensor(&[0.0, 0.0], &cpu())?, &tensor(&[0.5, 3.0], &cpu())?, 1.0)?;
/// assert_eq!(loss.to_scalar::<f32>()?, (0.125 + 2.5) / 2.0);
/// # Ok::<(), Error>(())
/// ```
pub fn huber_loss(y_hat: &Tensor, y: &Tensor, delta: f64) -> Result<Tensor> {
    if delta.is_nan() || delta <= 0.0 {
        return Err(explain(
            format!("huber_loss: delta is {delta}"),
            "Give a positive number; 1.0 is usual",
        ));
    }
    let difference = difference("huber_loss", y_hat, y)?;
    let distance = absolute(&difference)?;
    let square = (difference.sqr()? * 0.5)?;
    let line = ((&distance - 0.5 * delta)? * delta)?;
    distance.lt(delta)?.where_cond(&square, &line)?.mean_all()
}

/// How unlikely the right classes are, from scores (logits) that no softmax has seen yet: the mean
/// of `-log softmax(y_hat)[y]`. From d2l's chapter *Softmax Regression*.
///
/// # Shapes
/// Scores `(batch, classes)`, class numbers `(batch,)`; the loss has none: `()`.
///
/// # Errors
/// If the shapes do not fit, the devices differ, or a class number is out of range. On a GPU a look at
/// the numbers would make every step wait: there the loss is NaN if one is out of range.
///
/// ```
/// use taper::prelude::*;
///
/// let scores = tensor(&[[0.0, 0.0], [9.0, -9.0]], &cpu())?; // (2, 2)
/// let loss = cross_entropy(&scores, &tensor(&[1, 0], &cpu())?)?;
/// assert!((loss.to_scalar::<f32>()? - 0.5 * 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
pub fn cross_entropy(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (dims, labels) = (y_hat.dims(), y.dims());
    let [batch, classes @ 1..=usize::MAX] = *dims else {
        return Err(explain(
            format!("cross_entropy cannot take scores of shape {dims:?}"),
            "Give it one row of scores for each example: (batch, classes)",
        ));
    };
    if labels != [batch] {
        return Err(explain(
            format!(
                "cross_entropy: scores of shape {dims:?} do not fit classes of shape {labels:?}"
            ),
            format!("Give it one class number for each example: ({batch},)"),
        ));
    }
    if y.dtype().is_float() {
        return Err(explain(
            format!(
                "cross_entropy takes class numbers, but these are {}",
                y.dtype().as_str()
            ),
            "Convert them: y.to_dtype(DType::I64)?",
        ));
    }
    same_device("cross_entropy", y_hat, y)?;
    check_numbers(y, classes, "class", "cross_entropy")?;
    match ops::cross_entropy(y_hat, y)? {
        Some(loss) => Ok(loss),
        None => cross_entropy_with_candle(y_hat, y),
    }
}

fn cross_entropy_with_candle(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    let classes = y_hat.dim(1)?;
    let right = |y: &Tensor| {
        let y = y.unsqueeze(1)?.contiguous()?; // (batch, 1)
        log_softmax(y_hat)?.gather(&y, 1)?.squeeze(1) // (batch,)
    };
    let right = match y.device().is_cpu() {
        true => right(&y.to_dtype(DType::U32)?)?,
        false => or_nan(y, classes, right)?,
    };
    right.mean_all()?.neg()
}

/// [`cross_entropy`] for two classes, from one score each: targets are 1 or 0, or a probability.
///
/// # Shapes
/// Any, the same for both; the loss has none: `()`.
///
/// # Errors
/// If the shapes, types or devices differ.
///
/// ```
/// use taper::prelude::*;
///
/// let loss = bce_with_logits(&tensor(&[0.0], &cpu())?, &tensor(&[1.0], &cpu())?)?;
/// assert!((loss.to_scalar::<f32>()? - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
pub fn bce_with_logits(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    same_shape("bce_with_logits", y_hat, y)?;
    let x = y_hat.detach();
    let positive = x.ge(0.0)?.to_dtype(x.dtype())?;
    let tail = x.abs()?.neg()?.exp()?; // no large score overflows it
    // max(x, 0) - x y + log(1 + exp(-|x|)). The first two are one product: their difference loses
    // digits where the score is large.
    let off = (&positive - y)?;
    let loss = ((&x * &off)? + log_one_plus(&tail)?)?;
    // Its slope, sigmoid(x) - y, is given here: that of the parts is wrong at 0, where each has a
    // kink, and loses digits where the score is right and large.
    let side = ((positive * 2.0)? - 1.0)?;
    let slope = (off.detach() - (side * (&tail / (&tail + 1.0)?)?)?)?;
    (loss + ((y_hat - x)? * slope)?)?.mean_all()
}

/// `log(1 + x)` for `x` from 0 to 1, as exact where `1 + x` has lost the digits of `x`. From
/// Goldberg, 1991.
fn log_one_plus(x: &Tensor) -> Result<Tensor> {
    let sum = (x + 1.0)?;
    let kept = (&sum - 1.0)?; // what the sum has of x
    kept.eq(0.0)?.where_cond(x, &((sum.log()? * x)? / &kept)?)
}

/// The logarithm of softmax over the last dimension.
fn log_softmax(x: &Tensor) -> Result<Tensor> {
    let x = x.broadcast_sub(&x.detach().max_keepdim(D::Minus1)?)?;
    x.broadcast_sub(&x.exp()?.sum_keepdim(D::Minus1)?.log()?)
}

/// `|x|` with the gradient 0 at 0, where Candle's has 1.
fn absolute(x: &Tensor) -> Result<Tensor> {
    x * x.detach().sign()?
}

fn difference(loss: &str, y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    same_shape(loss, y_hat, y)?;
    y_hat - y
}

fn same_shape(loss: &str, y_hat: &Tensor, y: &Tensor) -> Result<()> {
    if y_hat.dims() != y.dims() {
        return Err(explain(
            format!(
                "{loss}: predictions of shape {:?} do not fit targets of shape {:?}",
                y_hat.dims(),
                y.dims()
            ),
            format!("Bring them to one shape: y.reshape({:?})?", y_hat.dims()),
        ));
    }
    if y_hat.dtype() != y.dtype() {
        let (p, t) = (y_hat.dtype(), y.dtype().as_str());
        return Err(explain(
            format!(
                "{loss}: predictions are {}, but targets are {t}",
                p.as_str()
            ),
            format!("Convert the targets: y.to_dtype(DType::{p:?})?"),
        ));
    }
    same_device(loss, y_hat, y)
}

pub(crate) fn same_device(loss: &str, y_hat: &Tensor, y: &Tensor) -> Result<()> {
    match y_hat.device().same_device(y.device()) {
        true => Ok(()),
        false => Err(explain(
            format!(
                "{loss}: predictions are on {}, but targets are on {}",
                y_hat.device().label(),
                y.device().label()
            ),
            "Move the targets: y.to_device(y_hat.device())?",
        )),
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
        let scores = zeros((2, 3), &CPU).unwrap();
        let message = |y: Tensor| cross_entropy(&scores, &y).unwrap_err().to_string();
        assert_eq!(
            message(tensor(&[0, 3], &CPU).unwrap()),
            "cross_entropy: class 3 is out of range: there are 3, counted from 0\n\
             Use numbers from 0 to 2, or make room for more"
        );
        assert!(message(tensor(&[-1, 0], &CPU).unwrap()).contains("class -1 is out of range"));
        assert!(message(zeros(2, &CPU).unwrap()).contains("class numbers, but these are f32"));
        assert!(message(tensor(&[0], &CPU).unwrap()).ends_with("for each example: (2,)"));
        let flat = cross_entropy(&zeros(3, &CPU).unwrap(), &tensor(&[0], &CPU).unwrap());
        assert!(flat.unwrap_err().to_string().contains("(batch, classes)"));
        let none = cross_entropy(&zeros((1, 0), &CPU).unwrap(), &tensor(&[0], &CPU).unwrap());
        assert!(none.unwrap_err().to_string().contains("shape [1, 0]\n"));

        let (a, b) = (zeros((2, 1), &CPU).unwrap(), zeros(2, &CPU).unwrap());
        for wrong in [
            mse_loss(&a, &b),
            l1_loss(&a, &b),
            huber_loss(&a, &b, 1.0),
            bce_with_logits(&a, &b),
        ] {
            let message = wrong.unwrap_err().to_string();
            assert!(
                message.contains("[2, 1] do not fit targets of shape [2]"),
                "{message}"
            );
        }
        let whole = tensor(&[1, 2], &CPU).unwrap();
        assert!(
            mse_loss(&b, &whole)
                .unwrap_err()
                .to_string()
                .contains("targets are i64")
        );
        assert!(huber_loss(&b, &b, 0.0).is_err());
    }

    /// What a GPU computes, where nobody looks at the numbers.
    #[test]
    fn a_class_out_of_range_makes_the_loss_nan_where_it_is_not_looked_at() {
        let scores = Var::from_tensor(&randn((3, 4), &CPU).unwrap()).unwrap();
        let loss = |classes: &[i64]| {
            let right = |y: &Tensor| {
                log_softmax(&scores)?
                    .gather(&y.unsqueeze(1)?, 1)?
                    .squeeze(1)
            };
            or_nan(&tensor(classes, &CPU)?, 4, right)?.mean_all()?.neg()
        };
        let good = loss(&[0, 3, 2]).unwrap();
        let expected = cross_entropy(&scores, &tensor(&[0, 3, 2], &CPU).unwrap()).unwrap();
        let number = |loss: &Tensor| loss.to_scalar::<f32>().unwrap();
        assert!((number(&good) - number(&expected)).abs() < 1e-6);
        let gradient = |loss: &Tensor| {
            let gradients = loss.backward().unwrap();
            let gradient = gradients.get(&scores).unwrap().flatten_all();
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

    /// Against the formulas in double precision, each number by itself.
    #[test]
    fn bce_with_logits_is_exact_for_all_scores() {
        for x in [
            0.0, 0.5, 10.0, -10.0, 20.0, -20.0, 80.0, -80.0, 1e30, -1e30f64,
        ] {
            for y in [0.0, 0.25, 1.0f64] {
                let score = Var::from_tensor(&tensor(&[x], &CPU).unwrap()).unwrap();
                let loss = bce_with_logits(&score, &tensor(&[y], &CPU).unwrap()).unwrap();
                let slope = loss.backward().unwrap().get(&score).unwrap().clone();
                let got = [
                    loss.to_scalar::<f32>().unwrap(),
                    slope.to_vec1::<f32>().unwrap()[0],
                ];
                // sigmoid(x) - y, by the smaller of sigmoid(x) and 1 - sigmoid(x).
                let tail = (-x.abs()).exp();
                let rest = tail / (1.0 + tail);
                let want = match x < 0.0 {
                    true => [-x * y + tail.ln_1p(), rest - y],
                    false => [x * (1.0 - y) + tail.ln_1p(), 1.0 - y - rest],
                };
                for (got, want) in got.into_iter().zip(want) {
                    let off = (got as f64 - want).abs();
                    assert!(off <= 1e-5 * want.abs(), "{got} is not {want} at {x}, {y}");
                }
            }
        }
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        type Loss = fn(&Tensor, &Tensor) -> Result<Tensor>;
        compare("cross_entropy", 40, |case| {
            let (batch, classes) = (case.between(1, 70), case.between(1, 40));
            let numbers: Vec<i64> = (0..batch)
                .map(|_| case.between(0, classes - 1) as i64)
                .collect();
            let numbers = Tensor::from_vec(numbers, batch, &CPU).unwrap();
            let scores = randn((batch, classes), &CPU).and_then(|x| x * 5.0);
            let inputs = vec![case.input(scores)];
            let of = |loss: Loss| -> Operation {
                let numbers = numbers.clone();
                Box::new(move |x| loss(&x[0], &numbers))
            };
            Some((inputs, of(cross_entropy), of(cross_entropy_with_candle)))
        });
    }
}
