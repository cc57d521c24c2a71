//! Elementwise losses: a function of the prediction and the target, with both derivatives.

use super::reduction::{Reduction, reduce};
use super::targets::same_shape;
use crate::ops::arithmetic::{Differentiable, of_pairs, pairs_by_operations};
use crate::ops::check;
use crate::ops::dispatch;
use crate::ops::engine::dispatch_dtype;
use crate::tensor::Raw;
use candle_core::Result;

/// The loss of one element, which [`element_loss!`] implements.
pub(super) trait ElementLoss: Differentiable {
    const NAME: &'static str;

    /// Prints a note if the predictions are not what the loss expects.
    fn check(self, _y_hat: &Raw) {}
}

/// Implements [`ElementLoss`]: the name, perhaps a check, and the formulas of the loss and of the gradients of the prediction
/// and of the target.
macro_rules! element_loss {
    ($name:ident $(($($field:ident: $type:ty),*))? = $loss:literal $(, $check:expr)?; $($formulas:tt)*) => {
        $crate::ops::arithmetic::binary! {
            $name $(($($field: $type),*))? { cheap false fuses false; $($formulas)* }
        }

        impl $crate::ops::loss::elementwise::ElementLoss for $name {
            const NAME: &'static str = $loss;
            $(

            fn check(self, y_hat: &Raw) {
                ($check)(y_hat);
            })?
        }
    };
}
pub(super) use element_loss;

/// Returns the reduced loss.
pub(super) fn loss<L: ElementLoss>(
    rule: L,
    y_hat: &Raw,
    y: &Raw,
    reduction: Reduction,
) -> Result<Raw> {
    same_shape(L::NAME, y_hat, y)?;
    check::floating(&L::NAME, y_hat)?;
    rule.check(y_hat);
    reduced(rule, y_hat, y, reduction)
}

/// Returns the reduced loss of inputs that were checked.
fn reduced<L: ElementLoss>(rule: L, y_hat: &Raw, y: &Raw, reduction: Reduction) -> Result<Raw> {
    if check::is_half(y_hat) {
        return check::in_single([y_hat, y], |[y_hat, y]| {
            reduced(rule, &y_hat, &y, reduction)
        });
    }
    let losses = match y_hat.elem_count() {
        0 => y_hat.clone(),
        _ => dispatch::run(
            &[y_hat, y],
            |x| dispatch_dtype!(x[0], of_pairs(x[0], x[1], x[0].dims(), rule)),
            |x| pairs_by_operations(x[0], x[1], rule),
        )?,
    };
    reduce(L::NAME, &losses, reduction)
}

/// Computes the losses by recorded operations, whose gradients do not come from the formulas of the gradients.
#[cfg(test)]
pub(super) fn composed(rule: impl ElementLoss, inputs: &[Raw]) -> Result<Raw> {
    use crate::ops::quantity::of_tensors;
    use crate::tensor::Tensor;

    let [y_hat, y] = [0, 1].map(|i| Tensor::from_raw_ref(&inputs[i]));
    Ok(of_tensors([y_hat, y], |[y_hat, y]| {
        Differentiable::value(rule, y_hat, y)
    })
    .into())
}

/// Defines the struct of an elementwise loss, with its reduction.
macro_rules! elementwise_loss {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:literal),* } => $rule:expr) => {
        $crate::ops::loss::composed::composed_loss! {
            $(#[$doc])*
            $name { $($(#[$field_doc])* $field: $type = $default,)* }
            /// Returns the loss of predictions.
            ///
            /// # Panics
            /// If the shapes, types or devices differ, the types are integers, or a setting is out of its
            /// range; for a mean, if the batch is empty.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            /// let (y_hat, y) = (zeros(2), ones(2));
            #[doc = concat!("assert_eq!(", stringify!($name), "::new().forward(&y_hat, &y).rank(), 0);")]
            /// ```
            forward(y_hat, y)
        }

        impl Copy for $name {}

        impl $name {
            fn compute(&self, y_hat: &Raw, y: &Raw) -> Result<Raw> {
                loss(($rule)(self)?, y_hat, y, self.reduction)
            }
        }
    };
}
pub(super) use elementwise_loss;
