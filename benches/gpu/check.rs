//! Measurements on a GPU, which `cargo taper gpu-check` puts into its report:
//!
//!     check [cuda|cpu]
//!
//! Prints Markdown. Fails if replicas on one GPU compute other gradients than a single model.

#[path = "../training/nets.rs"]
mod nets;

use nets::{cifar, lenet};
use taper::prelude::*;

/// The tolerance for the gradients of two replicas, compared with those of a single model.
const NEAR: f32 = 1e-5;

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cuda".to_owned());
    let device = device(&name)?;
    println!("## Two replicas on one device\n");
    let off = replicas_off(&device)?;
    println!(
        "The gradients of [{name}, {name}] differ from those of {name} by at most {off:.1e} (allowed: {NEAR:.0e}).\n"
    );

    let example = Batch {
        x: rand((256, 3, 32, 32), &cpu())?,
        y: randint(0, 10, 256, &cpu())?,
    };
    let model = Classifier::new(cifar(), 0.01);
    let sizes = [16, 32, 64, 128, 256];
    table(
        "A step of training by batch size (the CNN of the GPU chapter)",
        &compare_batch_sizes(&model, &example, &sizes)?,
    );
    let products = |n: usize, device: &Device| rand((n, n), device);
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
        &compare_transfers(&device, &[1_000, 1_000_000, 100_000_000])?,
    );
    table(
        "One large copy against a thousand small ones",
        &compare_copies(&device, 10_000_000, 1000)?,
    );
    table(
        "An epoch of 4096 images: moved to the device by the loop, or ahead of it",
        &epochs(&device)?,
    );
    match off <= NEAR {
        true => Ok(()),
        false => Err(Error::Msg(format!("two replicas are off by {off}"))),
    }
}

/// Measures the gain if the thread that makes the batches also moves them to the device.
fn epochs(device: &Device) -> Result<Timings> {
    let x = rand((4096, 3, 32, 32), &cpu())?;
    let loader =
        DataLoader::new(TensorDataset::new(x, randint(0, 10, 4096, &cpu())?)?).batch_size(256);
    let mut model = Classifier::new(cifar(), 0.01);
    model.to_device(device)?;
    let mut timings = Timings::new();
    for (label, loader) in [
        ("moved by the loop", loader.clone()),
        ("moved ahead", loader.to_device(device)),
    ] {
        timings.push(benchmark(label, device, || {
            for batch in &loader {
                let batch = batch?.to_device(device)?;
                model.training_step(&batch)?.backward()?;
            }
            Ok(())
        })?);
    }
    Ok(timings)
}

fn table(title: &str, shown: &impl Show) {
    println!("## {title}\n\n```\n{}\n```\n", shown.show_text());
}

/// Returns the largest difference between the gradients of one model and of two replicas on a device.
fn replicas_off(device: &Device) -> Result<f32> {
    manual_seed(0);
    let batch = Batch {
        x: rand((64, 1, 28, 28), device)?,
        y: randint(0, 10, 64, device)?,
    };
    let mut model = Classifier::new(lenet(), 0.1);
    model.to_device(device)?;
    let gradients = model.training_step(&batch)?.backward()?;
    let parallel = DataParallel::new(model, &[device.clone(), device.clone()])?;
    let both = parallel.backward(&batch)?.gradients;
    let mut off = 0f32;
    for parameter in parallel.model().parameters() {
        let parameter = parameter.tensor()?;
        if let (Some(one), Some(two)) = (gradients.get(&parameter), both.get(&parameter)) {
            let difference = (one - two)?.abs()?.max_all()?.to_scalar()?;
            off = off.max(difference);
        }
    }
    Ok(off)
}
