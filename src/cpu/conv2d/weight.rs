//! The gradients of the weights and the bias of a convolution.

use super::flat::{Flat, Passage, ROOM};
use crate::cpu::parallel::map_tasks;
use crate::cpu::scratch::with_scratch;
use crate::cpu::simd::Element;
use crate::cpu::{evenly, sum_of, tile};

/// Sums are made in so many parts, by the shapes alone.
const PARTS: usize = 16;
/// All parts together have at most so many numbers.
const PARTS_ROOM: usize = 1 << 22;
/// Lengths are multiples of the widest vector.
const LANES: usize = 16;

/// The gradients of the weights and of the bias.
pub(super) fn gradients<T: Element>(
    passage: &Passage,
    x: &[T],
    gradient: &[T],
) -> (Vec<T>, Vec<T>) {
    let work = Work::new::<T>(passage);
    let parts: Vec<Vec<T>> = map_tasks(passage.groups * work.parts, |task| {
        work.part(passage, x, gradient, task / work.parts, task % work.parts)
    });
    let (mut weights, mut bias) = (Vec::new(), Vec::new());
    for parts in parts.chunks_exact(work.parts) {
        let mut sums = parts[0].clone();
        for part in &parts[1..] {
            sums.iter_mut()
                .zip(part)
                .for_each(|(sum, part)| *sum += *part);
        }
        let (tiles, of_bias) = sums.split_at(work.tiles.iter().sum::<usize>() * work.padded);
        work.unpack(tiles, &mut weights);
        bias.extend_from_slice(of_bias);
    }
    (weights, bias)
}

/// How the work is split: by chunks of rows of the pictures.
struct Work {
    flat: Flat,
    parts: usize,
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

impl Work {
    fn new<T: Element>(passage: &Passage) -> Self {
        let flat = Flat::new(passage);
        let window = flat.offsets.len();
        let padded = window.next_multiple_of(tile::PLACES);
        let length = (flat.chunk - 1) * flat.pitch + passage.to.width;
        let pitch = length.next_multiple_of(LANES);
        let items = passage.batch * flat.chunks;
        let room = (PARTS_ROOM / (padded * passage.to.channels)).max(2);
        Work {
            parts: items.min(PARTS).min(room),
            tiles: evenly(passage.to.channels, tile::correlated_rows()),
            window,
            padded,
            pitch,
            x_step: (flat.numbers() + LANES).next_multiple_of(LANES),
            y_step: pitch * passage.to.channels,
            flat,
        }
    }

    /// The sums over one part of the pictures: tiles of weights, then the bias.
    fn part<T: Element>(
        &self,
        passage: &Passage,
        x: &[T],
        gradient: &[T],
        group: usize,
        part: usize,
    ) -> Vec<T> {
        let channels = passage.to.channels;
        let mut sums = vec![T::ZERO; channels * (self.padded + 1)];
        let (tiles, bias) = sums.split_at_mut(channels * self.padded);
        let items = passage.batch * self.flat.chunks;
        let (first, end) = (part * items / self.parts, (part + 1) * items / self.parts);
        let together = (2 * ROOM / (self.x_step + self.y_step)).clamp(1, end - first);
        with_scratch(
            together * (self.x_step + self.y_step),
            |scratch: &mut [T]| {
                let (xs, ys) = scratch.split_at_mut(together * self.x_step);
                for start in (first..end).step_by(together) {
                    let count = together.min(end - start);
                    let slots = xs
                        .chunks_exact_mut(self.x_step)
                        .zip(ys.chunks_exact_mut(self.y_step));
                    for (item, (xs, ys)) in (start..start + count).zip(slots) {
                        let picture = item / self.flat.chunks * passage.groups + group;
                        let rows = self.flat.rows_of(item % self.flat.chunks);
                        let x = &x[picture * passage.from.numbers()..][..passage.from.numbers()];
                        self.flat.fill(passage, x, rows.start, xs);
                        // What is multiplied with the zeros behind the rows must be numbers as well.
                        xs[self.flat.numbers()..].fill(T::ZERO);
                        let gradient =
                            &gradient[picture * passage.to.numbers()..][..passage.to.numbers()];
                        self.fill_gradient(passage, gradient, rows, ys, bias);
                    }
                    self.correlate(count, xs, ys, tiles);
                }
            },
        );
        sums
    }

    /// Copies rows of the gradient, with zeros up to the pitch of the pictures; adds them to the bias.
    fn fill_gradient<T: Element>(
        &self,
        passage: &Passage,
        gradient: &[T],
        rows: std::ops::Range<usize>,
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
        let pictures = tile::Pictures {
            count,
            length: self.pitch,
            x_step: self.x_step,
            y_step: self.y_step,
        };
        let (mut tiles, mut y) = (tiles, ys);
        for &rows in &self.tiles {
            let (tile, rest) = tiles.split_at_mut(rows * self.padded);
            tiles = rest;
            let blocks = tile.chunks_exact_mut(rows * tile::PLACES);
            for (block, offsets) in blocks.zip(self.flat.offsets.chunks(tile::PLACES)) {
                let offsets = std::array::from_fn(|i| offsets[i.min(offsets.len() - 1)]);
                // SAFETY: a row of `y` is a pitch long. From the last offset, the outputs of a chunk
                // end with the picture; the pitch is at most a vector longer, as the scratch is.
                unsafe {
                    tile::correlations(
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

    /// Appends the weights of the tiles in their own order.
    fn unpack<T: Element>(&self, tiles: &[T], weights: &mut Vec<T>) {
        let mut tiles = tiles;
        for &rows in &self.tiles {
            let (tile, rest) = tiles.split_at(rows * self.padded);
            tiles = rest;
            for row in 0..rows {
                let blocks = tile.chunks_exact(rows * tile::PLACES);
                let numbers = blocks.flat_map(|block| &block[row * tile::PLACES..][..tile::PLACES]);
                weights.extend(numbers.take(self.window));
            }
        }
    }
}
