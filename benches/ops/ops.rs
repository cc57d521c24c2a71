//! Single operations, by Taper's functions or by Candle's methods, for `run.py`.
//!
//!     ops taper|candle|machine
//!
//! Each line of the input is the milliseconds for which to repeat a case, and the case in JSON; the answer
//! is a line with the milliseconds of each repetition. If the peer has no function for the case, the answer is
//! an empty line.

mod machine;

use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::Instant;
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

/// Returns the operation on random inputs, with its backward pass if the case asks for one.
fn build(case: &Value, taper: bool) -> Result<Option<Work>> {
    let inputs = inputs(case)?;
    let op = case["op"].as_str().expect("an operation").to_owned();
    if op == "sgd" || op == "adamw" {
        return optimizer(&op, &inputs, taper).map(Some);
    }
    let Some(function) = function(&op, case, taper) else {
        return Ok(None);
    };
    if case["gradient"] == true {
        return Ok(Some(Box::new(move || {
            let y = function(&inputs)?;
            let gradients = match taper {
                true => backward(&y),
                false => y.backward(),
            };
            gradients.map(drop)
        })));
    }
    Ok(Some(Box::new(move || {
        no_grad(|| function(&inputs)).map(drop)
    })))
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
        let x = (randn(shape, &cpu())?.to_dtype(dtype)?.abs()? + 0.1)?;
        inputs.push(match case["gradient"] == true {
            true => Var::from_tensor(&x)?.as_tensor().clone(),
            false => x,
        });
    }
    if let Some(classes) = case["classes"].as_i64() {
        let count = case["count"].as_u64().expect("a count") as usize;
        inputs.push(randint(0, classes, count, &cpu())?);
    }
    Ok(inputs)
}

type Function = Box<dyn Fn(&[Tensor]) -> Result<Tensor>>;

/// Returns Taper's function for the operation, or the one that Candle's documentation names; `None` if there is
/// none.
fn function(op: &str, case: &Value, taper: bool) -> Option<Function> {
    let setting = |name: &str, usual: u64| case[name].as_u64().unwrap_or(usual) as usize;
    let dim = setting("dim", 0);
    let (stride, padding, groups) = (
        setting("stride", 1),
        setting("padding", 0),
        setting("groups", 1),
    );
    let spec = Conv2dSpec::new()
        .stride(stride)
        .padding(padding)
        .groups(groups);
    Some(match (op, taper) {
        ("matmul", true) => Box::new(|x| matmul(&x[0], &x[1])),
        ("matmul", false) => Box::new(|x| x[0].matmul(&x[1])),
        ("linear", true) => Box::new(|x| linear(&x[0], &x[1], None)),
        ("linear", false) => Box::new(|x| x[0].matmul(&x[1].t()?)),
        ("conv2d", true) => Box::new(move |x| conv2d(&x[0], &x[1], None, spec)),
        ("conv2d", false) => Box::new(move |x| x[0].conv2d(&x[1], padding, stride, 1, groups)),
        ("softmax", true) => Box::new(move |x| softmax(&x[0], dim)),
        ("softmax", false) => Box::new(move |x| candle_nn::ops::softmax(&x[0], dim)),
        ("log_softmax", true) => Box::new(move |x| log_softmax(&x[0], dim)),
        ("log_softmax", false) => Box::new(move |x| candle_nn::ops::log_softmax(&x[0], dim)),
        ("layer_norm", true) => Box::new(|x| layer_norm(&x[0], &x[1], &x[2], 1e-5)),
        ("layer_norm", false) => {
            Box::new(|x| candle_nn::ops::layer_norm_slow(&x[0], &x[1], &x[2], 1e-5))
        }
        ("rms_norm", true) => Box::new(|x| rms_norm(&x[0], &x[1], 1e-5)),
        ("rms_norm", false) => Box::new(|x| candle_nn::ops::rms_norm_slow(&x[0], &x[1], 1e-5)),
        ("relu", true) => Box::new(|x| relu(&x[0])),
        ("relu", false) => Box::new(|x| x[0].relu()),
        ("gelu", true) => Box::new(|x| gelu(&x[0])),
        ("gelu", false) => Box::new(|x| x[0].gelu_erf()),
        ("sigmoid", true) => Box::new(|x| sigmoid(&x[0])),
        ("sigmoid", false) => Box::new(|x| candle_nn::ops::sigmoid(&x[0])),
        ("tanh", true) => Box::new(|x| tanh(&x[0])),
        ("tanh", false) => Box::new(|x| x[0].tanh()),
        ("exp", true) => Box::new(|x| exp(&x[0])),
        ("exp", false) => Box::new(|x| x[0].exp()),
        ("log", true) => Box::new(|x| log(&x[0])),
        ("log", false) => Box::new(|x| x[0].log()),
        ("cross_entropy", true) => Box::new(|x| cross_entropy(&x[0], &x[1])),
        ("cross_entropy", false) => Box::new(|x| candle_nn::loss::cross_entropy(&x[0], &x[1])),
        ("embedding", true) => Box::new(|x| embedding(&x[1], &x[0])),
        ("embedding", false) => Box::new(|x| x[0].embedding(&x[1])),
        ("max_pool2d", true) => Box::new(|x| max_pool2d(&x[0], Pool2dSpec::new(2))),
        ("max_pool2d", false) => Box::new(|x| x[0].max_pool2d(2)),
        ("attention", true) => Box::new(|x| {
            scaled_dot_product_attention(&x[0], &x[1], &x[2], &AttentionMask::causal())
        }),
        ("attention", false) => Box::new(|x| {
            let steps = x[0].dim(2)?;
            let mask = (Tensor::tril2(steps, DType::F32, &cpu())? - 1.0)?;
            let scores = (x[0].matmul(&x[1].t()?)? / (x[0].dim(3)? as f64).sqrt())?;
            let scores = scores.broadcast_add(&(mask * 1e9)?)?;
            candle_nn::ops::softmax(&scores, 3)?.matmul(&x[2])
        }),
        ("sum", true) => Box::new(move |x| sum(&x[0], dim)),
        ("sum", false) => Box::new(move |x| x[0].sum(dim)),
        ("max", true) => Box::new(move |x| max(&x[0], dim)),
        ("max", false) => Box::new(move |x| x[0].max(dim)),
        ("transpose", true) => Box::new(|x| contiguous(&x[0].t()?)),
        ("transpose", false) => Box::new(|x| x[0].t()?.contiguous()),
        // Taper has no functions of its own for these.
        ("add", _) => Box::new(|x| x[0].broadcast_add(&x[1])),
        ("mul", _) => Box::new(|x| x[0].broadcast_mul(&x[1])),
        ("affine", _) => Box::new(|x| x[0].affine(3.7, 0.5)),
        ("copy", _) => Box::new(|x| Tensor::copy(&x[0])),
        _ => return None,
    })
}

/// Returns a step of an optimiser, with the same gradients in each step.
fn optimizer(op: &str, inputs: &[Tensor], taper: bool) -> Result<Work> {
    let x = Parameter::new(&inputs[0].detach())?;
    let gradients = x.tensor()?.sqr()?.sum_all()?.backward()?;
    if taper {
        let mut optimizer: Box<dyn Optimizer> = match op {
            "sgd" => Box::new(Sgd::new(vec![x], 1e-6)),
            _ => Box::new(AdamW::new(vec![x], 1e-6)),
        };
        return Ok(Box::new(move || optimizer.step(&gradients)));
    }
    use candle_nn::Optimizer as _;
    let var = Var::from_tensor(&inputs[0].detach())?;
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
