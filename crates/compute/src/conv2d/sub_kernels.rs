//! The convolution of images with zeros between their pixels: the gradient of the input of a convolution with a
//! stride, and the transposed convolution.
//!
//! Some elements of the kernel meet pixels, the others zeros. Which elements meet pixels depends on the
//! remainder of the output's row and column (phase): the outputs of a phase are a convolution of the images
//! without the zeros, with a part of the kernel, its sub-kernel.

use super::convolve::convolve;
use super::epilogue::Epilogue;
use super::geometry::{Geometry, Size};
use crate::simd::Float;
use crate::write::{self, Parts};

/// Returns the gradient of the input of a convolution: the convolution of the output's gradient `x` with the
/// rotated weights, plus a bias.
pub(super) fn convolve_between<T: Float>(
    forward: &Geometry,
    x: &[T],
    weight: &[T],
    bias: Option<&[T]>,
) -> Vec<T> {
    let geometry = &forward.backward();
    let Size { height, width, .. } = geometry.to;
    let steps = geometry.input_dilation;
    let [rows, columns] =
        [0, 1].map(|i| -> Vec<Axis> { (0..steps[i]).map(|p| Axis::new(geometry, i, p)).collect() });
    // Phase after phase, row by row. A phase without outputs, or whose outputs meet no pixel, is empty.
    let pairs = { rows.iter() }.flat_map(|row| columns.iter().map(move |column| (row, column)));
    let phases: Vec<Vec<T>> = pairs
        .map(|(row, column)| phase(forward, [row, column], x, weight, bias))
        .collect();
    let channels = geometry.groups * geometry.to.channels;
    let elements = geometry.batch * channels * height * width;
    write::by_chunks(elements, height * width, |first, y| {
        let plane = first / (height * width);
        let bias = bias.map_or(T::ZERO, |bias| bias[plane % channels]);
        let mut lines = Parts::new(y);
        for i in 0..height {
            let (row, line) = (i % steps[0], i / steps[0]);
            let y = write::fill(lines.next(width), bias);
            for (column, axis) in columns.iter().enumerate() {
                let from = (plane * rows[row].size + line) * axis.size;
                let values = phases[row * steps[1] + column].get(from..from + axis.size);
                let y = y[column.min(width)..].iter_mut().step_by(steps[1]);
                y.zip(values.unwrap_or_default())
                    .for_each(|(y, value)| *y = *value);
            }
            lines.push(y);
        }
        lines.finish()
    })
}

/// Returns the outputs of a phase; an empty vector if the kernel meets zeros only.
fn phase<T: Float>(
    forward: &Geometry,
    axes: [&Axis; 2],
    x: &[T],
    weight: &[T],
    bias: Option<&[T]>,
) -> Vec<T> {
    if axes
        .iter()
        .any(|axis| axis.size == 0 || axis.taps.is_empty())
    {
        return vec![];
    }
    let weight = forward.rotated(weight, Some(axes.map(|axis| &axis.taps[..])));
    let geometry = forward.backward();
    let [height, width] = axes.map(|axis| axis.size);
    let geometry = Geometry {
        to: Size {
            height,
            width,
            ..geometry.to
        },
        kernel: axes.map(|axis| axis.taps.len()),
        dilation: axes.map(|axis| axis.dilation),
        input_dilation: [1, 1],
        padding: axes.map(|axis| axis.padding),
        ..geometry
    };
    convolve(&geometry, x, &weight, Epilogue::plus(bias))
}

/// The rows, or the columns, of a phase.
struct Axis {
    /// The number of outputs.
    size: usize,
    /// The elements of the kernel that meet pixels.
    taps: Vec<usize>,
    dilation: usize,
    padding: isize,
}

impl Axis {
    fn new(geometry: &Geometry, i: usize, phase: usize) -> Self {
        let (step, dilation) = (geometry.input_dilation[i], geometry.dilation[i]);
        let size = [geometry.to.height, geometry.to.width][i];
        let place = |tap: usize| (phase + tap * dilation) as isize - geometry.padding[i];
        let meets = |tap: &usize| place(*tap).rem_euclid(step as isize) == 0;
        let taps: Vec<usize> = (0..geometry.kernel[i]).filter(meets).collect();
        let between = match taps[..] {
            [first, second, ..] => second - first,
            _ => step,
        };
        Axis {
            size: size.saturating_sub(phase).div_ceil(step),
            dilation: between * dilation / step,
            padding: taps.first().map_or(0, |tap| -place(*tap) / step as isize),
            taps,
        }
    }
}
