use super::*;
use crate::ops::testing::compare;
use crate::tensor::{Tensor, full, ones, rand, randn, zeros};

/// A mean that is off by a rounding error is many standard deviations off here.
#[test]
fn a_constant_channel_becomes_zero() {
    let (one, zero) = (ones(2), zeros(2));
    let (one, zero) = (one.raw(), zero.raw());
    for value in [254.7, 1000.123] {
        let x = full((64, 2, 30, 30), value);
        for output in [
            batch_norm(&"batch_norm", x.raw(), one, zero, None, 1e-5).unwrap(),
            batch_norm_with_candle(x.raw(), one, zero, None, 1e-5).unwrap(),
        ] {
            let largest = Tensor::from(output.y).abs().max_all().item();
            assert!(largest < 1e-3, "{value} becomes {largest}");
            let mean = output.mean.to_vec1::<f32>().unwrap()[0];
            assert!((f64::from(mean) / value - 1.0).abs() < 1e-7, "{mean}");
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
        let channels = case.between(1, 9);
        let shape = (
            case.between(1, 6),
            channels,
            case.between(3, 20),
            case.between(3, 20),
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
