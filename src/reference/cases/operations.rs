//! The operations of the cases: one arm for each.

use super::layers::{layer, mask};
use super::training::{optimizer, schedule};
use crate::nn::{BatchNorm1d, BatchNorm2d, Layer, ParametersExt, state_of};
use crate::ops::*;
use crate::tensor::Tensor;

/// The outputs of a case, and the tensors whose gradients are compared.
pub(super) struct Outcome {
    pub(super) outputs: Vec<Tensor>,
    pub(super) sources: Vec<Tensor>,
}

/// Runs an operation with settings `s` on the inputs `x`.
pub(super) fn operation(name: &str, s: &[f64], x: &[Tensor]) -> Outcome {
    let n = |i: usize| s[i] as usize;
    let pair = |i: usize| (n(i), n(i + 1));
    let pool = || Pool2dSpec::new(pair(0)).stride(pair(2)).padding(pair(4));
    let reduction = || REDUCTIONS[n(0)];
    let y = match name {
        "relu" => relu(&x[0]),
        "sigmoid" => sigmoid(&x[0]),
        "tanh" => tanh(&x[0]),
        "gelu" => gelu(&x[0]),
        "silu" => silu(&x[0]),
        "leaky_relu" => leaky_relu(&x[0], s[0]),
        "elu" => elu(&x[0], s[0]),
        "exp" => exp(&x[0]),
        "log" => log(&x[0]),
        "sum" => sum(&x[0], n(0)),
        "mean" => mean(&x[0], n(0)),
        "max" => max(&x[0], n(0)),
        "min" => min(&x[0], n(0)),
        "argmax" => argmax(&x[0], n(0)),
        "argmin" => argmin(&x[0], n(0)),
        "cat" => cat(x, n(0)),
        "matmul" => matmul(&x[0], &x[1]),
        "softmax" => softmax(&x[0], n(0)),
        "log_softmax" => log_softmax(&x[0], n(0)),
        "linear" => linear(&x[0], &x[1], x.get(2)),
        "conv2d" => {
            let spec = Conv2dSpec::new().stride(pair(0)).padding(pair(2));
            let spec = spec.dilation(pair(4)).groups(n(6));
            conv2d(&x[0], &x[1], x.get(2), spec)
        }
        "conv1d" => {
            let spec = Conv2dSpec::new().stride(n(0)).padding(n(1));
            conv1d(&x[0], &x[1], x.get(2), spec.dilation(n(2)).groups(n(3)))
        }
        "embedding" => embedding(&x[0], &x[1]),
        "max_pool2d" => max_pool2d(&x[0], pool()),
        "avg_pool2d" => avg_pool2d(&x[0], pool()),
        "adaptive_avg_pool2d" => adaptive_avg_pool2d(&x[0], pair(0)),
        "layer_norm" => layer_norm(&x[0], &x[1], &x[2], s[0]),
        "rms_norm" => rms_norm(&x[0], &x[1], s[0]),
        "group_norm" => group_norm(&x[0], n(0), &x[1], &x[2], s[1]),
        "batch_norm" | "batch_norm_eval" => return batch_norm(name, s, x),
        "mse_loss" => MSELoss::new().reduction(reduction()).forward(&x[0], &x[1]),
        "l1_loss" => L1Loss::new().reduction(reduction()).forward(&x[0], &x[1]),
        "huber_loss" => {
            let loss = HuberLoss::new().delta(s[1]).reduction(reduction());
            loss.forward(&x[0], &x[1])
        }
        "smooth_l1_loss" => {
            let loss = SmoothL1Loss::new().beta(s[1]).reduction(reduction());
            loss.forward(&x[0], &x[1])
        }
        "bce_with_logits" => {
            let mut loss = BCEWithLogitsLoss::new().reduction(reduction());
            if let Some(weight) = x.get(2) {
                loss = loss.pos_weight(weight);
            }
            loss.forward(&x[0], &x[1])
        }
        "kl_div" => KLDivLoss::new()
            .reduction(reduction())
            .forward(&x[0], &x[1]),
        "cross_entropy" => {
            let mut loss = CrossEntropyLoss::new().reduction(reduction());
            loss = loss.label_smoothing(s[1]);
            if s[2] > -1e9 {
                loss = loss.ignore_index(s[2] as i64);
            }
            if let Some(weight) = x.get(2) {
                loss = loss.weight(weight);
            }
            loss.forward(&x[0], &x[1])
        }
        "nll_loss" => {
            let mut loss = NLLLoss::new().reduction(reduction());
            if s[2] > -1e9 {
                loss = loss.ignore_index(s[2] as i64);
            }
            if let Some(weight) = x.get(2) {
                loss = loss.weight(weight);
            }
            loss.forward(&x[0], &x[1])
        }
        "one_hot" => one_hot(&x[0], n(0)),
        "scaled_dot_product_attention" => {
            scaled_dot_product_attention(&x[0], &x[1], &x[2], &mask(n(0), &x[3..]))
        }
        _ => match name.strip_prefix("schedule ") {
            Some(kind) => schedule(kind, s, x),
            None if x.len() == 3 && x[2].dims().get(1) == Some(&10) => {
                return optimizer(name, s, x);
            }
            None => return layer(name, s, x),
        },
    };
    Outcome {
        outputs: vec![y],
        sources: x.to_vec(),
    }
}

const REDUCTIONS: [Reduction; 4] = [
    Reduction::Mean,
    Reduction::Sum,
    Reduction::None,
    Reduction::BatchMean,
];

/// Runs a batch normalisation; in training its running statistics are outputs, too.
fn batch_norm(name: &str, s: &[f64], x: &[Tensor]) -> Outcome {
    let channels = x[1].elem_count();
    let (eps, momentum) = (s[0], s.get(1).copied().unwrap_or(0.1));
    let mut layer: Box<dyn Layer> = match x[0].rank() {
        4 => Box::new(BatchNorm2d::new(channels).eps(eps).momentum(momentum)),
        _ => Box::new(BatchNorm1d::new(channels).eps(eps).momentum(momentum)),
    };
    layer.to_dtype(x[0].dtype());
    let parameters = layer.parameters();
    for (parameter, values) in parameters.iter().zip(&x[1..]) {
        parameter.set(&values.detach());
    }
    let training = name == "batch_norm";
    match training {
        true => layer.train(),
        false => layer.eval(),
    }
    let mut outputs = vec![layer.forward(&x[0])];
    if training {
        let buffers = state_of(&layer).into_iter();
        let running = buffers.filter(|entry| entry.name.starts_with("running"));
        for entry in running {
            outputs.push(entry.parameter.tensor());
        }
    }
    let mut sources = vec![x[0].clone()];
    for parameter in &parameters {
        sources.push(parameter.tensor());
    }
    Outcome { outputs, sources }
}
