use super::*;
use crate::ops::testing::compare;
use crate::tensor::{Tensor, full, ones, rand, randn, zeros};

/// A mean that is off by a rounding error is many standard deviations off here.
#[test]
fn a_constant_channel_becomes_zero() {
    let (one, zero) = (ones(2), zeros(2));
    let (one, zero) = (one.raw(), zero.raw());
    let is_zero = |output: BatchNormOutput, value: f64| {
        let largest = Tensor::from(output.y).abs().max_all().item();
        assert!(largest < 1e-3, "{value} becomes {largest}");
        let mean = output.mean.to_vec1::<f32>().unwrap()[0];
        assert!((f64::from(mean) / value - 1.0).abs() < 1e-7, "{mean}");
    };
    for value in [254.7, 1000.123] {
        let x = full((64, 2, 30, 30), value);
        is_zero(
            batch_norm_with_candle(x.raw(), one, zero, None, 1e-5).unwrap(),
            value,
        );
        for x in [x, full((57_600, 2), value), full((28_800, 2, 2), value)] {
            let output = batch_norm(&"batch_norm", x.raw(), one, zero, None, 1e-5).unwrap();
            is_zero(output, value);
        }
    }
}

#[test]
fn half_precision_has_statistics_in_f32() {
    let half = |x: Tensor| Raw::from(x.to_dtype(DType::BF16));
    let x = half(full((64, 2, 30, 30), 3.0));
    let (one, zero) = (half(ones(2)), half(zeros(2)));
    let output = batch_norm(&"batch_norm", &x, &one, &zero, None, 1e-5).unwrap();
    assert_eq!(output.y.dtype(), DType::BF16);
    assert_eq!(output.mean.to_vec1::<f32>().unwrap(), [3.0, 3.0]);
}

#[test]
fn the_kernel_agrees_with_candle() {
    compare("batch_norm", 60, |case| {
        let most = [
            (6, 9, 20, 20),
            (600, 9, 1, 7),
            (2000, 9, 1, 1),
            (90, 1500, 1, 1),
        ];
        let (batch, channels, height, width) = case.one_of(&most);
        let channels = case.between(1, channels);
        let shape = (
            case.between(2, batch),
            channels,
            case.between(1, height),
            case.between(1, width),
        );
        let inputs = vec![
            case.input(randn(shape)),
            case.input(rand(channels)),
            case.input(randn(channels)),
        ];
        let given = case
            .one_of(&[true, false])
            .then(|| (case.input(randn(channels)), case.input(rand(channels))));
        let statistics = given.clone();
        let kernel = move |x: &[Raw]| {
            let statistics = statistics.as_ref().map(|(mean, var)| (mean, var));
            Ok(batch_norm(&"batch_norm", &x[0], &x[1], &x[2], statistics, 1e-5)?.y)
        };
        let candle = move |x: &[Raw]| {
            let statistics = given.as_ref().map(|(mean, var)| (mean, var));
            Ok(batch_norm_with_candle(&x[0], &x[1], &x[2], statistics, 1e-5)?.y)
        };
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}

/// The ReLU's own kernel masks the same elements, because the bits before it are the same.
#[test]
fn with_a_relu_it_agrees_with_both_one_by_one() {
    compare("batch_norm_relu", 40, |case| {
        let most = [(6, 9, 20, 20), (600, 9, 1, 7), (90, 300, 1, 1)];
        let (batch, channels, height, width) = case.one_of(&most);
        let channels = case.between(1, channels);
        let (batch, height, width) = (
            case.between(2, batch),
            case.between(1, height),
            case.between(1, width),
        );
        let inputs = vec![
            case.input(randn((batch, channels, height, width))),
            case.input(randn(channels)),
            case.input(randn(channels)),
        ];
        let together =
            |x: &[Raw]| Ok(batch_norm_relu(&"batch_norm", [&x[0], &x[1], &x[2]], 1e-5)?.y);
        let one_by_one =
            |x: &[Raw]| relu(&batch_norm(&"batch_norm", &x[0], &x[1], &x[2], None, 1e-5)?.y);
        Some((inputs, Box::new(together), Box::new(one_by_one)))
    });
}
