//! The weights' gradients as correlations, with vectors along the positions of the images: for few
//! channels.

use super::method::{Images, Method};
use crate::conv2d::geometry::Geometry;
use crate::conv2d::layout::{CACHE_ELEMENTS, RowLayout};
use crate::scratch::with_scratch;
use crate::simd::Float;
use crate::sums::sum;
use crate::{microkernel, split_evenly};
use std::ops::Range;

/// The number of elements of the widest vector; lengths are multiples of it.
const LANES: usize = 16;

pub(super) struct Correlation {
    layout: RowLayout,
    channels: usize,
    /// The number of rows (output channels) of each tile.
    tiles: Vec<usize>,
    /// The number of weights of an output channel.
    kernel: usize,
    /// The number of weights of an output channel, rounded up to whole tiles.
    padded: usize,
    /// The distance from one channel of a gradient to the next.
    pitch: usize,
    x_step: usize,
    y_step: usize,
}

impl Correlation {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let layout = RowLayout::new(geometry);
        let kernel = layout.offsets.len();
        let pitch = layout
            .length(layout.chunk_rows, geometry.to.width)
            .next_multiple_of(LANES);
        Correlation {
            channels: geometry.to.channels,
            tiles: split_evenly(geometry.to.channels, microkernel::correlation_rows()),
            kernel,
            padded: kernel.next_multiple_of(microkernel::OFFSETS),
            pitch,
            x_step: (layout.elements() + LANES).next_multiple_of(LANES),
            y_step: pitch * geometry.to.channels,
            layout,
        }
    }

    /// Copies rows of the gradient, with zeros up to the pitch of the image's rows; adds them to the bias.
    fn fill_gradient<T: Float>(
        &self,
        geometry: &Geometry,
        gradient: &[T],
        rows: Range<usize>,
        ys: &mut [T],
        bias: &mut [T],
    ) {
        let (height, width) = (geometry.to.height, geometry.to.width);
        let channels = gradient
            .chunks_exact(height * width)
            .zip(ys.chunks_exact_mut(self.pitch));
        for ((gradient, ys), bias) in channels.zip(bias) {
            let gradient = &gradient[rows.start * width..rows.end * width];
            let lines = ys.chunks_mut(self.layout.pitch);
            let mut total = T::ZERO;
            for (line, gradient) in lines.zip(gradient.chunks_exact(width)) {
                line[..width].copy_from_slice(gradient);
                line[width..].fill(T::ZERO);
                total += sum(gradient);
            }
            *bias += total;
            let used = (rows.len() * self.layout.pitch).min(ys.len());
            ys[used..].fill(T::ZERO);
        }
    }

    fn correlate<T: Float>(&self, count: usize, xs: &[T], ys: &[T], tiles: &mut [T]) {
        let images = microkernel::Images {
            count,
            length: self.pitch,
            x_step: self.x_step,
            y_step: self.y_step,
        };
        let (mut tiles, mut y) = (tiles, ys);
        for &rows in &self.tiles {
            let (tile, rest) = tiles.split_at_mut(rows * self.padded);
            tiles = rest;
            let blocks = tile.chunks_exact_mut(rows * microkernel::OFFSETS);
            for (block, offsets) in blocks.zip(self.layout.offsets.chunks(microkernel::OFFSETS)) {
                let offsets = std::array::from_fn(|i| offsets[i.min(offsets.len() - 1)]);
                // SAFETY: a row of `y` has `pitch` elements. From the last offset, the outputs of a chunk
                // end with the image's rows in `xs`; the pitch is at most a vector longer, and so is
                // an image in `xs`. `block` has `OFFSETS` elements for each row.
                unsafe {
                    microkernel::correlations(
                        rows,
                        images,
                        y.as_ptr(),
                        self.pitch,
                        xs.as_ptr(),
                        &offsets,
                        block.as_mut_ptr(),
                    );
                }
            }
            y = &y[(rows * self.pitch).min(y.len())..];
        }
    }
}

impl<T: Float> Method<T> for Correlation {
    fn layout(&self) -> &RowLayout {
        &self.layout
    }

    fn elements(&self) -> usize {
        self.channels * (self.padded + 1)
    }

    fn add(&self, images: &Images<T>, chunks: Range<usize>, sums: &mut [T]) {
        let (tiles, bias) = sums.split_at_mut(self.channels * self.padded);
        let step = self.x_step + self.y_step;
        let together = (2 * CACHE_ELEMENTS / step).clamp(1, chunks.len());
        with_scratch(together * step, |scratch: &mut [T]| {
            let (xs, ys) = scratch.split_at_mut(together * self.x_step);
            for start in chunks.clone().step_by(together) {
                let count = together.min(chunks.end - start);
                let slots = xs
                    .chunks_exact_mut(self.x_step)
                    .zip(ys.chunks_exact_mut(self.y_step));
                for (chunk, (xs, ys)) in (start..start + count).zip(slots) {
                    let (gradient, rows) = images.chunk(chunk, xs);
                    // These elements are multiplied with the zeros behind the gradient's rows: they must
                    // not be NaN or infinite from an earlier use.
                    xs[self.layout.elements()..].fill(T::ZERO);
                    self.fill_gradient(images.geometry, gradient, rows, ys, bias);
                }
                self.correlate(count, xs, ys, tiles);
            }
        });
    }

    fn unpack(&self, sums: &[T], weights: &mut Vec<T>) {
        let mut tiles = sums;
        for &rows in &self.tiles {
            let (tile, rest) = tiles.split_at(rows * self.padded);
            tiles = rest;
            for row in 0..rows {
                let blocks = tile.chunks_exact(rows * microkernel::OFFSETS);
                let sums = blocks
                    .flat_map(|block| &block[row * microkernel::OFFSETS..][..microkernel::OFFSETS]);
                weights.extend(sums.take(self.kernel));
            }
        }
    }
}
