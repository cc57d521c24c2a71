//! One model, with Taper's layers or with Candle's own, for `run.py`.
//!
//!     training taper|candle MODEL BATCH [DEVICE [train|infer]]
//!
//! The model `epoch` is LeNet; one step of it is an epoch of 60,000 images in batches.
//!
//! Each line of its input is a number of steps. For each step it prints the wall time and the processor
//! time in milliseconds.

mod candle_models;
mod larger;
mod nets;
mod papers;
mod taper_models;
mod written;

use std::io::{BufRead, Write};
use std::time::Instant;
use taper::prelude::*;
use written::Input;

/// A model with its batch: a call is one training step, or one forward pass for `infer`.
type Step = Box<dyn FnMut() -> Result<()>>;

/// Returns the shape of one example, and the number of classes.
fn task(model: &str) -> (Vec<usize>, usize) {
    match model {
        "mlp" | "mlp-norm" => (vec![784], 10),
        "lenet" | "lenet-relu" | "epoch" => (vec![1, 28, 28], 10),
        "leaf" => (vec![3, 128, 128], 2),
        "cifar" => (vec![3, 32, 32], 10),
        "resnet" => (vec![64, 32, 32], 10),
        "mlp-wide" => (vec![784], 10),
        "vgg" | "resnet18-16" | "resnet18-64" | "depthwise" | "dense" => (vec![3, 32, 32], 10),
        "unet" => (vec![3, 48, 48], 2),
        "lstm" => (vec![32, 64], 10),
        "gpt-128" => (vec![64], 65),
        "gpt-256" => (vec![128], 65),
        _ => panic!("there is no model {model}"),
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (peer, model, batch, device, inference) = match names.as_slice() {
        [peer, model, batch] => (*peer, *model, *batch, cpu(), false),
        [peer, model, batch, name] => (*peer, *model, *batch, device(name)?, false),
        [peer, model, batch, name, mode] => {
            (*peer, *model, *batch, device(name)?, *mode == "infer")
        }
        _ => panic!("training taper|candle MODEL BATCH [DEVICE [train|infer]]"),
    };
    let batch: usize = batch.parse().expect("a number of examples");
    manual_seed(0);
    let (shape, classes) = match written::input(model) {
        Some(Input::Values(shape)) => (shape.to_vec(), 1),
        Some(Input::Tokens(shape, tokens)) => (shape.to_vec(), tokens as usize),
        None => task(model),
    };
    let examples = if model == "epoch" { 60_000 } else { batch };
    let shape = [&[examples], shape.as_slice()].concat();
    let (x, y) = match model {
        "unet" => (
            randn(shape).to_device(&device),
            zeros((batch, 1, 48, 48)).to_device(&device),
        ),
        _ if model.starts_with("gpt")
            || matches!(written::input(model), Some(Input::Tokens(..))) =>
        {
            let tokens = randint(0, classes as i64, shape).to_device(&device);
            (tokens.clone(), tokens.flatten_all())
        }
        _ => {
            let y: Vec<i64> = (0..examples).map(|i| (i % classes) as i64).collect();
            (
                randn(shape).to_device(&device),
                tensor(y).to_device(&device),
            )
        }
    };
    let mut step = match peer {
        "taper" if model == "epoch" => taper_models::epoch(x, y, batch)?,
        "taper" => taper_models::step(model, x, y, inference),
        _ => candle_models::step(model, x.into(), y.into())?,
    };
    for line in std::io::stdin().lock().lines() {
        let steps: usize = line?.trim().parse().expect("a number of steps");
        let mut times = Vec::new();
        for _ in 0..steps {
            let began = (Instant::now(), processor_seconds());
            step()?;
            let (clock, processors) = (
                began.0.elapsed().as_secs_f64(),
                processor_seconds() - began.1,
            );
            times.push(format!("{:.4} {:.4}", clock * 1e3, processors * 1e3));
        }
        println!("{}", times.join(" "));
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Returns the processor time of this process.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
