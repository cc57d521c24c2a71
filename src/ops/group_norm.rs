//! Group normalisation.

use super::arithmetic::{Arithmetic, arithmetic};
use super::layer_norm::normalize;
use super::{check, contiguous_raw};
use crate::error::{self, OrRaise};
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;

/// Normalises each group of channels of each example to mean 0 and variance 1, then scales each channel by
/// `weight` and shifts it by `bias`. `eps` is added to the variance. From Wu and He, 2018.
///
/// # Shapes
/// `x` is `(batch, channels, …)`, `weight` and `bias` are `(channels,)`; the output has the shape of `x`.
///
/// # Panics
/// If `groups` does not divide the channels, or the shapes, types or devices do not fit.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 3.0, 5.0, 5.0]]); // (1, 4)
/// let y = group_norm(&x, 2, &ones(4), &zeros(4), 1e-12); // (1, 4)
/// assert_eq!(y.to_vec2::<f32>(), [[-1.0, 1.0, 0.0, 0.0]]);
/// ```
#[inline]
#[track_caller]
pub fn group_norm(x: &Tensor, groups: usize, weight: &Tensor, bias: &Tensor, eps: f64) -> Tensor {
    let (x, weight, bias) = (x.raw(), weight.raw(), bias.raw());
    group_norm_as(&"group_norm", x, groups, weight, bias, eps)
        .or_raise()
        .into()
}

/// Computes [`group_norm`]; errors begin with the name of the caller.
pub(crate) fn group_norm_as(
    caller: &dyn Display,
    x: &Raw,
    groups: usize,
    weight: &Raw,
    bias: &Raw,
    eps: f64,
) -> Result<Raw> {
    let &[channels] = weight.dims() else {
        return Err(check::wrong_weight(
            caller,
            weight,
            "Expected a weight (channels,)",
        ));
    };
    if x.dims().get(1) != Some(&channels) {
        let expected = format!("Its second dimension, the channels, must be {channels}");
        return Err(check::wrong_shape(caller, x, expected));
    }
    check::same_place(caller, x, weight)?;
    check::bias(caller, Some(bias), weight)?;
    check::positive(caller, &[("groups", groups)])?;
    if !channels.is_multiple_of(groups) {
        return Err(error::argument(
            caller,
            format_args!("a number of groups that divides {channels} channels"),
            groups,
            "Choose a divisor of the number of channels",
        )
        .into());
    }
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    if check::is_half(x) {
        return check::in_single([x, weight, bias], |[x, weight, bias]| {
            group_norm_as(caller, &x, groups, &weight, &bias, eps)
        });
    }
    let rows = contiguous_raw(x)?.reshape((x.dim(0)? * groups, ()))?; // (batch · groups, elements of a group)
    let elements = rows.dim(1)?;
    let one = Raw::ones(elements, x.dtype(), x.device())?;
    let y = normalize(&[&rows, &one, &one.zeros_like()?], eps)?;
    let mut shape = vec![1; x.rank()];
    shape[1] = channels;
    let y = y.reshape(x.shape())?;
    let y = arithmetic(Arithmetic::Mul, &y, &weight.reshape(shape.as_slice())?)?;
    arithmetic(Arithmetic::Add, &y, &bias.reshape(shape)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{ones, zeros};

    #[test]
    fn a_wrong_parameter_is_named() {
        let (x, one) = (ones((1, 4)), ones(4));
        let message = |weight: &Tensor, bias: &Tensor| {
            let error = attempt(|| group_norm(&x, 2, weight, bias, 1e-5)).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            message(&one, &ones(3)),
            "group_norm: a bias of shape [3] does not fit the weight\nIt must have the shape (4,)"
        );
        assert_eq!(
            message(&x, &one),
            "group_norm cannot take a weight of shape [1, 4]\nExpected a weight (channels,)"
        );
        let message = message(&ones(3), &one.narrow(0, 0, 3));
        assert!(message.ends_with("the channels, must be 3"), "{message}");
    }

    #[test]
    fn wrong_groups_are_refused() {
        let (one, x) = (ones(5), zeros((1, 5)));
        let message = attempt(|| group_norm(&x, 2, &one, &one, 1e-5)).unwrap_err();
        assert_eq!(
            message.to_string(),
            "group_norm: expected a number of groups that divides 5 channels, found 2\n\
             Choose a divisor of the number of channels"
        );
        let empty = zeros((0, 5, 2));
        assert_eq!(group_norm(&empty, 5, &one, &one, 1e-5).dims(), [0, 5, 2]);
    }
}
