//! Inputs at the edges: empty, of 16 bits, of integers, and of many elements.

use super::numbers;
use crate::error::attempt;
use crate::nn::*;
use crate::ops::{softmax, tanh};
use crate::tensor::{Tensor, ones, randn, tensor, zeros};
use crate::train::accuracy;
use candle_core::{DType, Device};

const CPU: Device = Device::Cpu;

#[test]
fn empty_batches_stay_empty() {
    let images = zeros((0, 2, 3, 10), &CPU);
    let view = images.narrow(3, 2, 5); // (0, 2, 3, 5), with an offset
    let layers: Vec<Box<dyn Layer>> = vec![
        Box::new(Conv2d::new(2, 4, 2).groups(2)),
        Box::new(ReLU),
        Box::new(GELU),
        Box::new(LayerNorm::new(5)),
        Box::new(AvgPool2d::new(2)),
        Box::new(MaxPool2d::new(2)),
        Box::new(AdaptiveAvgPool2d::new(2)),
        Box::new(Dropout::new(0.5)),
        Box::new(Softmax),
        Box::new(ConvTranspose2d::new(2, 4, 2)),
        Box::new(Upsample::new(2.0)),
        Box::new(GroupNorm::new(2, 2)),
    ];
    for layer in &layers {
        let y = layer.forward(&view);
        assert_eq!(y.dims()[0], 0, "{}", layer.describe());
    }
    let (scores, classes) = (zeros((0, 3), &CPU), zeros(0, &CPU).to_dtype(DType::I64));
    let message = attempt(|| cross_entropy(&scores, &classes)).unwrap_err();
    let message = message.to_string();
    assert_eq!(message.lines().count(), 2, "{message}");
    match attempt(|| accuracy(&scores, &classes)) {
        Ok(share) => assert!(numbers(&share)[0].is_finite()),
        Err(error) => assert_eq!(error.to_string().lines().count(), 2, "{error}"),
    }
}

#[test]
fn sums_of_16_bits_are_exact_to_16_bits() {
    crate::tensor::manual_seed(3);
    let (x, y) = (randn((1, 4096), &CPU), randn((1, 4096), &CPU));
    let class = tensor(&[7], &CPU);
    for dtype in [DType::BF16, DType::F16] {
        let half = |x: &Tensor| x.to_dtype(dtype);
        let single = |x: &Tensor| half(x).to_dtype(DType::F32);
        let rounding = if dtype == DType::BF16 { 0.004 } else { 0.0005 };
        let sum: f64 = numbers(&softmax(&half(&x), 1)).iter().sum();
        assert!((sum - 1.0).abs() < rounding, "{dtype:?}: {sum}");
        let pairs = [
            (
                mse_loss(&half(&x), &half(&y)),
                mse_loss(&single(&x), &single(&y)),
            ),
            (
                cross_entropy(&half(&x), &class),
                cross_entropy(&single(&x), &class),
            ),
        ];
        for (got, want) in pairs {
            let (got, want) = (numbers(&got)[0], numbers(&want)[0]);
            assert!(
                (got - want).abs() <= rounding * want,
                "{dtype:?}: {got} is not {want}"
            );
        }
    }
}

#[test]
fn integers_are_refused() {
    type Function = fn(&Tensor) -> Tensor;
    let functions: [(&str, Function); 11] = [
        ("GELU", |x| GELU.forward(x)),
        ("SiLU", |x| SiLU.forward(x)),
        ("AvgPool2d", |x| AvgPool2d::new(1).forward(x)),
        ("Dropout", |x| Dropout::new(0.5).forward(x)),
        ("l1_loss", |x| l1_loss(x, x)),
        ("tanh", tanh),
        ("softmax", |x| softmax(x, 1)),
        ("cross_entropy", |x| cross_entropy(x, &x.flatten_all())),
        ("mse_loss", |x| mse_loss(x, x)),
        ("bce_with_logits", |x| bce_with_logits(x, x)),
        ("huber_loss", |x| huber_loss(x, x, 1.0)),
    ];
    for dtype in [DType::U8, DType::I64] {
        let x = ones((2, 2, 2, 2), &CPU).to_dtype(dtype);
        for (name, function) in &functions {
            let message = attempt(|| function(&x)).expect_err(name).to_string();
            assert_eq!(message.lines().count(), 2, "{name}: {message}");
        }
    }
}

#[test]
fn a_row_of_many_elements_keeps_its_digits() {
    let count = 16_000_000;
    let y = softmax(&ones((1, count), &CPU), 1);
    let first = y.i((0, 0)).item();
    assert!((first * count as f64 - 1.0).abs() < 1e-6, "{first}");
}
