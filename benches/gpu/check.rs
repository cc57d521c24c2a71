//! Checks and measurements on a GPU, which `cargo taper gpu-check` puts into its report:
//!
//!     check [cuda|cpu] [--no-measurements|--only-measurements] [--corrupt COMPUTATION]
//!
//! Prints Markdown. Fails if a check fails. With `--corrupt`, the card's result of a computation, such as `GELU`, is
//! made wrong, which must fail the check.

mod checks;
mod computations;
mod machine;
#[path = "../training/nets.rs"]
mod nets;

use checks::Report;
use computations::Batches;
use machine::{Fault, Machine};
use nets::cifar;
use std::process::ExitCode;
use std::time::Instant;
use taper::prelude::*;

fn main() -> Result<ExitCode> {
    let began = Instant::now();
    let (mut checked, mut measured) = (true, true);
    let (mut name, mut fault) = ("cuda".to_owned(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--no-measurements" => measured = false,
            "--only-measurements" => checked = false,
            "--corrupt" => fault = arguments.next().map(Fault::Off),
            _ => name = argument,
        }
    }
    let device = device(&name)?;
    let cards = match device.is_cpu() {
        true => vec![device.clone()],
        false => try_all_gpus(),
    };
    let x = ones((64, 64)).to_device(&device);
    let sum = x.matmul(&x).sum_all().item();
    let first = began.elapsed().as_secs_f64();
    println!("The first product, {sum}, was there {first:.1} s after the start.\n");
    let mut failed = 0;
    if checked {
        let report = Report::of(&Machine { cards, fault });
        println!("## Checks\n\n{report}\n");
        failed = report.failed();
    }
    if measured {
        measurements(&device)?;
    }
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn measurements(device: &Device) -> Result<()> {
    let largest = if device.is_cpu() { 256 } else { 4096 };
    let example = Batch {
        x: rand((largest, 3, 32, 32)),
        y: randint(0, 10, largest),
    };
    let model = Classifier::new(cifar(), 0.01);
    let sizes = [1, 16, 64, 256, 1024, 4096].into_iter();
    let sizes: Vec<usize> = sizes.filter(|size| *size <= largest).collect();
    table(
        "A step of training by batch size (the CNN of the GPU chapter)",
        &compare_batch_sizes(&model, &example, &sizes)?,
    );
    let products = |n: usize| rand((n, n));
    table(
        "Products of two matrices by size",
        &compare_devices(&[64, 256, 1024, 2048], products, |x| x.matmul(x))?,
    );
    table(
        "1000 products of 100 × 100: the norms fetched one by one, or logged on the device",
        &compare_logging(1000, 100)?,
    );
    table(
        "Transfers by size",
        &compare_transfers(device, &[1_000, 1_000_000, 100_000_000])?,
    );
    table(
        "One large copy against a thousand small ones",
        &compare_copies(device, 10_000_000, 1000)?,
    );
    table(
        "An epoch of 4096 images: moved to the device by the loop, or ahead of it",
        &epochs(device)?,
    );
    table(
        "An epoch of a wide network by a trainer: in 32 bits, and in mixed precision",
        &precisions(device)?,
    );
    Ok(())
}

/// Measures an epoch of a network whose steps are mostly products of matrices, in `f32` and in `bf16`.
fn precisions(device: &Device) -> Result<Timings> {
    let width = if device.is_cpu() { 128 } else { 4096 };
    let data = TensorDataset::new(rand((4 * width, width)), randint(0, 10, 4 * width))?;
    let data = Batches(DataLoader::new(data).batch_size(width));
    let mut timings = Timings::new();
    for precision in [DType::F32, DType::BF16] {
        let net = seq![
            Linear::new(width, width),
            ReLU,
            Linear::new(width, width),
            ReLU,
            Linear::new(width, 10)
        ];
        let mut model = Classifier::new(net, 0.01);
        let mut trainer = Trainer::new(1)
            .devices(std::slice::from_ref(device))
            .precision(precision);
        let epoch = || trainer.fit(&mut model, &data).map(drop);
        timings.push(benchmark(precision.as_str(), device, epoch)?);
    }
    Ok(timings)
}

/// Measures an epoch whose batches the loop moves to the device, and one whose batches the thread of the loader
/// moves ahead of the loop.
fn epochs(device: &Device) -> Result<Timings> {
    let x = rand((4096, 3, 32, 32));
    let data = TensorDataset::new(x, randint(0, 10, 4096))?;
    let loader = DataLoader::new(data).batch_size(256);
    let mut model = Classifier::new(cifar(), 0.01);
    model.to_device(device);
    let mut timings = Timings::new();
    for (label, loader) in [
        ("moved by the loop", loader.clone()),
        ("moved ahead", loader.to_device(device)),
    ] {
        timings.push(benchmark(label, device, || {
            for batch in &loader {
                let batch = batch?.to_device(device)?;
                model.training_step(&batch).backward();
            }
            Ok(())
        })?);
    }
    Ok(timings)
}

fn table(title: &str, shown: &impl Show) {
    println!("## {title}\n\n```\n{}\n```\n", shown.show_text());
}
