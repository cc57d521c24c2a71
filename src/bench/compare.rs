//! Experiments with the speed of devices: CPU against GPU, transfers, and logging.
//!
//! Each gives a result that shows itself as a table and has `plot()`. None needs a GPU: without one
//! they measure the CPU, and say so.

use super::benchmark::{Timing, Timings, benchmark};
use super::comparison::{Column, Comparison, Unit};
use crate::data::Batch;
use crate::device::{DeviceExt, cpu, gpu};
use crate::error::{Result, explain};
use crate::nn::ParametersExt;
use crate::tensor::{TensorExt, rand, with_seed};
use crate::train::Module;
use candle_core::{DType, Device, Tensor};

/// The same work for several sizes, on the CPU and on the first GPU.
///
/// `make` makes what the work needs, given a size and a device; only `work` is measured.
///
/// # Errors
/// Those of `make` and `work`, a size of 0, or that the reader asked to stop.
///
/// ```
/// use taper::prelude::*;
///
/// // Products of two matrices: small ones, and larger ones.
/// let products = compare_devices(&[8, 64], |n, device| rand((n, n), device), |x| x.matmul(x))?;
/// assert!(products.show_text().starts_with("size "));
/// let figure = products.plot();
/// # Ok::<(), Error>(())
/// ```
pub fn compare_devices<X, Y>(
    sizes: &[usize],
    make: impl FnMut(usize, &Device) -> Result<X>,
    work: impl FnMut(&X) -> Result<Y>,
) -> Result<Comparison> {
    let (devices, note) = cpu_and_gpu();
    devices_on(&devices, sizes, make, work).map(|table| table.with_note(note))
}

fn devices_on<X, Y>(
    devices: &[Device],
    sizes: &[usize],
    mut make: impl FnMut(usize, &Device) -> Result<X>,
    mut work: impl FnMut(&X) -> Result<Y>,
) -> Result<Comparison> {
    check_sizes("compare_devices", sizes)?;
    let mut columns = Vec::new();
    for device in devices {
        let times = sizes.iter().map(|&size| {
            let x = make(size, device)?;
            benchmark("", device, || work(&x))
        });
        columns.push(Column::times(
            device.label(),
            &times.collect::<Result<Vec<_>>>()?,
        ));
    }
    columns.extend(speed_up(&columns));
    Ok(Comparison::new("size", sizes, columns))
}

/// Steps of training with several batch sizes, on the CPU and on the first GPU: how long one takes,
/// how many samples a second that gives, and which share of a GPU's step is moving the batch there.
///
/// The examples are those of `batch`, over and over. The model stays as it is: copies are trained.
///
/// # Errors
/// Those of the model, a batch size of 0, an empty batch, or that the reader asked to stop.
///
/// ```
/// use taper::prelude::*;
///
/// let model = Classifier::new(seq![Linear::new(4, 8)?, ReLU, Linear::new(8, 2)?], 0.1);
/// let batch = Batch { x: rand((16, 4), &cpu())?, y: randint(0, 2, 16, &cpu())? };
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
    let table = with_seed(0, || batch_sizes_on(&devices, model, batch, batch_sizes));
    table.map(|table| table.with_note(note))
}

