//! The linear (fully connected) operation.

use super::check;
use super::dispatch::run_product;
use super::engine::autograd::{Downstream, Product, Upstream, record};
use super::engine::read::{copies, read_all};
use super::engine::{Element, dispatch_dtype};
use super::matmul::{forward as of_matmul, plain};
use super::precision::rounded;
use super::profile;
use super::reduce::sum_over;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;
use taper_compute::gemm::{Matrix, product};

functions! {
    /// Returns `x · weightᵀ + bias` over the last dimension of `x`.
    ///
    /// # Shapes
    /// `x` is `(…, in)`, `weight` is `(out, in)`, `bias` is `(out,)`; the output is `(…, out)`. With a weight `(in,)` and a
    /// bias `()`, the output is `(…)`.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (x, weight) = (tensor(&[[1.0, 2.0]]), tensor(&[[3.0, 4.0]]));
    /// let y = linear(&x, &weight, Some(&ones(1))); // (1, 1)
    /// assert_eq!(y.to_vec2::<f32>(), [[12.0]]);
    /// ```
    pub fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) =>
        linear_as(&"linear", x.raw(), weight.raw(), bias.map(Tensor::raw));
}

/// Computes [`linear`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn linear_as(caller: &dyn Display, x: &Raw, weight: &Raw, bias: Option<&Raw>) -> Result<Raw> {
    if weight.rank() == 1 && x.rank() > 0 && bias.is_none_or(|bias| bias.elem_count() == 1) {
        let bias = bias.map(|bias| bias.reshape(1)).transpose()?;
        return linear_as(caller, x, &weight.unsqueeze(0)?, bias.as_ref())?.squeeze(x.rank() - 1);
    }
    let &[out_features, in_features] = weight.dims() else {
        let expected = "Expected a weight (out_features, in_features)";
        return Err(check::wrong_weight(caller, weight, expected));
    };
    check::features(caller, x, in_features)?;
    check::same_place(caller, x, weight)?;
    check::bias(caller, bias, weight)?;
    let mut shape = x.dims().to_vec();
    shape[x.rank() - 1] = out_features;
    check::output(caller, &shape, x)?;
    let plus_bias = |y: Raw| bias.map_or(Ok(y.clone()), |bias| y.add(bias));
    if let Some(y) = rounded([x, weight], |[x, weight]| {
        linear_as(caller, x, weight, None)
    }) {
        return plus_bias(y?);
    }
    if x.elem_count() * out_features == 0 {
        return plus_bias(Raw::zeros(shape, x.dtype(), x.device())?);
    }
    profile::count(x.elem_count() * out_features);
    let inputs: Vec<&Raw> = [x, weight].into_iter().chain(bias).collect();
    let kernel = |inputs: &[&Raw]| dispatch_dtype!(inputs[0], forward(inputs));
    run_product(&inputs, kernel, linear_with_candle)
}

fn linear_with_candle(inputs: &[&Raw]) -> Result<Raw> {
    let (x, weight) = (inputs[0], inputs[1]);
    let (out_features, in_features) = weight.dims2()?;
    let rows = x.elem_count() / in_features;
    let y = x
        .reshape((rows, in_features))?
        .matmul(&plain(&weight.t()?)?)?; // (rows, out)
    let y = inputs.get(2).map_or(Ok(y.clone()), |bias| y.add(bias))?;
    let mut shape = x.dims().to_vec();
    shape[x.rank() - 1] = out_features;
    y.reshape(shape)
}

fn forward<T: Element>(inputs: &[&Raw]) -> Result<Raw> {
    if let Some(copies) = copies(inputs)? {
        // The backward pass reads the copies, too.
        return forward::<T>(&copies.iter().collect::<Vec<_>>());
    }
    let (outs, ins) = inputs[1].dims2()?;
    let y = read_all(inputs, |values: &[&[T]]| {
        let x = Matrix::of_rows(values[0], ins);
        let weight = Matrix::of_rows(values[1], ins).transposed();
        let rows = values[0].len() / ins;
        product([rows, ins, outs], x, weight, values.get(2).copied())
    })?;
    let mut shape = inputs[0].dims().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = outs;
    }
    record(inputs, y, shape, || Product(gradients::<T>))
}

fn gradients<T: Element>(upstream: &Upstream<'_>) -> Result<Downstream> {
    let (x, weight) = (upstream.input(0)?, upstream.input(1)?);
    let (outs, ins) = weight.dims2()?;
    let as_rows = |x: &Raw, width: usize| match x.rank() {
        2 => Ok(x.clone()),
        _ => x.reshape(((), width)),
    };
    let (x_rows, g) = (as_rows(x, ins)?, as_rows(upstream.gradient, outs)?);
    upstream.each(|i| match i {
        0 => {
            let of_rows = of_matmul::<T>(&g, weight, x_rows.dims().to_vec())?;
            if x.rank() == 2 {
                Ok(of_rows)
            } else {
                of_rows.reshape(x.dims())
            }
        }
        1 => of_matmul::<T>(&g.t()?, &x_rows, vec![outs, ins]),
        _ => sum_over(&g, &[0], false, 1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::testing::{compare, variable};
    use crate::tensor::{ones, randn, zeros};
    use candle_core::DType;

    #[test]
    fn a_wrong_shape_is_an_error() {
        let (x, weight) = (zeros((2, 4)), zeros((2, 3)));
        let error = attempt(|| linear(&x, &weight, None)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "linear cannot take an input of shape [2, 4]\nIts last dimension must be 3"
        );
    }

    /// Added one after the other in `f32`, ones never sum to more than 2²⁴.
    #[test]
    fn the_gradient_of_a_bias_keeps_its_digits() {
        let rows = 20_000_000;
        let x = zeros((rows, 1));
        let weight = zeros((1, 1));
        let bias = variable(&zeros(1));
        let gradients = linear(&x, &weight, Some(&bias)).backward();
        assert_eq!(gradients.of(&bias).to_vec1::<f32>(), [rows as f32]);
    }

    #[test]
    fn empty_batches_and_half_precision_are_computed() {
        let weight = zeros((2, 3));
        let x = zeros((0, 3));
        assert_eq!(linear(&x, &weight, None).dims(), [0, 2]);
        let half = ones((1, 4000)).to_dtype(DType::BF16);
        let y = linear(&half, &half, None).item();
        assert!((y - 4000.0).abs() < 16.0, "{y:?}");
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("linear", 60, |case| {
            let (ins, outs) = (
                case.one_of(&[1, 3, 17, 84, 600, 1300]),
                case.between(1, 130),
            );
            let rows = case.one_of(&[1, 2, 7, 32, 65]);
            let x = match case.between(0, 2) {
                0 => randn((2, rows, ins)),
                _ => randn((rows, ins)),
            };
            let weight = randn((outs, ins));
            let mut inputs = vec![case.input(x), case.input(weight)];
            if case.one_of(&[true, false]) {
                inputs.push(case.input(randn(outs)));
            }
            let kernel = |x: &[Raw]| linear_as(&"", &x[0], &x[1], x.get(2));
            let candle = |x: &[Raw]| linear_with_candle(&x.iter().collect::<Vec<_>>());
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
