//! Losses for predictions of continuous values.

use super::targets::same_shape;
use crate::error::explain;
use candle_core::{Result, Tensor};

/// Returns the mean of the squared differences. From d2l's chapter *Linear Regression*, without its ½.
///
/// # Shapes
/// Any, the same for both; the loss is a scalar `()`.
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

/// Returns the mean of the absolute differences.
///
/// # Shapes
/// Any, the same for both; the loss is a scalar `()`.
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

/// Returns the mean of the Huber loss: half the squared difference where the difference is below `delta`,
/// and linear beyond, so that outliers count less than with [`mse_loss`]. From Huber, 1964.
///
/// # Shapes
/// Any, the same for both; the loss is a scalar `()`.
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
            "Use a positive value; 1.0 is common",
        ));
    }
    let difference = difference("huber_loss", y_hat, y)?;
    let distance = absolute(&difference)?;
    let square = (difference.sqr()? * 0.5)?;
    let line = ((&distance - 0.5 * delta)? * delta)?;
    distance.lt(delta)?.where_cond(&square, &line)?.mean_all()
}

/// Returns `|x|`, with the gradient 0 at 0, where Candle's own has 1.
fn absolute(x: &Tensor) -> Result<Tensor> {
    x * x.detach().sign()?
}

fn difference(loss: &str, y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    same_shape(loss, y_hat, y)?;
    y_hat - y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::zeros;
    use candle_core::Device;

    #[test]
    fn a_delta_of_zero_is_an_error() {
        let x = zeros(2, &Device::Cpu).unwrap();
        assert!(huber_loss(&x, &x, 0.0).is_err());
    }
}
