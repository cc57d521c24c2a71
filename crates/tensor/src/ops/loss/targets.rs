//! Checks that targets fit the predictions.

use crate::device::DeviceExt;
use crate::error::refuse;
use crate::ops::all_finite;
use crate::tensor::{Raw, Tensor, moved};
use candle_core::Result;

/// Checks that predictions and targets have the same shape, type and device.
#[doc(hidden)]
pub fn same_shape(loss: &str, y_hat: &Raw, y: &Raw) -> Result<()> {
    refuse!(if y_hat.dims() != y.dims();
        ("{loss}: predictions of shape {:?} do not fit targets of shape {:?}", y_hat.dims(), y.dims());
        ("Reshape the targets: y.reshape({:?})", y_hat.dims()));
    if y_hat.dtype() != y.dtype() {
        let (p, t) = (y_hat.dtype(), y.dtype().as_str());
        refuse!(
            ("{loss}: predictions are {}, but targets are {t}", p.as_str());
            "Convert the targets: y.to_dtype(DType::{p:?})");
    }
    same_device(loss, y_hat, y)
}

/// Checks that predictions and targets are on the same device.
#[doc(hidden)]
pub fn same_device(loss: &str, y_hat: &Raw, y: &Raw) -> Result<()> {
    refuse!(if !y_hat.device().same_device(y.device());
        ("{loss}: predictions are on {}, but targets are on {}", y_hat.device().label(), y.device().label());
        "Move the targets: y.to_device(y_hat.device())");
    Ok(())
}

/// Returns a weight on the device of the targets, in their type, if it can be broadcast to them.
pub(super) fn fitting(loss: &str, name: &str, weight: &Raw, y: &Raw) -> Result<Raw> {
    if weight.broadcast_as(y.shape()).is_err() {
        let (found, expected) = (weight.dims(), y.dims());
        refuse!(
            "{loss}: a {name} of shape {found:?} does not fit targets of shape {expected:?}";
            "Pass one value for each class: a {name} of shape (classes,)");
    }
    moved(weight, y.device())?.to_dtype(y.dtype())
}

/// Returns predictions and targets with zeros where the weight, which is broadcast, is 0: there, they may be NaN, and
/// 0 · NaN is NaN.
pub(super) fn that_count(y_hat: &Raw, y: &Raw, weight: &Raw) -> Result<[Raw; 2]> {
    if y_hat.device().is_cpu() && all_finite(y_hat)? && all_finite(y)? {
        return Ok([y_hat, y].map(Raw::clone));
    }
    let ignored = Tensor::from_raw_ref(weight).detach().eq(0.0);
    Ok([y_hat, y].map(|x| Tensor::from_raw_ref(x).masked_fill(&ignored, 0.0).into()))
}

#[cfg(test)]
mod tests {
    use crate::error::attempt;
    use crate::ops::loss::{bce_with_logits, huber_loss, l1_loss, mse_loss};
    use crate::tensor::{tensor, zeros};

    #[test]
    fn targets_that_do_not_fit_are_an_error() {
        let (a, b) = (zeros((2, 1)), zeros(2));
        for result in [
            attempt(|| mse_loss(&a, &b)),
            attempt(|| l1_loss(&a, &b)),
            attempt(|| huber_loss(&a, &b, 1.0)),
            attempt(|| bce_with_logits(&a, &b)),
        ] {
            let message = result.unwrap_err().to_string();
            assert!(
                message.contains("[2, 1] do not fit targets of shape [2]"),
                "{message}"
            );
        }
        let integers = tensor(&[1, 2]);
        let message = attempt(|| mse_loss(&b, &integers)).unwrap_err().to_string();
        assert!(message.contains("targets are i64"), "{message}");
    }
}
