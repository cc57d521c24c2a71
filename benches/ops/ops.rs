//! Single operations, by Taper's functions or by Candle's methods, for `run.py`.
//!
//!     ops taper|candle|machine
//!
//! Each line of the input is the milliseconds for which to repeat a case, and the case in JSON; the answer
//! is a line with the milliseconds of each repetition. If the peer has no function for the case, the answer is
//! an empty line.

mod machine;
mod methods;

use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::Instant;
use taper::candle_core::{Result, Tensor as Candle, Var};
use taper::candle_nn;
use taper::prelude::*;

type Work = Box<dyn FnMut() -> Result<()>>;

fn main() -> Result<()> {
    let peer = std::env::args().nth(1).expect("taper, candle or machine");
    manual_seed(0);
    let mut cases: HashMap<String, Option<Work>> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (milliseconds, text) = line.split_once(' ').expect("milliseconds and a case");
        let milliseconds: f64 = milliseconds.parse().expect("milliseconds");
        let case: Value = serde_json::from_str(text).expect("a case in JSON");
        let work = match cases.get_mut(text) {
            Some(work) => work,
            None => {
                let work = match peer.as_str() {
                    "machine" => Some(machine::work(&case)),
                    _ => build(&case, peer == "taper")?,
                };
                cases.entry(text.to_owned()).or_insert(work)
            }
        };
        let times = work
            .as_mut()
            .map_or(Ok(vec![]), |work| repeat(work, milliseconds))?;
        let times: Vec<String> = times.iter().map(|time| format!("{time:.5}")).collect();
        println!("{}", times.join(" "));
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn repeat(work: &mut Work, milliseconds: f64) -> Result<Vec<f64>> {
    let (began, mut times) = (Instant::now(), vec![]);
    while times.len() < 3 || began.elapsed().as_secs_f64() * 1e3 < milliseconds {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

/// Returns the operation on random inputs, with its backward pass if the case asks for one: then the loss is the sum of the
/// result.
fn build(case: &Value, taper: bool) -> Result<Option<Work>> {
    let inputs = inputs(case)?;
    let op = case["op"].as_str().expect("an operation").to_owned();
    let settings = Settings::of(case);
    if op == "sgd" || op == "adamw" {
        return match taper {
            true => Ok(Some(optimizer(&op, &inputs[0]))),
            false => candle_optimizer(&op, &inputs[0]).map(Some),
        };
    }
    let gradient = case["gradient"] == true;
    if case["method"] == true {
        let method = methods::method(&op).filter(|_| taper);
        return Ok(method.map(|method| work(method, inputs, gradient)));
    }
    Ok(match taper {
        true => function(&op, settings).map(|function| work(function, inputs, gradient)),
        false => candle_function(&op, settings).map(|function| {
            let inputs = inputs.into_iter().map(Candle::from).collect();
            candle_work(function, inputs, gradient)
        }),
    })
}

fn work(function: Function, inputs: Vec<Tensor>, gradient: bool) -> Work {
    Box::new(move || {
        match gradient {
            true => drop(function(&inputs).sum_all().backward()),
            false => drop(no_grad(|| function(&inputs))),
        }
        Ok(())
    })
}

fn candle_work(function: CandleFunction, inputs: Vec<Candle>, gradient: bool) -> Work {
    Box::new(move || match gradient {
        true => Ok(function(&inputs)?.sum_all()?.backward().map(drop)?),
        false => Ok(function(&inputs).map(drop)?),
    })
}

/// Returns random inputs of the case's shapes: variables if the case needs gradients, otherwise tensors. With
/// `classes`, the last input contains indices below it.
fn inputs(case: &Value) -> Result<Vec<Tensor>> {
    let dtype = match case["dtype"] == "f64" {
        true => DType::F64,
        false => DType::F32,
    };
    let mut inputs = vec![];
    for shape in case["shapes"].as_array().expect("shapes") {
        let shape: Vec<usize> = serde_json::from_value(shape.clone()).expect("a shape");
        let x = randn(shape).to_dtype(dtype).abs() + 0.1;
        inputs.push(match case["gradient"] == true {
            true => Tensor::from(&Var::from_tensor(x.as_candle())?),
            false => x,
        });
    }
    if let Some(classes) = case["classes"].as_i64() {
        let count = case["count"].as_u64().expect("a count") as usize;
        inputs.push(randint(0, classes, count));
    }
    Ok(inputs)
}

/// The settings of a case.
#[derive(Clone, Copy)]
struct Settings {
    dim: usize,
    stride: usize,
    padding: usize,
    groups: usize,
}

impl Settings {
    fn of(case: &Value) -> Self {
        let setting = |name: &str, usual: u64| case[name].as_u64().unwrap_or(usual) as usize;
        Self {
            dim: setting("dim", 0),
            stride: setting("stride", 1),
            padding: setting("padding", 0),
            groups: setting("groups", 1),
        }
    }
}

type Function = Box<dyn Fn(&[Tensor]) -> Tensor>;
type CandleFunction = Box<dyn Fn(&[Candle]) -> taper::candle_core::Result<Candle>>;

/// Returns Taper's function for the operation; `None` if there is none.
fn function(op: &str, settings: Settings) -> Option<Function> {
    let dim = settings.dim;
    let spec = Conv2dSpec::new()
        .stride(settings.stride)
        .padding(settings.padding)
        .groups(settings.groups);
    Some(match op {
        "matmul" => Box::new(|x| x[0].matmul(&x[1])),
        "linear" => Box::new(|x| linear(&x[0], &x[1], None)),
        "conv2d" => Box::new(move |x| conv2d(&x[0], &x[1], None, spec)),
        "softmax" => Box::new(move |x| x[0].softmax(dim)),
        "log_softmax" => Box::new(move |x| x[0].log_softmax(dim)),
        "layer_norm" => Box::new(|x| layer_norm(&x[0], &x[1], &x[2], 1e-5)),
        "rms_norm" => Box::new(|x| rms_norm(&x[0], &x[1], 1e-5)),
        "batch_norm" => {
            let layer = LazyBatchNorm1d::new();
            Box::new(move |x| layer.forward(&x[0]))
        }
        "group_norm" => Box::new(move |x| group_norm(&x[0], settings.groups, &x[1], &x[2], 1e-5)),
        "conv_transpose2d" => {
            let layer = LazyConvTranspose2d::new(8, 4).stride(2).padding(1);
            Box::new(move |x| layer.forward(&x[0]))
        }
        "upsample" | "upsample bilinear" => {
            let mode = match op {
                "upsample" => Interpolation::Nearest,
                _ => Interpolation::Bilinear,
            };
            let layer = Upsample::new(2.0).mode(mode);
            Box::new(move |x| layer.forward(&x[0]))
        }
        "pad reflect" => Box::new(|x| x[0].pad(&[1, 1, 1, 1], PaddingMode::Reflect)),
        "relu" => Box::new(|x| x[0].relu()),
        "gelu" => Box::new(|x| x[0].gelu()),
        "sigmoid" => Box::new(|x| x[0].sigmoid()),
        "tanh" => Box::new(|x| x[0].tanh()),
        "exp" => Box::new(|x| x[0].exp()),
        "log" => Box::new(|x| x[0].log()),
        "cross_entropy" => Box::new(|x| cross_entropy(&x[0], &x[1])),
        "embedding" => Box::new(|x| embedding(&x[1], &x[0])),
        "max_pool2d" => Box::new(|x| max_pool2d(&x[0], Pool2dSpec::new(2))),
        "attention" => Box::new(|x| {
            scaled_dot_product_attention(&x[0], &x[1], &x[2], &AttentionMask::causal())
        }),
        "sum" => Box::new(move |x| x[0].sum(dim)),
        "max" => Box::new(move |x| x[0].max(dim)),
        "transpose" => Box::new(|x| x[0].t().contiguous()),
        "add" => Box::new(|x| &x[0] + &x[1]),
        "mul" => Box::new(|x| &x[0] * &x[1]),
        "affine" => Box::new(|x| &x[0] * 3.7 + 0.5),
        "copy" => Box::new(|x| x[0].copy_to(&cpu())),
        _ => return None,
    })
}

/// Returns the function that Candle's documentation names for the operation; `None` if there is none.
fn candle_function(op: &str, settings: Settings) -> Option<CandleFunction> {
    let Settings {
        dim,
        stride,
        padding,
        groups,
    } = settings;
    Some(match op {
        "matmul" => Box::new(|x| x[0].matmul(&x[1])),
        "linear" => Box::new(|x| x[0].matmul(&x[1].t()?)),
        "conv2d" => Box::new(move |x| x[0].conv2d(&x[1], padding, stride, 1, groups)),
        "softmax" => Box::new(move |x| candle_nn::ops::softmax(&x[0], dim)),
        "log_softmax" => Box::new(move |x| candle_nn::ops::log_softmax(&x[0], dim)),
        "layer_norm" => Box::new(|x| candle_nn::ops::layer_norm_slow(&x[0], &x[1], &x[2], 1e-5)),
        "rms_norm" => Box::new(|x| candle_nn::ops::rms_norm_slow(&x[0], &x[1], 1e-5)),
        "relu" => Box::new(|x| x[0].relu()),
        "gelu" => Box::new(|x| x[0].gelu_erf()),
        "sigmoid" => Box::new(|x| candle_nn::ops::sigmoid(&x[0])),
        "tanh" => Box::new(|x| x[0].tanh()),
        "exp" => Box::new(|x| x[0].exp()),
        "log" => Box::new(|x| x[0].log()),
        "cross_entropy" => Box::new(|x| candle_nn::loss::cross_entropy(&x[0], &x[1])),
        "embedding" => Box::new(|x| x[0].embedding(&x[1])),
        "max_pool2d" => Box::new(|x| x[0].max_pool2d(2)),
        "attention" => Box::new(|x| {
            let steps = x[0].dim(2)?;
            let mask = (Candle::tril2(steps, DType::F32, &cpu())? - 1.0)?;
            let scores = (x[0].matmul(&x[1].t()?)? / (x[0].dim(3)? as f64).sqrt())?;
            let scores = scores.broadcast_add(&(mask * 1e9)?)?;
            candle_nn::ops::softmax(&scores, 3)?.matmul(&x[2])
        }),
        "sum" => Box::new(move |x| x[0].sum(dim)),
        "max" => Box::new(move |x| x[0].max(dim)),
        "transpose" => Box::new(|x| x[0].t()?.contiguous()),
        "add" => Box::new(|x| x[0].broadcast_add(&x[1])),
        "mul" => Box::new(|x| x[0].broadcast_mul(&x[1])),
        "affine" => Box::new(|x| x[0].affine(3.7, 0.5)),
        "copy" => Box::new(|x| x[0].copy()),
        _ => return None,
    })
}

/// Returns a step of an optimiser, with the same gradients in each step.
fn optimizer(op: &str, x: &Tensor) -> Work {
    let parameter = Parameter::new(&x.detach());
    let gradients = parameter.tensor().sqr().sum_all().backward();
    let mut optimizer: Box<dyn Optimizer> = match op {
        "sgd" => Box::new(SGD::new(vec![parameter], 1e-6)),
        _ => Box::new(AdamW::new(vec![parameter], 1e-6)),
    };
    Box::new(move || {
        optimizer.step(&gradients);
        Ok(())
    })
}

/// Returns a step of Candle's optimiser, with the same gradients in each step.
fn candle_optimizer(op: &str, x: &Tensor) -> Result<Work> {
    use candle_nn::Optimizer as _;
    let var = Var::from_tensor(&x.as_candle().detach())?;
    let gradients = var.sqr()?.sum_all()?.backward()?;
    Ok(match op {
        "sgd" => {
            let mut sgd = candle_nn::SGD::new(vec![var], 1e-6)?;
            Box::new(move || sgd.step(&gradients))
        }
        _ => {
            let mut adam = candle_nn::AdamW::new_lr(vec![var], 1e-6)?;
            Box::new(move || adam.step(&gradients))
        }
    })
}
