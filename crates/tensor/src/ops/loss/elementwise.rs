//! Elementwise losses: a function of the prediction and the target, with both derivatives.

use super::reduction::{Reduction, reduced};
use super::targets::{fitting, same_shape, that_count};
use crate::ops::arithmetic::{
    Arithmetic, Differentiable, arithmetic, of_pairs, pairs_by_operations,
};
use crate::ops::check;
use crate::ops::dispatch;
use crate::ops::engine::dispatch_dtype;
use crate::tensor::{Raw, Tensor};
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
    reduced(L::NAME, [y_hat, y], reduction, |[y_hat, y]| {
        if y_hat.elem_count() == 0 {
            return Ok(y_hat.clone());
        }
        let losses = dispatch::run(
            &[y_hat.raw(), y.raw()],
            |x| dispatch_dtype!(x[0], of_pairs(x[0], x[1], x[0].dims(), rule)),
            |x| pairs_by_operations(x[0], x[1], rule),
        );
        losses.map(Tensor::from)
    })
}

/// Returns the reduced loss of elements that have a weight. `losses` computes the losses without it, from elements that are
/// 0 where the weight is 0.
pub(super) fn weighted<L: ElementLoss>(
    [y_hat, y]: [&Raw; 2],
    weight: Option<&Raw>,
    reduction: Reduction,
    losses: impl FnOnce(&Raw, &Raw) -> Result<Raw>,
) -> Result<Raw> {
    same_shape(L::NAME, y_hat, y)?;
    check::floating(&L::NAME, y_hat)?;
    reduced(L::NAME, [y_hat, y], reduction, |inputs| {
        let [y_hat, y] = inputs.map(Tensor::raw);
        let Some(weight) = weight else {
            return losses(y_hat, y).map(Tensor::from);
        };
        let weight = fitting(L::NAME, "weight", weight, y)?;
        let [y_hat, y] = that_count(y_hat, y, &weight)?;
        arithmetic(Arithmetic::Mul, &losses(&y_hat, &y)?, &weight).map(Tensor::from)
    })
}

/// Computes the losses by recorded operations, whose gradients do not come from the formulas of the gradients.
#[cfg(test)]
pub(super) fn composed(rule: impl ElementLoss, inputs: &[Raw]) -> Result<Raw> {
    use crate::ops::quantity::of_tensors;

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
