//! With vectors along the places of the pictures: for few channels.

use super::{Pictures, Way};
use crate::ops::conv2d::flat::{Flat, Passage, ROOM};
use crate::ops::engine::scratch::with_scratch;
use crate::ops::engine::simd::Element;
use crate::ops::engine::{evenly, microkernel, sum_of};
use std::ops::Range;

/// Lengths are multiples of the widest vector.
const LANES: usize = 16;

pub(super) struct Sums {
    flat: Flat,
    channels: usize,
    /// Rows of each tile.
    tiles: Vec<usize>,
    window: usize,
    /// The window, rounded up to whole tiles.
    padded: usize,
    /// From one row of a gradient to the next.
    pitch: usize,
    x_step: usize,
    y_step: usize,
}

impl Sums {
    pub(super) fn new<T: Element>(passage: &Passage) -> Self {
        let flat = Flat::new(passage);
        let window = flat.offsets.len();
        let pitch = flat
            .length(flat.chunk, passage.to.width)
            .next_multiple_of(LANES);
        Sums {
            channels: passage.to.channels,
            tiles: evenly(passage.to.channels, microkernel::correlated_rows()),
            window,
            padded: window.next_multiple_of(microkernel::PLACES),
            pitch,
            x_step: (flat.numbers() + LANES).next_multiple_of(LANES),
            y_step: pitch * passage.to.channels,
            flat,
        }
    }

    /// Copies rows of the gradient, with zeros up to the pitch of the pictures; adds them to the bias.
    fn fill_gradient<T: Element>(
        &self,
        passage: &Passage,
        gradient: &[T],
        rows: Range<usize>,
        ys: &mut [T],
        bias: &mut [T],
    ) {
        let (height, width) = (passage.to.height, passage.to.width);
        let channels = gradient
            .chunks_exact(height * width)
            .zip(ys.chunks_exact_mut(self.pitch));
        for ((gradient, ys), bias) in channels.zip(bias) {
            let gradient = &gradient[rows.start * width..rows.end * width];
            let lines = ys.chunks_mut(self.flat.pitch);
            let mut sum = T::ZERO;
            for (line, gradient) in lines.zip(gradient.chunks_exact(width)) {
                line[..width].copy_from_slice(gradient);
                line[width..].fill(T::ZERO);
                sum += sum_of(gradient);
            }
            *bias += sum;
            let used = (rows.len() * self.flat.pitch).min(ys.len());
            ys[used..].fill(T::ZERO);
        }
    }

    fn correlate<T: Element>(&self, count: usize, xs: &[T], ys: &[T], tiles: &mut [T]) {
        let pictures = microkernel::Pictures {
            count,
            length: self.pitch,
            x_step: self.x_step,
            y_step: self.y_step,
        };
        let (mut tiles, mut y) = (tiles, ys);
        for &rows in &self.tiles {
            let (tile, rest) = tiles.split_at_mut(rows * self.padded);
            tiles = rest;
            let blocks = tile.chunks_exact_mut(rows * microkernel::PLACES);
            for (block, offsets) in blocks.zip(self.flat.offsets.chunks(microkernel::PLACES)) {
                let offsets = std::array::from_fn(|i| offsets[i.min(offsets.len() - 1)]);
                // SAFETY: a row of `y` is a pitch long. From the last offset, the outputs of a chunk
                // end with the picture; the pitch is at most a vector longer, as the scratch is.
                unsafe {
                    microkernel::correlations(
                        rows,
                        pictures,
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

impl<T: Element> Way<T> for Sums {
    fn flat(&self) -> &Flat {
        &self.flat
    }

    fn numbers(&self) -> usize {
        self.channels * (self.padded + 1)
    }

    fn add(&self, pictures: &Pictures<T>, chunks: Range<usize>, sums: &mut [T]) {
        let (tiles, bias) = sums.split_at_mut(self.channels * self.padded);
        let step = self.x_step + self.y_step;
        let together = (2 * ROOM / step).clamp(1, chunks.len());
        with_scratch(together * step, |scratch: &mut [T]| {
            let (xs, ys) = scratch.split_at_mut(together * self.x_step);
            for start in chunks.clone().step_by(together) {
                let count = together.min(chunks.end - start);
                let slots = xs
                    .chunks_exact_mut(self.x_step)
                    .zip(ys.chunks_exact_mut(self.y_step));
                for (chunk, (xs, ys)) in (start..start + count).zip(slots) {
                    let (gradient, rows) = pictures.chunk(chunk, xs);
                    // What is multiplied with the zeros behind the rows must be numbers as well.
                    xs[self.flat.numbers()..].fill(T::ZERO);
                    self.fill_gradient(pictures.passage, gradient, rows, ys, bias);
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
                let blocks = tile.chunks_exact(rows * microkernel::PLACES);
                let numbers = blocks
                    .flat_map(|block| &block[row * microkernel::PLACES..][..microkernel::PLACES]);
                weights.extend(numbers.take(self.window));
            }
        }
    }
}
