//! Ready-made comparisons: CPU against GPU, transfers, copies and logging.
//!
//! Each function returns a result that is shown as a table and that has `plot()`. None needs a GPU:
//! without one they measure the CPU, and a note below the table says so.

use super::benchmark::{Timing, Timings, benchmark};
use super::comparison::{Column, Comparison, Unit};
use super::outcome::Outcome;
use crate::data::{Batch, BatchData};
use crate::device::{DeviceExt, cpu, gpu};
use crate::error::{Result, attempt, refuse};
use crate::tensor::{Raw, Tensor, check_size, rand, with_device, with_seed};
use crate::train::{AnyModel, Module, Steps, steps};
use candle_core::{DType, Device};

/// Measures the same work for several sizes, on the CPU and on the first GPU.
///
/// `make` creates the input of `work` for a size; during its call, the device is the default device. Only `work` is
/// measured.
///
/// # Errors
/// Returns an error of `work`, and an error if there are no sizes, a size is 0, or the user
/// interrupts the cell.
///
/// ```
/// use taper::prelude::*;
///
/// // Matrix products of two sizes.
/// let products = compare_devices(&[8, 64], |n| rand((n, n)), |x| x.matmul(x))?;
/// assert!(products.show_text().starts_with("size "));
/// assert!(products.plot().svg().contains("cpu"));
/// # Ok::<(), Error>(())
/// ```
pub fn compare_devices<X, Y: Outcome>(
    sizes: &[usize],
    make: impl FnMut(usize) -> X,
    work: impl FnMut(&X) -> Y,
) -> Result<Comparison> {
    let (mut make, mut work) = (make, work);
    let mut timing = |size, device: &Device| {
        let x = with_device(device, || make(size));
        benchmark("", device, || work(&x))
    };
    let (devices, note) = cpu_and_gpu();
    devices_on(&devices, sizes, &mut timing).map(|table| table.with_note(note))
}

fn devices_on(
    devices: &[Device],
    sizes: &[usize],
    timing: &mut dyn FnMut(usize, &Device) -> Result<Timing>,
) -> Result<Comparison> {
    check_sizes("compare_devices", sizes)?;
    let mut columns = Vec::new();
    for device in devices {
        let times = sizes.iter().map(|&size| timing(size, device));
        columns.push(Column::times(
            device.label(),
            &times.collect::<Result<Vec<_>>>()?,
        ));
    }
    columns.extend(speed_up(&columns));
    Ok(Comparison::new("size", sizes, columns))
}

/// Measures training steps with several batch sizes, on the CPU and on the first GPU.
///
/// The columns are the time of a step, samples per second and, for a GPU, the time of the batch's
/// transfer, its share of the step, and the speed-up over the CPU. The examples of `batch` are repeated
/// as often as needed. The model itself does not change: copies are trained.
///
/// # Errors
/// Returns an error if a batch size is 0, the batch is empty or the user interrupts the cell.
///
/// ```
/// use taper::prelude::*;
///
/// let model = Classifier::new(seq![Linear::new(4, 8), ReLU, Linear::new(8, 2)], 0.1);
/// let batch = Batch { x: rand((16, 4)), y: randint(0, 2, 16) };
/// let speeds = compare_batch_sizes(&model, &batch, &[4, 16])?;
/// assert_eq!(speeds.values("cpu samples/s")?.len(), 2);
/// # Ok::<(), Error>(())
/// ```
pub fn compare_batch_sizes<M: Module>(
    model: &M,
    batch: &Batch,
    batch_sizes: &[usize],
) -> Result<Comparison> {
    let (devices, note) = cpu_and_gpu();
    let model: (&dyn AnyModel, &dyn Steps) = (model, steps::<M, Batch, Tensor>());
    let table = with_seed(0, || batch_sizes_on(&devices, model, batch, batch_sizes));
    table.map(|table| table.with_note(note))
}

