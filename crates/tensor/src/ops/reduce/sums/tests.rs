use super::*;
use crate::error::attempt;
use crate::ops::testing::compare;
use crate::tensor::{full, ones, randn, tensor, zeros};

const CPU: candle_core::Device = candle_core::Device::Cpu;

#[test]
fn the_kernel_agrees_with_candle() {
    compare("sum", 100, |case| {
        let sizes = [1, 2, 7, 40, 300, 1500];
        let shape: Vec<usize> = (0..case.between(1, 5))
            .map(|_| case.one_of(&sizes))
            .collect();
        if shape.iter().product::<usize>() > 1 << 18 {
            return None;
        }
        let dims: Vec<_> = (0..shape.len())
            .filter(|_| case.one_of(&[true, false]))
            .collect();
        let divisor = case.one_of(&[1.0, 7.0]);
        let inputs = vec![case.input(randn(shape).abs())];
        let candle = dims.clone();
        let kernel = move |x: &[Raw]| sum_over(&x[0], &dims, true, divisor);
        let candle = move |x: &[Raw]| x[0].sum_keepdim(&candle[..])? / divisor;
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}

#[test]
fn sums_and_means_of_integers_and_masks() {
    let x = tensor(&[1, 2]);
    assert_eq!(sum(&x, 0).to_scalar::<i64>(), 3);
    assert!(attempt(|| mean(&x, 0)).is_err());
    assert!(attempt(|| sum_all(&tensor(&[i64::MAX, 1]))).is_err());
    let mask = ones(300).eq(1.0);
    assert_eq!(mask.sum_all().to_scalar::<i64>(), 300);
    assert_eq!(mask.mean_all().to_scalar::<f32>(), 1.0);
    let x = tensor(&[[1_u32, 2, 3], [4, 5, 6]]);
    assert_eq!(sum(&x, 0).to_vec1::<i64>(), [5, 7, 9]);
    assert_eq!(sum_keepdim(&x, 1).to_vec2::<i64>(), [[6], [15]]);
}

#[test]
fn dimensions_and_types() {
    let x = full((2, 3, 4), 1.0);
    assert_eq!(sum(&x, (0, -1)).to_vec1::<f32>(), [8.0; 3]);
    assert_eq!(mean_keepdim(&x, ..).dims(), [1, 1, 1]);
    assert_eq!(sum_all(&x).item(), 24.0);
    assert_eq!(
        attempt(|| sum(&x, 3)).unwrap_err().to_string(),
        "sum cannot take an input of shape [2, 3, 4]\nIts dimensions are 0 to 2"
    );
    let half = Tensor::from(Raw::ones(5000, DType::BF16, &CPU).unwrap());
    assert_eq!(mean(&half, -1).to_dtype(DType::F32).item(), 1.0);
    assert_eq!(sum_all(&half).to_dtype(DType::F32).item(), 4992.0); // the nearest in 16 bits
    let x = Raw::ones((20_000_000, 1), DType::F32, &CPU).unwrap();
    let sums = sum(&x.into(), 0).to_vec1::<f32>();
    assert_eq!(sums, [2e7]);
}

#[test]
fn the_mean_of_nothing_is_nan() {
    let x = zeros((0, 3));
    assert_eq!(sum(&x, 0).to_vec1::<f32>(), [0.0; 3]);
    assert!(mean(&x, 0).to_vec1::<f32>().iter().all(|x| x.is_nan()));
    assert_eq!(mean(&x, 1).dims(), [0]);
}
