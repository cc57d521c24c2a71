//! What the kernels compute, in Rust. The tests of operations compute with it on the CPU, and the tests of kernels compare
//! them with it.

use super::Argument::{F32, U32, U64};
use super::blocks;
use super::operation::{Input, Launch, range};
use super::testing::{Memory, run};
use super::windows::Windows;
use super::windows::tests as windows;
use crate::tensor::randint;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, DType, Result, WithDType, bail};
use std::ops::Range;

/// Computes what the kernel does, on the CPU.
pub(super) fn on_cpu(launch: &Launch, inputs: &[Input<'_>]) -> Result<CpuStorage> {
    match inputs[0].0.dtype() {
        DType::F32 => compute::<f32>(launch, inputs),
        DType::F64 => compute::<f64>(launch, inputs),
        other => bail!("expected f32 or f64, found {other:?}"),
    }
}

fn compute<T: WithDType>(launch: &Launch, inputs: &[Input<'_>]) -> Result<CpuStorage> {
    fn slice<'a, T: WithDType>((values, layout): &Input<'a>) -> Result<&'a [T]> {
        Ok(&values.as_slice::<T>()?[range(layout)?])
    }

    let sizes = launch.sizes.iter().map(|size| match *size {
        U32(size) => size as usize,
        U64(size) => size as usize,
        F32(_) => unreachable!("sizes are integers"),
    });
    let sizes: Vec<usize> = sizes.collect();
    let x = slice::<T>(&inputs[0])?;
    let values = match (launch.kernel, inputs) {
        ("affine", [_, table]) => of_channels(x, None, slice(table)?, (sizes[1], sizes[2])),
        ("combine", [_, other, table]) => {
            let other = Some(slice(other)?);
            of_channels(x, other, slice(table)?, (sizes[1], sizes[2]))
        }
        ("maxima", _) => {
            let indices = windows::max_indices(&Windows::of_arguments(&sizes), x);
            return Ok(CpuStorage::U32(indices));
        }
        (name, rest) => {
            let indices = rest.get(1).map_or(Ok(&[][..]), slice::<u32>)?;
            windows::on_cpu(name, &Windows::of_arguments(&sizes), x, indices)
        }
    };
    Ok(T::to_cpu_storage_owned(values))
}

fn of_channels<T: WithDType>(
    x: &[T],
    other: Option<&[T]>,
    table: &[T],
    (area, channels): (usize, usize),
) -> Vec<T> {
    let value = |(i, x): (usize, &T)| {
        let channel = i / area % channels;
        let [a, b] = [0, 1].map(|row| table[row * channels + channel]);
        match other {
            Some(other) => *x * a + other[i] * b + table[2 * channels + channel],
            None => *x * a + b,
        }
    };
    x.iter().enumerate().map(value).collect()
}

/// Adds the bias of the channel to each plane of this many pixels.
pub(super) fn add_bias(
    pixels: usize,
    y: &mut CpuStorage,
    bias: &CpuStorage,
    range: Range<usize>,
) -> Result<()> {
    fn add<T: WithDType>(y: &mut [T], pixels: usize, bias: &[T]) {
        for (plane, bias) in y.chunks_mut(pixels).zip(bias.iter().cycle()) {
            plane.iter_mut().for_each(|y| *y += *bias);
        }
    }

    match (y, bias) {
        (CpuStorage::F32(y), CpuStorage::F32(bias)) => add(y, pixels, &bias[range]),
        (CpuStorage::F64(y), CpuStorage::F64(bias)) => add(y, pixels, &bias[range]),
        _ => bail!("expected images and a bias of f32 or f64"),
    }
    Ok(())
}

#[test]
fn the_kernels_agree_with_the_cpu() {
    // Small integers, whose sums and products are exact.
    let draw = |count: usize| randint(-4, 5, count).to_dtype(DType::F32).to_vec::<f32>();
    let (batch, channels, area) = (2, 3, 5);
    let count = batch * channels * area;
    let (x, other, table) = (draw(count), draw(count), draw(3 * channels));
    for (kernel, other) in [("affine_f32", None), ("combine_f32", Some(&other[..]))] {
        let mut memory = Memory::default();
        let to = memory.empty::<f32>(count);
        let from = [Some(&x[..]), other, Some(&table[..])]
            .into_iter()
            .flatten();
        let from: Vec<u64> = from.map(|values| memory.with(values)).collect();
        let arguments = [to].into_iter().chain(from).chain([count as u64]).map(U64);
        let sizes = [U32(area as u32), U32(channels as u32)];
        let arguments: Vec<_> = arguments.chain(sizes).collect();
        run(kernel, count, &arguments, &mut memory);
        let expected = of_channels(&x, other, &table, (area, channels));
        assert_eq!(memory.written::<f32>(to), expected);
    }
}

#[test]
fn the_kernel_adds_the_bias_of_the_channel() {
    let y: Vec<f32> = (0..2 * 3 * 5).map(|i| i as f32).collect();
    let bias = [100.0f32, 200.0, 300.0];
    let mut expected = CpuStorage::F32(y.clone());
    add_bias(5, &mut expected, &CpuStorage::F32(bias.into()), 0..3).unwrap();
    let mut memory = Memory::default();
    let (to, from) = (memory.with(&y), memory.with(&bias));
    let arguments = [U64(to), U64(from), U64(30), U32(5), U32(3)];
    run("bias_f32", 30, &arguments, &mut memory);
    assert_eq!(
        memory.written::<f32>(to),
        expected.as_slice::<f32>().unwrap()
    );
    assert_eq!(memory.written::<f32>(to)[5..8], [205.0, 206.0, 207.0]);
}

#[test]
fn a_grid_has_a_thread_for_each_element_and_none_is_empty() {
    for (threads, expected) in [
        (0, None),
        (1, Some(1)),
        (256, Some(1)),
        (257, Some(2)),
        (1 << 20, Some(1 << 12)),
        (256 * i32::MAX as usize, Some(i32::MAX as u32)),
    ] {
        assert_eq!(blocks(threads), expected, "{threads}");
    }
}

#[test]
#[should_panic(expected = "at most 2^31 - 1 blocks")]
fn a_grid_has_a_largest_size() {
    blocks(256 * i32::MAX as usize + 1);
}
