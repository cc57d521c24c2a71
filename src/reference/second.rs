//! Second derivatives: `tests/reference/second.py` creates the expected values.

use super::{Tensors, assert_close, read, variable};
use crate::error::attempt;
use crate::nn::{BatchNorm2d, GroupNorm, Layer, ParametersExt, evaluating};
use crate::ops::*;
use crate::tensor::{Tensor, tensor};
use candle_core::Device;
use std::panic::{AssertUnwindSafe, catch_unwind};

const CPU: Device = Device::Cpu;
/// Relative to the largest value; some kernels compute intermediate values in `f32`.
const NEAR: f64 = 1e-9;

type Function = Box<dyn Fn(&[Tensor]) -> Tensor>;

/// Returns the weights of the script, which the loss of a case has.
fn weights(like: &Tensor, step: f64) -> Tensor {
    let count = like.elem_count();
    let values = (0..count).map(|i| 0.6 + (step * i as f64).sin());
    Tensor::from_vec(values.collect::<Vec<f64>>(), like.shape())
}

/// Returns a tensor in double precision.
fn double(values: impl Into<Vec<f64>>) -> Tensor {
    let values = values.into();
    let count = values.len();
    Tensor::from_vec(values, count)
}

fn inputs(all: &Tensors, name: &str) -> Vec<Tensor> {
    let input = |i: usize| all.get(&format!("{name}.x.{i}")).map(variable);
    (0..).map_while(input).collect()
}