fn batch_sizes_on<M: Module>(
    devices: &[Device],
    model: &M,
    batch: &Batch,
    batch_sizes: &[usize],
) -> Result<Comparison> {
    check_sizes("compare_batch_sizes", batch_sizes)?;
    if batch.is_empty() {
        return Err(explain(
            "compare_batch_sizes: the batch is empty",
            "Give it at least one example",
        ));
    }
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

/// For each batch size, a step that begins with the batch on the CPU, and its move alone.
fn steps_on<M: Module>(
    device: &Device,
    model: &M,
    batch: &Batch,
    batch_sizes: &[usize],
) -> Result<(Vec<Timing>, Vec<Timing>)> {
    let model = model.replicate(device)?;
    model.set_training(false);
    model.forward(&batch.x.narrow(0, 0, 1)?.to_device(device)?)?; // settles lazy layers
    model.set_training(true);
    let mut optimizer = model.configure_optimizers();
    let (mut steps, mut moves) = (Vec::new(), Vec::new());
    for &size in batch_sizes {
        let examples: Vec<u32> = (0..size).map(|i| (i % batch.len()) as u32).collect();
        let rows = |x: &Tensor| {
            let x = x.to_device(&cpu())?;
            x.index_select(&Tensor::new(&examples[..], &cpu())?, 0)
        };
        let (x, y) = (rows(&batch.x)?, rows(&batch.y)?);
        let batch = Batch { x, y };
        steps.push(benchmark("", device, || {
            let loss = model.training_step(&batch.to_device(device)?)?;
            optimizer.step(&loss.backward()?)
        })?);
        moves.push(benchmark("", device, || batch.to_device(device))?);
    }
    Ok((steps, moves))
}

/// How long it takes to move so many bytes to a device and back, and how fast they travel. For the
/// CPU, which has nowhere to move them: how fast it copies them in its own memory.
///
/// # Errors
/// If a size is 0, the device has not enough memory, or the reader asked to stop.
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
        let here = Tensor::zeros(size, DType::U8, &cpu())?;
        there.push(benchmark("", device, || here.copy_to(device))?);
        let away = here.to_device(device)?;
        back.push(benchmark("", device, || away.copy_to(&cpu()))?);
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

/// One copy of many bytes to a device, against the same bytes in many small copies.
///
/// On the CPU the copies are made in its own memory.
///
/// # Errors
/// If there are fewer bytes than pieces, the device has not enough memory, or the reader asked to
/// stop.
///
/// ```
/// use taper::prelude::*;
///
/// let copies = compare_copies(&try_gpu(0), 1_000_000, 100)?;
/// assert!(copies.show_text().contains("100 copies"));
/// let figure = copies.plot();
/// # Ok::<(), Error>(())
/// ```
pub fn compare_copies(device: &Device, bytes: usize, pieces: usize) -> Result<Timings> {
    if pieces == 0 || bytes < pieces {
        return Err(explain(
            format!("compare_copies: {bytes} bytes do not make {pieces} pieces"),
            "Give at least one piece, and a byte for each",
        ));
    }
    let size = bytes / pieces;
    let big = Tensor::zeros(size * pieces, DType::U8, &cpu())?;
    let small = (0..pieces).map(|_| Tensor::zeros(size, DType::U8, &cpu()));
    let small: Vec<Tensor> = small.collect::<Result<_>>()?;
    let copy_all = || {
        small
            .iter()
            .map(|x| x.copy_to(device))
            .collect::<Result<Vec<_>>>()
    };
    let mut timings = Timings::new();
    timings.push(benchmark("1 copy", device, || big.copy_to(device))?);
    timings.push(benchmark(format!("{pieces} copies"), device, copy_all)?);
    Ok(timings.with_note(in_main_memory(device)))
}

/// Products of two square matrices, whose norms are fetched one at a time, or kept on the device and
/// fetched together at the end: what a log in every step costs. On the CPU and on the first GPU.
///
/// From the exercises of d2l's chapter *GPUs*, which takes 1000 products of 100 × 100.
///
/// # Errors
/// If a number is 0, or the reader asked to stop.
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
        let x = with_seed(0, || rand((size, size), device))?;
        let norm = || x.matmul(&x)?.sqr()?.sum_all()?.sqrt();
        let each = || (0..products).map(|_| norm()?.to_scalar::<f32>()).collect();
        let together = || {
            let norms: Vec<Tensor> = (0..products).map(|_| norm()).collect::<Result<_>>()?;
            Tensor::stack(&norms, 0)?.to_vec1::<f32>()
        };
        let label = device.label();
        timings.push(benchmark::<Vec<f32>>(
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

/// The CPU, and the first GPU or a sentence on why there is none.
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

fn reason(error: &candle_core::Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// How many times as fast the last device is as the first.
fn speed_up(times: &[Column]) -> Option<Column> {
    match times {
        [first, .., last] => Some(first.over(last, "speed-up")),
        _ => None,
    }
}

fn check_sizes(what: &str, sizes: &[usize]) -> Result<()> {
    match sizes.is_empty() || sizes.contains(&0) {
        false => Ok(()),
        true => Err(explain(
            format!("{what}: {sizes:?} are no sizes"),
            "Give sizes of at least 1, such as &[16, 64, 256]",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Dropout, LazyLinear};
    use crate::notebook::Show;
    use crate::seq;
    use crate::tensor::{ones, zeros};
    use crate::train::Classifier;

    const CPU: Device = Device::Cpu;

    #[test]
    fn a_second_device_gives_its_share_of_moving_and_a_speed_up() -> Result<()> {
        let model = Classifier::new(seq![LazyLinear::new(2), Dropout::new(0.5)?], 0.1);
        let batch = Batch {
            x: ones((3, 4), &CPU)?,
            y: zeros(3, &CPU)?.to_dtype(DType::I64)?,
        };
        let table = batch_sizes_on(&[CPU, CPU], &model, &batch, &[2, 5])?;
        let text = table.show_text();
        let heads = text.lines().next().unwrap_or_default();
        assert!(heads.contains("to cpu  share of that  speed-up"), "{text}");
        assert_eq!(text.lines().count(), 3);
        let (times, rates) = (table.values("cpu")?, table.values("cpu samples/s")?);
        assert!((rates[1] * times[1] - 5.0).abs() < 1e-9, "5 samples a step");
        assert_eq!(model.num_parameters(), 0, "the model itself is left alone");
        Ok(())
    }

    #[test]
    fn sizes_are_measured_one_by_one() -> Result<()> {
        let mut made = Vec::new();
        let make = |size, device: &Device| {
            made.push(size);
            zeros(size, device)
        };
        let table = devices_on(&[CPU, CPU], &[3, 7], make, |x| x.exp())?;
        assert_eq!(made, [3, 7, 3, 7]);
        assert_eq!(table.values("speed-up")?.len(), 2);
        Ok(())
    }

    #[test]
    fn without_a_gpu_the_reason_is_told() -> Result<()> {
        let texts = [
            compare_devices(&[2], zeros, |x| x.exp())?.show_text(),
            compare_logging(2, 2)?.show_text(),
        ];
        for text in texts {
            assert_eq!(
                text.contains("Only the CPU was measured: "),
                gpu(0).is_err(),
                "{text}"
            );
        }
        let text = compare_transfers(&CPU, &[10, 2_000_000])?.show_text();
        assert!(text.contains("10 B") && text.contains("2.00 MB"), "{text}");
        assert!(
            text.contains("B/s") && text.contains("copies on the CPU"),
            "{text}"
        );
        Ok(())
    }

    #[test]
    fn what_cannot_be_compared_is_explained() -> Result<()> {
        let none = compare_devices(&[], zeros, |x| x.exp());
        assert!(
            none.unwrap_err()
                .to_string()
                .starts_with("compare_devices: [] are no sizes\n")
        );
        let copies = compare_copies(&CPU, 3, 4).unwrap_err().to_string();
        assert!(
            copies.starts_with("compare_copies: 3 bytes do not make 4 pieces\n"),
            "{copies}"
        );
        let model = Classifier::new(LazyLinear::new(2), 0.1);
        let empty = Batch {
            x: zeros((0, 2), &CPU)?,
            y: zeros(0, &CPU)?,
        };
        let message = compare_batch_sizes(&model, &empty, &[1])
            .unwrap_err()
            .to_string();
        assert!(message.contains("the batch is empty"), "{message}");
        Ok(())
    }
}
