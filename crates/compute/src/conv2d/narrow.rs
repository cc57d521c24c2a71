//! The convolution of single channels (depthwise) that are so small that vectors along their rows are not worth their time.
//!
//! All outputs of a channel are one vector: it adds up, pixel after pixel, the pixel times its weights in all outputs. The
//! weights of a channel are sorted for this once, for all images.

use super::epilogue::Epilogue;
use super::geometry::Geometry;
use super::layout::source;
use crate::scratch::with_scratch;
use crate::simd::{Float, multiversion};
use crate::write::Blocks;

/// The outputs that are computed together.
const LANES: usize = 16;
/// The largest number of pairs of a pixel and an output.
const MOST_PAIRS: usize = 1 << 10;

/// Returns whether each group has one channel, of so few pixels.
pub(super) fn suits(geometry: &Geometry) -> bool {
    let (from, to) = (geometry.from, geometry.to);
    from.channels == 1 && to.channels == 1 && from.elements() * to.elements() <= MOST_PAIRS
}

/// Returns the convolution of each channel with its kernel.
pub(super) fn convolve<T: Float>(
    geometry: &Geometry,
    x: &[T],
    weight: &[T],
    epilogue: Epilogue<'_, T>,
) -> Vec<T> {
    let (pixels, outputs) = (geometry.from.elements(), geometry.to.elements());
    let lanes = outputs.next_multiple_of(LANES);
    let meetings = meetings(geometry, lanes);
    let mut meets = vec![T::ZERO; pixels * lanes];
    for (pair, _) in &meetings {
        meets[*pair] = T::ONE;
    }
    let kernel = geometry.kernel[0] * geometry.kernel[1];
    // A task has a group, in all images.
    let blocks = Blocks {
        matrices: 1,
        rows: geometry.batch,
        columns: geometry.groups * outputs,
        high: geometry.batch,
        wide: outputs,
    };
    blocks.write(|block| {
        let group = block.columns().start / outputs;
        with_scratch(pixels * lanes + lanes, |scratch: &mut [T]| {
            let (weights, sums) = scratch.split_at_mut(pixels * lanes);
            weights.fill(T::ZERO);
            for (pair, tap) in &meetings {
                weights[*pair] = weight[group * kernel + tap];
            }
            for image in 0..geometry.batch {
                let plane = image * geometry.groups + group;
                add_up(&x[plane * pixels..][..pixels], weights, &meets, sums);
                block.row(|y| epilogue.of(group).write(sums, y));
            }
        });
    })
}

/// Returns the pairs of a pixel and an output that meet, numbered pixel by pixel, and the element of the kernel where they
/// do.
fn meetings(geometry: &Geometry, lanes: usize) -> Vec<(usize, usize)> {
    let (from, to) = (geometry.from, geometry.to);
    let [rows, columns] = [0, 1].map(|i| {
        let (size, count) = [(from.height, to.height), (from.width, to.width)][i];
        let taps = { 0..count }.flat_map(|out| (0..geometry.kernel[i]).map(move |tap| (out, tap)));
        let place = |(out, tap): (usize, usize)| {
            let at = (out * geometry.stride[i] + tap * geometry.dilation[i]) as isize;
            source(at - geometry.padding[i], size).map(|pixel| (pixel, out, tap))
        };
        taps.filter_map(place).collect::<Vec<_>>()
    });
    let mut all = vec![];
    for (row, out_row, tap_row) in &rows {
        for (column, out_column, tap_column) in &columns {
            let pixel = row * from.width + column;
            let output = out_row * to.width + out_column;
            let tap = tap_row * geometry.kernel[1] + tap_column;
            all.push((pixel * lanes + output, tap));
        }
    }
    all
}

multiversion! {
    /// Adds up for each output its pixels times their weights; a pixel that it does not meet may be infinite.
    fn add_up<T: Float>(x: &[T], weights: &[T], meets: &[T], sums: &mut [T]) {
        let lanes = sums.len();
        for (block, sums) in sums.chunks_exact_mut(LANES).enumerate() {
            let mut total = [T::ZERO; LANES];
            for (i, x) in x.iter().enumerate() {
                let start = i * lanes + block * LANES;
                let pairs = weights[start..][..LANES].iter().zip(&meets[start..][..LANES]);
                for (total, (weight, meets)) in total.iter_mut().zip(pairs) {
                    *total += if *meets == T::ONE { *x * *weight } else { T::ZERO };
                }
            }
            sums.copy_from_slice(&total);
        }
    }
}
