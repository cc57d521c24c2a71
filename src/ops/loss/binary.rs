//! Binary cross-entropy.

use super::targets::same_shape;
use candle_core::{Result, Tensor};

/// Returns the mean binary cross-entropy of logits: [`cross_entropy`](crate::nn::cross_entropy) for two
/// classes, with one logit for each example. Targets are 1 or 0, or a probability.
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
/// let loss = bce_with_logits(&tensor(&[0.0], &cpu())?, &tensor(&[1.0], &cpu())?)?;
/// assert!((loss.to_scalar::<f32>()? - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
pub fn bce_with_logits(y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
    same_shape("bce_with_logits", y_hat, y)?;
    let x = y_hat.detach();
    let positive = x.ge(0.0)?.to_dtype(x.dtype())?;
    let tail = x.abs()?.neg()?.exp()?; // does not overflow for large logits
    // max(x, 0) - x y + log(1 + exp(-|x|)). The first two terms are computed as one product: their
    // difference loses digits for large logits.
    let off = (&positive - y)?;
    let loss = ((&x * &off)? + log1p(&tail)?)?;
    // The gradient, sigmoid(x) - y, is computed here: the gradients of the terms are wrong at 0, where
    // they are not differentiable, and lose digits for large logits.
    let side = ((positive * 2.0)? - 1.0)?;
    let gradient = (off.detach() - (side * (&tail / (&tail + 1.0)?)?)?)?;
    (loss + ((y_hat - x)? * gradient)?)?.mean_all()
}

/// Returns `log(1 + x)` for `x` from 0 to 1, exact also where `1 + x` rounds to 1. From Goldberg, 1991.
fn log1p(x: &Tensor) -> Result<Tensor> {
    let sum = (x + 1.0)?;
    let rounded = (&sum - 1.0)?; // x as rounded in the sum
    rounded
        .eq(0.0)?
        .where_cond(x, &((sum.log()? * x)? / &rounded)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::tensor;
    use candle_core::{Device, Var};

    const CPU: Device = Device::Cpu;

    /// Against the formulas in double precision, one logit at a time.
    #[test]
    fn bce_with_logits_is_exact_for_all_logits() {
        for x in [
            0.0, 0.5, 10.0, -10.0, 20.0, -20.0, 80.0, -80.0, 1e30, -1e30f64,
        ] {
            for y in [0.0, 0.25, 1.0f64] {
                let logit = Var::from_tensor(&tensor(&[x], &CPU).unwrap()).unwrap();
                let loss = bce_with_logits(&logit, &tensor(&[y], &CPU).unwrap()).unwrap();
                let gradient = loss.backward().unwrap().get(&logit).unwrap().clone();
                let got = [
                    loss.to_scalar::<f32>().unwrap(),
                    gradient.to_vec1::<f32>().unwrap()[0],
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
}
