//! Inputs at the edges: empty, of 16 bits, of integers, and of many elements.

use super::{numbers, variable};
use crate::error::attempt;
use crate::nn::*;
use crate::ops::{one_hot, softmax, tanh};
use crate::tensor::{Tensor, ones, randn, tensor, with_seed, zeros};
use crate::train::accuracy;
use candle_core::DType;

#[test]
fn empty_batches_stay_empty() {
    let images = zeros((0, 2, 3, 10));
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
    let (scores, classes) = (zeros((0, 3)), zeros(0).to_dtype(DType::I64));
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
    let (x, y) = (randn((1, 4096)), randn((1, 4096)));
    let class = tensor(&[7]);
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
        let x = ones((2, 2, 2, 2)).to_dtype(dtype);
        for (name, function) in &functions {
            let message = attempt(|| function(&x)).expect_err(name).to_string();
            assert_eq!(message.lines().count(), 2, "{name}: {message}");
        }
    }
}

#[test]
fn a_row_of_many_elements_keeps_its_digits() {
    let count = 16_000_000;
    let y = softmax(&ones((1, count)), 1);
    let first = y.i((0, 0)).item();
    assert!((first * count as f64 - 1.0).abs() < 1e-6, "{first}");
}

#[test]
fn numbers_promote_integers_as_in_pytorch() {
    let labels = tensor(&[1u32, 2, 10]);
    assert_eq!((&labels - 1.0).to_vec1::<f32>(), [0.0, 1.0, 9.0]);
    assert_eq!((9.5 - &labels).to_vec1::<f32>(), [8.5, 7.5, -0.5]);
    assert_eq!((&labels / 2).to_vec1::<f32>(), [0.5, 1.0, 5.0]);
    assert_eq!((&labels - 1).to_vec::<i64>(), [0, 1, 9]);
    assert_eq!(tensor(&[1i64]).eq(1.5).to_vec1::<u8>(), [0]);
    let smooth = one_hot(&tensor(&[1i64, 0]), 2) * 0.9 + 0.05;
    assert!((smooth.to_vec::<f32>()[1] - 0.95).abs() < 1e-6);
    assert_eq!(zeros(300).eq(0.0).sum_all().item(), 300.0);
    let mean = attempt(|| tensor(&[1i64, 2, 6]).mean_all());
    assert!(mean.is_err(), "PyTorch refuses it as well");
}

#[test]
fn random_tensors_like_others_respect_the_seed() {
    let like = zeros((2, 3)).to_dtype(DType::F64);
    for random in [Tensor::rand_like, Tensor::randn_like] {
        let draw = |seed| with_seed(seed, || random(&like).to_vec::<f64>());
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
    }
}

/// Where a function has no derivative, or several inputs share it; the values are PyTorch's.
#[test]
fn gradients_at_the_edges_are_those_of_pytorch() {
    let of = |values: &[f64], f: &dyn Fn(&Tensor) -> Tensor| {
        let x = variable(&tensor(values).to_dtype(DType::F64));
        let constants = f(&x).sum_all().backward().of(&x).to_vec1::<f64>();
        let recorded = f(&x).sum_all().backward_graph().of(&x).to_vec1::<f64>();
        assert_eq!(constants, recorded);
        constants
    };
    assert_eq!(
        of(&[1.0, 2.0, 3.0], &|x| x.clamp(1.0, 3.0)),
        [0.0, 1.0, 0.0]
    );
    assert_eq!(of(&[1.0, 3.0, 3.0], &|x| x.max_all()), [0.0, 0.5, 0.5]);
    assert_eq!(of(&[1.0, 3.0, 3.0], &|x| x.max(0)), [0.0, 1.0, 0.0]);
    assert_eq!(of(&[1.0, 3.0, 3.0], &|x| x.maximum(3.0)), [0.0, 0.5, 0.5]);
    assert_eq!(of(&[0.0, 0.0], &|x| x.norm(0)), [0.0, 0.0]);
    assert_eq!(of(&[0.0, 0.0], &|x| x.std(0)), [0.0, 0.0]);
    assert_eq!(of(&[0.0], &|x| x.abs() + x.relu()), [0.0]);
    assert_eq!(of(&[0.0, 1.0], &|x| x.pow(2) + x.powf(0.0) * x), [1.0, 3.0]);
}

/// Candle's own operation replaces the gradient instead of adding to it.
#[test]
fn gradients_of_several_uses_are_added() {
    let x = variable(&tensor(&[[[[1.0, 2.0], [3.0, 4.0]]]]));
    let other = (&x * 5.0).sum_all();
    let loss = Upsample::new(2.0).forward(&x).sum_all() + other;
    assert_eq!(loss.backward().of(&x).to_vec::<f32>(), [9.0; 4]);
    let other = (&x * 5.0).sum_all();
    let picked = x.flatten_all().gather(&tensor(&[0i64, 0]), 0);
    let loss = other + picked.sum_all();
    assert_eq!(loss.backward().of(&x).to_vec::<f32>(), [7.0, 5.0, 5.0, 5.0]);
}