fn batch_sizes_on(
    devices: &[Device],
    model: (&dyn AnyModel, &dyn Steps),
    batch: &Batch,
    batch_sizes: &[usize],
) -> Result<Comparison> {
    check_sizes("compare_batch_sizes", batch_sizes)?;
    refuse!(if batch.is_empty();
        "compare_batch_sizes: the batch is empty"; "Pass at least one example");
    let (mut columns, mut times) = (Vec::new(), Vec::new());
    for (i, device) in devices.iter().enumerate() {
        let (steps, moves) = steps_on(device, model, batch, batch_sizes)?;
        let label = device.label();
        let step = Column::times(&label, &steps);
        let (rate, unit) = (format!("{label} samples/s"), Unit::Rate("samples/s"));
        columns.extend([step.clone(), step.per_second(rate, unit, batch_sizes)]);
        if i > 0 {
            let moving = Column::times(format!("to {label}"), &moves);
            columns.push(moving.share_of(&step, "share of that"));
            let last = columns.len() - 1;
            columns.insert(last, moving);
        }
        times.push(step);
    }
    columns.extend(speed_up(&times));
    Ok(Comparison::new("batch size", batch_sizes, columns))
}

/// Measures, for each batch size, a step that starts with the batch on the CPU, and the transfer
/// alone.
fn steps_on(
    device: &Device,
    (model, does): (&dyn AnyModel, &dyn Steps),
    batch: &Batch,
    batch_sizes: &[usize],
) -> Result<(Vec<Timing>, Vec<Timing>)> {
    let model = model.copied_to(device)?;
    model.set_training(false);
    does.forward(&*model, &batch.part(0, 1, device)?); // initialises lazy layers
    model.set_training(true);
    let mut optimizer = does.optimizer(&*model);
    let (mut steps, mut moves) = (Vec::new(), Vec::new());
    for &size in batch_sizes {
        let examples: Vec<u32> = (0..size).map(|i| (i % batch.len()) as u32).collect();
        let examples = Tensor::from_vec_on(examples, size, &cpu());
        let rows = |x: &Tensor| x.to_device(&cpu()).index_select(&examples, 0);
        let (x, y) = (rows(&batch.x), rows(&batch.y));
        let batch = Batch { x, y };
        steps.push(benchmark("", device, || {
            let loss = does.training(&*model, &batch.to_device(device)?);
            optimizer.step(&loss.backward());
            Ok(())
        })?);
        moves.push(benchmark("", device, || batch.to_device(device))?);
    }
    Ok((steps, moves))
}

/// Measures transfers to a device and back: their time and their speed in bytes per second.
///
/// On the CPU it measures copies in main memory.
///
/// # Errors
/// Returns an error if a size is 0, the device runs out of memory, or the user interrupts the cell.
///
/// ```
/// use taper::prelude::*;
///
/// let transfers = compare_transfers(&try_gpu(0), &[1_000, 1_000_000])?;
/// assert_eq!(transfers.sizes(), [1_000, 1_000_000]);
/// # Ok::<(), Error>(())
/// ```
pub fn compare_transfers(device: &Device, bytes: &[usize]) -> Result<Comparison> {
    check_sizes("compare_transfers", bytes)?;
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for &size in bytes {
        let here = bytes_of_zeros(size)?;
        there.push(benchmark("", device, || here.copy_to(device))?);
        if !device.is_cpu() {
            let away = attempt(|| here.to_device(device))?;
            back.push(benchmark("", device, || away.copy_to(&cpu()))?);
        }
    }
    let label = device.label();
    let directions = match device.is_cpu() {
        true => vec![("copy".to_owned(), there)],
        false => vec![
            (format!("to {label}"), there),
            (format!("from {label}"), back),
        ],
    };
    let columns = directions.iter().flat_map(|(name, timings)| {
        let times = Column::times(name, timings);
        let rate = times.per_second(format!("{name}, speed"), Unit::Rate("B/s"), bytes);
        [times, rate]
    });
    let table = Comparison::new("bytes", bytes, columns.collect());
    Ok(table.with_note(in_main_memory(device)))
}

