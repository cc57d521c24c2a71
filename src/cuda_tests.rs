//! Tests of a build with CUDA: its messages on a machine without a GPU, and its behaviour on a GPU.

use crate::data::{Batch, DataLoader, TensorDataset};
use crate::device::*;
use crate::error::{Result, attempt};
use crate::nn::*;
use crate::seq;
use crate::tensor::{Tensor, arange, ones, rand, randn, tensor, with_device, with_seed, zeros};
use crate::train::{Classifier, Module};
use candle_core::Device;

/// Returns the first GPU; if there is none, prints the reason, and the test ends.
fn card() -> Option<Device> {
    gpu(0)
        .inspect_err(|error| eprintln!("skipped: {error}"))
        .ok()
}

fn numbers(x: &Tensor) -> Vec<f32> {
    x.to_vec()
}

#[test]
fn tensors_and_layers_are_created_on_the_default_device() {
    let Some(gpu) = card() else { return };
    let (x, layer) = with_device(&gpu, || (ones((2, 3)), Linear::new(3, 2)));
    assert!(!x.device().is_cpu() && !layer.parameter("weight").device().is_cpu());
    assert!(!layer.forward(&x).device().is_cpu() && zeros(1).device().is_cpu());
}

#[test]
fn without_a_gpu_the_reason_is_reported_and_try_gpu_returns_the_cpu() {
    let Err(error) = gpu(0) else {
        return;
    };
    let message = error.to_string();
    assert!(message.starts_with("no GPU can be used: "), "{message}");
    assert_eq!(message.lines().count(), 2, "{message}");
    assert_eq!(num_gpus(), 0);
    assert!(try_gpu(0).is_cpu());
    assert_eq!(try_all_gpus().len(), 1);
    assert!(device("cuda:0").is_err());
    let metal = device("metal").unwrap_err().to_string();
    assert!(metal.contains("no support for metal"), "{metal}");
}

#[test]
fn a_seed_fixes_the_same_values_as_on_the_cpu() {
    let Some(gpu) = card() else { return };
    let draw = |device: &Device| with_seed(7, || with_device(device, || randn((3, 4))));
    assert_eq!(numbers(&draw(&gpu)), numbers(&draw(&cpu())));
}

#[test]
fn copies_to_the_gpu_and_back_are_equal() {
    let Some(gpu) = card() else { return };
    let x = arange(0f32, 12f32).reshape((3, 4));
    let there = x.narrow(1, 1, 2).copy_to(&gpu);
    assert_eq!(there.device().label(), "cuda:0");
    assert_eq!(numbers(&there), [1., 2., 5., 6., 9., 10.]);
    assert!(there.shares_storage_with(&there.to_device(&gpu)));
    assert!(!there.shares_storage_with(&there.copy_to(&gpu)));
}

/// Each thread uses a tensor that another thread has computed without waiting for it.
#[test]
fn threads_see_what_others_have_computed() -> Result<()> {
    let Some(gpu) = card() else { return Ok(()) };
    for _ in 0..20 {
        let x = rand((700, 700)).to_device(&gpu);
        let y = (0..8).fold(x.clone(), |y, _| y.matmul(&x) / 350.0);
        let sum = std::thread::scope(|scope| {
            let sum = scope.spawn(|| y.sum_all().item());
            sum.join().expect("no panic")
        });
        synchronize(&gpu)?;
        assert_eq!(sum, y.sum_all().item());
    }
    Ok(())
}

#[test]
fn a_loader_returns_batches_of_a_data_set_on_the_gpu() -> Result<()> {
    let Some(gpu) = card() else { return Ok(()) };
    let sum = |device: &Device| {
        let x = arange(0f32, 1000f32).to_device(device).reshape((250, 4));
        let data = TensorDataset::new(x, zeros(250).to_device(device))?;
        let loader = DataLoader::new(data).batch_size(16).shuffle(true);
        with_seed(1, || {
            let sums = loader
                .into_iter()
                .map(|batch| Ok(batch?.x.sum_all().item()));
            sums.collect::<Result<Vec<f64>>>()
        })
    };
    assert_eq!(sum(&gpu)?, sum(&cpu())?);
    Ok(())
}

#[test]
fn a_class_out_of_range_leaves_the_gpu_usable() {
    let Some(gpu) = card() else { return };
    let net = seq![Linear::new(4, 3)];
    let mut model = Classifier::new(net, 0.1);
    model.to_device(&gpu);
    let loss = |classes: &[i64]| {
        let (x, y) = (
            ones((2, 4)).to_device(&gpu),
            tensor(classes).to_device(&gpu),
        );
        model.training_step(&Batch { x, y }).item()
    };
    assert!(loss(&[0, 3]).is_nan());
    assert!(loss(&[-1, 2]).is_nan());
    assert!(loss(&[0, 2]).is_finite());
    let mut words = Embedding::new(3, 2);
    words.to_device(&gpu);
    let rows = words.forward(&tensor(&[2, 3]).to_device(&gpu));
    let rows = numbers(&rows);
    assert!(rows[1].is_finite() && rows[2].is_nan(), "{rows:?}");
}

#[test]
fn a_tensor_that_is_too_large_reports_the_requested_size() {
    let Some(gpu) = card() else { return };
    let message = attempt(|| with_device(&gpu, || zeros((1 << 20, 1 << 20)))).unwrap_err();
    let message = message.to_string();
    assert!(message.starts_with("the GPU is out of memory: requested 4096.0 GiB, "));
    assert!(message.contains(" are free\n"), "{message}");
    assert_eq!(ones(2).to_device(&gpu).sum_all().item(), 2.0);
}

#[test]
fn an_index_out_of_range_is_refused() {
    let count = num_gpus();
    if count == 0 {
        return;
    }
    let message = gpu(count).unwrap_err().to_string();
    assert!(message.starts_with(&format!(
        "gpu: GPU {count} is out of range: there are {count}, counted from 0"
    )));
}