#[test]
fn second_derivatives_are_those_of_pytorch() {
    let all = read("second", &CPU);
    let cases = cases();
    let names = all.keys().filter(|key| key.ends_with("first.0"));
    assert_eq!(names.count(), cases.len(), "the file has other cases");
    let failed = cases.iter().filter_map(|(name, function)| {
        let error = catch_unwind(AssertUnwindSafe(|| {
            attempt(|| compare(&all, name, function))
        }));
        match error {
            Ok(outcome) => Some(format!("{name}: {}", outcome.err()?)),
            Err(panic) => Some(format!("{name}: {:?}", panic.downcast_ref::<String>())),
        }
    });
    let failed = failed.collect::<Vec<_>>();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn compare(all: &Tensors, name: &str, function: &Function) {
    let inputs = inputs(all, name);
    let of = inputs.iter().collect::<Vec<_>>();
    let y = function(&inputs);
    let first = grad_graph(&(&y * weights(&y, 0.7)).sum_all(), &of);
    let total = first.iter().map(|g| (g * weights(g, 0.9)).sum_all());
    let total = Tensor::stack(&total.collect::<Vec<_>>(), 0).sum_all();
    let second = match total.track_op() {
        true => grad(&total, &of),
        false => inputs.iter().map(Tensor::zeros_like).collect(),
    };
    for (what, got) in [("first", &first), ("second", &second)] {
        for (i, got) in got.iter().enumerate() {
            let want = &all[&format!("{name}.{what}.{i}")];
            assert_close(got, want, NEAR, &format!("{name}, {what} derivative {i}"));
        }
    }
    // Constants are the same.
    let constants = grad(&(&y * weights(&y, 0.7)).sum_all(), &of);
    for (constant, first) in constants.iter().zip(&first) {
        assert_close(constant, first, NEAR, name);
        assert!(!constant.track_op());
    }
}

macro_rules! cases {
    ($($name:literal: |$x:ident| $value:expr;)*) => {
        vec![$(($name, Box::new(|$x: &[Tensor]| $value) as Function)),*]
    };
}

#[rustfmt::skip]
fn cases() -> Vec<(&'static str, Function)> {
    let mut all = elementwise();
    all.extend(arranging());
    all.extend(layers());
    all.extend(sequences());
    all.extend(losses());
    all
}

#[rustfmt::skip]
fn elementwise() -> Vec<(&'static str, Function)> {
    cases! {
        "exp": |x| x[0].exp();
        "sin": |x| x[0].sin();
        "cos": |x| x[0].cos();
        "erf": |x| x[0].erf();
        "square": |x| x[0].sqr();
        "abs": |x| x[0].abs();
        "sigmoid": |x| x[0].sigmoid();
        "tanh": |x| x[0].tanh();
        "sign": |x| x[0].sign() + &x[0] * 0.0;
        "floor": |x| x[0].floor() + &x[0] * 0.0;
        "log": |x| x[0].log();
        "sqrt": |x| x[0].sqrt();
        "reciprocal": |x| x[0].recip();
        "relu": |x| x[0].relu();
        "leaky_relu": |x| leaky_relu(&x[0], 0.2);
        "elu": |x| elu(&x[0], 0.7);
        "gelu": |x| x[0].gelu();
        "silu": |x| x[0].silu();
        "clamp": |x| x[0].exp().clamp(0.5, 1.5);
        "cube": |x| x[0].pow(3);
        "pow4": |x| x[0].pow(4);
        "pow2.5": |x| x[0].powf(2.5);
        "rpow": |x| double([2.0]).pow(&x[0]);
        "rsub_rdiv": |x| (3.0 - &x[0]) / 2.0 * (2.0 / &x[0]) + 1.0;
        "max_number": |x| x[0].exp().maximum(1.1);
        "min_number": |x| x[0].exp().minimum(1.1);
        "add": |x| &x[0] + &x[1];
        "sub": |x| &x[0] - &x[1];
        "mul": |x| &x[0] * &x[1];
        "div": |x| &x[0] / &x[1];
        "pow": |x| x[0].pow(&x[1]);
        "mul_column": |x| &x[0] * &x[1];
        "maximum": |x| x[0].maximum(&x[1]);
        "minimum": |x| x[0].minimum(&x[1]);
        "where": |x| x[0].gt(1.0).where_cond(&x[0] * &x[1], x[1].exp());
        "same": |x| &x[0] * x[0].exp() + &x[0] / x[0].sqr();
    }
}

#[rustfmt::skip]
fn arranging() -> Vec<(&'static str, Function)> {
    cases! {
        "sum": |x| x[0].exp().sum((0, 2));
        "mean": |x| x[0].sqr().mean_keepdim(1);
        "var": |x| x[0].exp().var(1);
        "std": |x| x[0].exp().std(2);
        "norm": |x| x[0].norm(1);
        "max": |x| x[0].pow(3).max(1);
        "min": |x| x[0].pow(3).min(2);
        "max_all": |x| x[0].pow(3).max_all();
        "cumsum": |x| x[0].exp().cumsum(1);
        "flip": |x| x[0].exp().flip((0, 2));
        "gather": |x| x[0].exp().gather(&tensor(&[0i64, 3, 3]).broadcast_as((2, 3, 3)), 2);
        "index_select": |x| x[0].exp().index_select(&tensor(&[2i64, 0, 2]), 1);
        "cat": |x| cat(&[x[0].exp(), &x[1] * &x[0], x[1].clone()], 1);
        "views": |x| x[0].exp().transpose(0, 2).narrow(0, 1, 2).reshape((2, ())).i(1).exp();
        "permute": |x| x[0].exp().permute((2, 0, 1)).unsqueeze(1).broadcast_as((4, 2, 2, 3)).exp();
        "matmul": |x| x[0].matmul(&x[1]);
        "matmul_batch": |x| x[0].matmul(&x[1]);
        "softmax": |x| x[0].softmax(-1);
        "softmax_columns": |x| x[0].softmax(0);
        "log_softmax": |x| x[0].log_softmax(1);
        "log_softmax_columns": |x| x[0].log_softmax(0);
    }
}

#[rustfmt::skip]
fn layers() -> Vec<(&'static str, Function)> {
    cases! {
        "linear": |x| linear(&x[0], &x[1], Some(&x[2])).tanh();
        "conv2d": |x| conv2d(&x[0], &x[1], Some(&x[2]), Conv2dSpec::new().stride(2).padding(1).groups(2));
        "conv_transpose2d": |x| {
            let spec = Conv2dSpec::new().stride(2).padding(1);
            conv_transpose2d(&"", x[0].raw(), x[1].raw(), None, spec, 0.into()).unwrap().into()
        };
        "conv1d": |x| conv1d(&x[0], &x[1], None, Conv2dSpec::new().dilation(2));
        "avg_pool2d": |x| avg_pool2d(&x[0].exp(), Pool2dSpec::new(2));
        "max_pool2d": |x| max_pool2d(&x[0].exp(), Pool2dSpec::new(2));
        "layer_norm": |x| layer_norm(&x[0], &x[1], &x[2], 1e-5);
        "rms_norm": |x| rms_norm(&x[0], &x[1], 1e-5);
        "group_norm": |x| group_norm(&x[0], 2, &x[1], &x[2], 1e-5);
        "batch_norm": |x| batch_norm(&"", x[0].raw(), x[1].raw(), x[2].raw(), None, 1e-5).unwrap().y.into();
        "batch_norm_eval": |x| {
            let statistics = (double([0.0, 0.0]), double([1.0, 1.0]));
            let statistics = Some((statistics.0.raw(), statistics.1.raw()));
            batch_norm(&"", x[0].raw(), x[1].raw(), x[2].raw(), statistics, 1e-5).unwrap().y.into()
        };
        "embedding": |x| embedding(&tensor(&[[1i64, 0, 2], [2, 2, 4]]), &x[0]).exp();
        "network": |x| {
            let y = linear(&x[0], &x[1], Some(&x[2])).gelu().matmul(&x[3].t());
            cross_entropy(&y, &tensor(&[0i64, 2, 1]))
        };
    }
}

#[rustfmt::skip]
fn sequences() -> Vec<(&'static str, Function)> {
    /// Returns the outputs of all steps and the last states, one after the other.
    fn recurrent(x: &[Tensor], cell: Cell, reverse: bool, valid: Option<&Tensor>) -> Tensor {
        let recurrence = Recurrence { cell, reverse, valid: valid.map(|valid| valid.raw().clone()), projection: None };
        let gates = linear(&x[0], &x[1], Some(&x[3]));
        let (y, state) = rnn(&"", &recurrence, gates.raw(), x[2].raw(), Some(x[4].raw()), x[5].raw()).unwrap();
        cat(&[Tensor::from(y), state.into()], 0)
    }
    fn attend(x: &[Tensor], mask: AttentionMask) -> Tensor {
        scaled_dot_product_attention(&x[0], &x[1], &x[2], &mask)
    }
    cases! {
        "rnn_tanh": |x| recurrent(x, Cell::Tanh, false, None);
        "rnn_relu": |x| recurrent(x, Cell::Relu, false, None);
        "lstm": |x| recurrent(x, Cell::Lstm, false, None);
        "gru": |x| recurrent(x, Cell::Gru, false, None);
        "gru_padded": |x| {
            let valid = tensor(&[[1, 1], [1, 1], [1, 0], [1, 0]]).gt(0);
            recurrent(x, Cell::Gru, true, Some(&valid))
        };
        "attention": |x| attend(x, AttentionMask::none());
        "attention_masked": |x| attend(x, AttentionMask::none().keys(&tensor(&[[1, 1, 0, 1, 1], [1, 0, 1, 1, 0]])));
        "attention_heads": |x| attention_of_heads(&[x[0].raw()], &Heads { count: 2, batch_first: true, keys: None }, &AttentionMask::causal()).unwrap().unwrap().into();
    }
}

#[rustfmt::skip]
fn losses() -> Vec<(&'static str, Function)> {
    fn classes() -> Tensor {
        tensor(&[2i64, 0, 1, 1])
    }
    cases! {
        "cross_entropy": |x| cross_entropy(&x[0], &classes());
        "cross_entropy_smooth": |x| {
            let weight = &read("second", &CPU)["of_classes"];
            let loss = CrossEntropyLoss::new().weight(weight).ignore_index(0);
            loss.label_smoothing(0.1).forward(&x[0], &classes())
        };
        "cross_entropy_probabilities": |x| cross_entropy(&x[0], &x[1]);
        "cross_entropy_images": |x| cross_entropy(&x[0], &classes().reshape((2, 2)));
        "nll_loss": |x| nll_loss(&x[0].log_softmax(1), &classes());
        "mse_loss": |x| mse_loss(&x[0], &x[1]);
        "l1_loss": |x| l1_loss(&x[0].exp(), &x[1]);
        "huber_loss": |x| huber_loss(&x[0], &x[1], 0.8);
        "smooth_l1_loss": |x| smooth_l1_loss(&x[0], &x[1], 0.8);
        "bce_with_logits": |x| bce_with_logits(&x[0], &x[1]);
        "kl_div": |x| kl_div(&x[0].log_softmax(1), &x[1].softmax(1));
    }
}

/// WGAN-GP: the gradients of a norm of gradients.
#[test]
fn a_gradient_penalty_has_the_gradients_of_pytorch() {
    let all = read("second", &CPU);
    let x = inputs(&all, "penalty");
    let hidden = leaky_relu(&linear(&x[0], &x[1], Some(&x[2])), 0.2);
    let score = linear(&hidden, &x[3], None).sum_all();
    let slope = score.backward_graph().of(&x[0]);
    let penalty = (slope.norm(1) - 1.0).sqr().mean_all();
    assert_close(&penalty, &all["penalty.value"], NEAR, "the penalty");
    let gradients = penalty.backward();
    for (i, x) in x.iter().enumerate() {
        let want = &all[&format!("penalty.gradient.{i}")];
        assert_close(&gradients.of(x), want, NEAR, &format!("gradient {i}"));
    }
}

/// Third derivatives, and a Hessian times a vector by finite differences.
#[test]
fn higher_derivatives_and_hessians() {
    let x = variable(&double([0.5, 2.0]));
    let first = &grad_graph(&x.pow(5).sum_all(), &[&x])[0];
    let second = &grad_graph(&first.sum_all(), &[&x])[0];
    let third = &grad(&second.sum_all(), &[&x])[0];
    assert_eq!(third.to_vec1::<f64>(), [60.0 * 0.25, 60.0 * 4.0]);

    let loss = |x: &Tensor| {
        let image = x.reshape((1, 1, 4, 4));
        let kernel = x.narrow(0, 3, 4).reshape((1, 1, 2, 2));
        conv2d(&image, &kernel, None, Conv2dSpec::new())
            .tanh()
            .sqr()
            .sum_all()
    };
    let values: Vec<f64> = (0..16).map(|i| (i as f64 * 1.3).sin()).collect();
    let v: Vec<f64> = (0..16).map(|i| (i as f64 * 0.7).cos()).collect();
    let (values, v) = (double(values), double(v));
    let x = variable(&values);
    let slope = &grad_graph(&loss(&x), &[&x])[0];
    let product = &grad(&(slope * &v).sum_all(), &[&x])[0];
    let slope_at = |step: f64| {
        let x = variable(&(&values + &v * step));
        loss(&x).backward().of(&x)
    };
    let near = (slope_at(1e-5) - slope_at(-1e-5)) / 2e-5;
    assert_close(product, &near, 1e-7, "the Hessian times a vector");
}

#[test]
fn what_has_no_second_derivatives_is_named() {
    let x = variable(&tensor(&[1.0, 2.0]));
    let y = x.apply(&candle_core::Tensor::exp).sum_all();
    let refusal = attempt(|| y.backward_graph()).err().unwrap().to_string();
    assert!(refusal.contains("an operation of Candle's"), "{refusal}");
}

#[test]
fn layers_have_second_derivatives() {
    let x = variable(&crate::tensor::randn((2, 4, 3, 3)));
    for layer in [
        Box::new(GroupNorm::new(2, 4)) as Box<dyn Layer>,
        Box::new(BatchNorm2d::new(4)),
    ] {
        let slope = layer.forward(&x).exp().sum_all().backward_graph().of(&x);
        let gradients = slope.sqr().sum_all().backward();
        let weight = layer.parameters()[0].tensor();
        assert!(
            gradients.of(&weight).abs().sum_all().item() > 0.0,
            "{}",
            layer.describe()
        );
        let slope = evaluating(&layer, || {
            layer.forward(&x).exp().sum_all().backward_graph().of(&x)
        });
        assert!(slope.track_op());
    }
}