/// Compares one large copy to a device with many small copies of the same bytes.
///
/// On the CPU it measures copies in main memory.
///
/// # Errors
/// Returns an error if there are fewer bytes than pieces, the device runs out of memory, or the user
/// interrupts the cell.
///
/// ```
/// use taper::prelude::*;
///
/// let copies = compare_copies(&try_gpu(0), 1_000_000, 100)?;
/// assert!(copies.show_text().contains("100 copies"));
/// assert!(copies.plot().svg().contains("1 copy"));
/// # Ok::<(), Error>(())
/// ```
pub fn compare_copies(device: &Device, bytes: usize, pieces: usize) -> Result<Timings> {
    refuse!(if pieces == 0 || bytes < pieces;
        "compare_copies: cannot divide {bytes} bytes into {pieces} pieces";
        "Pass at least one piece, and at least one byte per piece");
    let size = bytes / pieces;
    let big = bytes_of_zeros(size * pieces)?;
    let small: Vec<Tensor> = (0..pieces)
        .map(|_| bytes_of_zeros(size))
        .collect::<Result<_>>()?;
    let copy_all = || -> Vec<Tensor> { small.iter().map(|x| x.copy_to(device)).collect() };
    let mut timings = Timings::new();
    timings.push(benchmark("1 copy", device, || big.copy_to(device))?);
    timings.push(benchmark(format!("{pieces} copies"), device, copy_all)?);
    Ok(timings.with_note(in_main_memory(device)))
}

/// Measures what logging in every step costs, on the CPU and on the first GPU.
///
/// Computes products of square matrices and copies their norms to the CPU one at a time, or all at
/// the end. Follows an exercise of d2l's chapter *GPUs*, with 1000 products of 100 × 100.
///
/// # Errors
/// Returns an error if an argument is 0, or the user interrupts the cell.
///
/// ```
/// use taper::prelude::*;
///
/// let timings = compare_logging(10, 8)?; // 10 products of 8 × 8
/// assert!(timings.milliseconds().len() >= 2);
/// # Ok::<(), Error>(())
/// ```
pub fn compare_logging(products: usize, size: usize) -> Result<Timings> {
    check_sizes("compare_logging", &[products, size])?;
    let (devices, note) = cpu_and_gpu();
    let mut timings = Timings::new();
    for device in &devices {
        let x = with_seed(0, || rand((size, size))).to_device(device);
        let norm = || x.matmul(&x).sqr().sum_all().sqrt();
        let each = || -> Vec<f64> { (0..products).map(|_| norm().item()).collect() };
        let together = || {
            let norms: Vec<Tensor> = (0..products).map(|_| norm()).collect();
            Tensor::stack(&norms, 0).to_vec1::<f32>()
        };
        let label = device.label();
        timings.push(benchmark(
            format!("{label}, each norm fetched"),
            device,
            each,
        )?);
        timings.push(benchmark(
            format!("{label}, fetched at the end"),
            device,
            together,
        )?);
    }
    Ok(timings.with_note(note))
}

/// Returns a tensor of this many bytes on the CPU.
fn bytes_of_zeros(size: usize) -> Result<Tensor> {
    check_size("bytes", &[size], 1, &cpu())?;
    Ok(Raw::zeros(size, DType::U8, &cpu()).map(Tensor::from)?)
}

/// Returns the CPU and the first GPU, or the CPU and a note that says why there is no GPU.
fn cpu_and_gpu() -> (Vec<Device>, Option<String>) {
    match gpu(0) {
        Ok(gpu) => (vec![cpu(), gpu], None),
        Err(error) => (
            vec![cpu()],
            Some(format!("Only the CPU was measured: {}", reason(&error))),
        ),
    }
}

fn in_main_memory(device: &Device) -> Option<String> {
    let sentence = "Nothing leaves the main memory: these are copies on the CPU";
    device.is_cpu().then(|| match gpu(0) {
        Ok(_) => sentence.to_owned(),
        Err(error) => format!("{sentence}; {}", reason(&error)),
    })
}

fn reason(error: &crate::error::Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Computes how many times faster the last device is than the first.
fn speed_up(times: &[Column]) -> Option<Column> {
    match times {
        [first, .., last] => Some(first.ratio_to(last, "speed-up")),
        _ => None,
    }
}

fn check_sizes(what: &str, sizes: &[usize]) -> Result<()> {
    refuse!(if sizes.is_empty() || sizes.contains(&0);
        "{what}: expected sizes of at least 1, found {sizes:?}";
        "Pass sizes such as &[16, 64, 256]");
    Ok(())
}

#[cfg(test)]
mod tests;
