use super::*;
use crate::error::attempt;
use crate::ops::testing::compare;
use crate::tensor::{full, ones, rand, randn, zeros};
use candle_core::DType;

/// A mean that is off by a rounding error is many standard deviations off here.
#[test]
fn a_constant_row_becomes_zero() {
    let (one, zero) = (ones(1024), zeros(1024));
    for value in [254.7, 1000.123, -1e6] {
        let x = full((3, 1024), value);
        let inputs = [&x, &one, &zero].map(Tensor::raw);
        for y in [
            layer_norm(&x, &one, &zero, 1e-5),
            normalize_with_candle(&inputs, 1e-5).unwrap().into(),
        ] {
            let largest = y.abs().max_all().item();
            assert!(largest < 1e-3, "{value} becomes {largest}");
        }
    }
}

#[test]
fn a_wrong_parameter_is_named() {
    let (x, one) = (ones((1, 2)), ones(2));
    let message = |weight: &Tensor, bias: &Tensor| {
        let error = attempt(|| layer_norm(&x, weight, bias, 1e-5)).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        message(&one, &x),
        "layer_norm: a bias of shape [1, 2] does not fit the weight\nIt must have the shape (2,)"
    );
    assert_eq!(
        message(&x, &one),
        "layer_norm cannot take a weight of shape [1, 2]\nExpected a weight (features,)"
    );
    assert_eq!(
        message(&one, &one.to_dtype(DType::F64)),
        "layer_norm computes in f32, but its bias is f64\n\
         Convert the bias: bias.to_dtype(DType::F32)"
    );
}

#[test]
fn empty_views_and_half_precision_are_normalised() {
    let (one, zero) = (ones(5), zeros(5));
    let view = zeros((0, 10)).narrow(1, 2, 5);
    assert_eq!(layer_norm(&view, &one, &zero, 1e-5).dims(), [0, 5]);
    let half = |x: &Tensor| x.to_dtype(DType::BF16);
    let x = half(&randn((2, 5)));
    let y = layer_norm(&x, &half(&one), &half(&zero), 1e-5);
    assert_eq!(y.dtype(), DType::BF16);
    let message = attempt(|| layer_norm(&x, &one, &zero, 1e-5)).unwrap_err();
    let message = message.to_string();
    assert!(
        message.contains("computes in f32, but its input is bf16"),
        "{message}"
    );
}

#[test]
fn the_kernels_agree_with_candle() {
    compare("rms_norm", 20, |case| {
        let features = case.between(2, 300);
        let x = randn((case.between(1, 30), features));
        let inputs = vec![case.input(x), case.input(rand(features))];
        let kernel = |x: &[Raw]| rms_norm_as(&"", &x[0], &x[1], 1e-5);
        let candle = |x: &[Raw]| normalize_with_candle(&[&x[0], &x[1]], 1e-5);
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
    compare("layer_norm", 40, |case| {
        let features = case.between(2, 300);
        let shape = (case.between(1, 5), case.between(1, 30), features);
        let inputs = vec![
            case.input(randn(shape) * 3.0 + 1.0),
            case.input(rand(features)),
            case.input(randn(features)),
        ];
        let kernel = |x: &[Raw]| layer_norm_as(&"", &x[0], &x[1], &x[2], 1e-5);
        let candle = |x: &[Raw]| normalize_with_candle(&[&x[0], &x[1], &x[2]], 1e-5);
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}
