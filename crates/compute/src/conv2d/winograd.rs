//! Convolution with kernels of 3×3 in fewer multiplications: Winograd's method F(2×2, 3×3).
//!
//! A *square* is 2×2 outputs of a channel; it needs 4×4 pixels of each input channel. [`transforms`] map these
//! pixels, and the weights, to 16 values each. For each of the 16, a product of matrices adds the input
//! channels, and a last transform maps the 16 sums to the outputs. That takes 16 multiplications instead of 36.
//!
//! A transform adds pixels that the definition keeps apart: an output would lose digits beside a pixel that is
//! far larger than the others, and be NaN beside a pixel that is not finite. [`suits`] refuses such inputs.
//!
//! The method is described by A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015.

mod range;
mod transforms;

use super::epilogue::Epilogue;
use super::geometry::Geometry;
use super::layout::source;
use crate::microkernel::{self, Sums, TileSize, Weights, tile_shape};
use crate::scratch::with_scratch;
use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::simd::Float;
use crate::split_evenly;
use crate::threads::for_each_task;
use range::keeps_digits;
use std::mem::MaybeUninit;
use std::ops::Range;
use transforms::{BLOCK, VALUES, input, output, weights};

/// The least product of input and output channels, in multiples of their sum. The time of the matrix products grows
/// with the product of the channels, the time of the transforms with their sum.
const CHANNELS: usize = 24;
/// The least number of squares for which transformed weights are worth their time.
const SQUARES: usize = 96;
/// The elements of the transformed pixels of a task, which stay in the L2 cache.
const PIXELS: usize = 1 << 17;
/// The least number of tasks, if there are channels enough.
const TASKS: usize = 8;
/// The least number of output channels of a task: with as many, the transform of the pixels takes little of the time.
const LEAST_BLOCK: usize = 128;
/// The elements of one cache line of `f32`, or of two lines of `f64`.
const LINE: usize = 16;
/// The tiles of output channels that are transformed back together, while their sums are in the L2 cache.
const TILES: usize = 4;

/// Returns whether the method computes this convolution faster, and as exactly.
pub(super) fn suits<T: Float>(geometry: &Geometry, x: &[T], weight: &[T]) -> bool {
    let (ins, outs) = (geometry.from.channels, geometry.to.channels);
    let steps = [geometry.stride, geometry.dilation, geometry.input_dilation];
    geometry.kernel == [3, 3]
        && steps == [[1, 1]; 3]
        && ins * outs >= CHANNELS * (ins + outs)
        && squares_of(geometry).iter().product::<usize>() * geometry.batch >= SQUARES
        && keeps_digits(x, weight, ins)
}

/// Returns the rows and columns of squares in the output of an image.
fn squares_of(geometry: &Geometry) -> [usize; 2] {
    [
        geometry.to.height.div_ceil(2),
        geometry.to.width.div_ceil(2),
    ]
}

/// Returns the number of squares that a task transforms together: whole tiles.
fn squares_of_task(squares: usize, ins: usize, tile_columns: usize) -> usize {
    let together = (PIXELS / (VALUES * ins)).min(squares.div_ceil(TASKS));
    together.max(1).next_multiple_of(tile_columns)
}

/// Returns the distance from one of the 16 matrices to the next. Elements at a distance of a power of two would share
/// a few lines of the cache.
fn apart(elements: usize) -> usize {
    elements + LINE
}

/// Returns the convolution of `x` with `weight`. If `rotated`, this is the backward pass of a convolution with this
/// weight: each kernel is rotated by 180°, and inputs and outputs are swapped.
pub(super) fn convolve<T: Float>(
    geometry: &Geometry,
    x: &[T],
    weight: &[T],
    rotated: bool,
    epilogue: Epilogue<'_, T>,
) -> Vec<T> {
    let (ins, outs) = (geometry.from.channels, geometry.to.channels);
    let [rows, columns] = squares_of(geometry);
    let squares = geometry.batch * rows * columns;
    let (_, tile_columns) = tile_shape::<T>();
    let together = squares_of_task(squares, ins, tile_columns);
    let chunks = squares.div_ceil(together);
    let blocks = split_evenly(outs, outs.div_ceil(TASKS.div_ceil(chunks)).max(LEAST_BLOCK));
    let kernels = geometry.groups * outs * ins;
    with_scratch(VALUES * apart(kernels), |transformed: &mut [T]| {
        transform_weights(geometry, weight, rotated, transformed);
        let work = |task: usize, y: SharedSlice<MaybeUninit<T>>| {
            let (block, rest) = (task % blocks.len(), task / blocks.len());
            let (group, first) = (rest / chunks, rest % chunks * together);
            let start: usize = blocks[..block].iter().sum();
            let task = Task {
                geometry,
                columns,
                rows,
                group,
                squares: first..(first + together).min(squares),
                // Room for the rest of a block.
                pitch: together + BLOCK,
                channels: start..start + blocks[block],
            };
            // SAFETY: `y` is the whole output, and no other task has these squares and channels of the group.
            unsafe { task.convolve(x, transformed, epilogue, y) };
        };
        let tasks = geometry.groups * chunks * blocks.len();
        let elements = geometry.batch * geometry.groups * geometry.to.elements();
        // SAFETY: the tasks cover all squares and channels of all groups, and each initialises its outputs.
        unsafe { vec_filled_by(elements, |y| for_each_task(tasks, |task| work(task, y))) }
    })
}

/// Sets the transformed weights: for each of the 16 values a matrix with a row for each output of each group.
fn transform_weights<T: Float>(
    geometry: &Geometry,
    weight: &[T],
    rotated: bool,
    transformed: &mut [T],
) {
    let (ins, outs) = (geometry.from.channels, geometry.to.channels);
    let matrix = apart(geometry.groups * outs * ins);
    let blocks = ins.div_ceil(LINE);
    let shared = SharedSlice::new(transformed);
    for_each_task(geometry.groups * blocks, |task| {
        let (group, first) = (task / blocks, task % blocks * LINE);
        let count = LINE.min(ins - first);
        for out in 0..outs {
            let row = (group * outs + out) * ins + first;
            let (kernel, step) = match rotated {
                false => (row, 1),
                true => ((group * ins + first) * outs + out, outs),
            };
            // SAFETY: each task has columns of its own of each matrix.
            let to = std::array::from_fn(|i| unsafe { shared.part(i * matrix + row, count) });
            weights(&weight[9 * kernel..], step, rotated, to);
        }
    });
}

/// The part of the output that a task computes.
struct Task<'a> {
    geometry: &'a Geometry,
    /// Rows and columns of squares in an image.
    rows: usize,
    columns: usize,
    group: usize,
    /// The squares of all images are numbered row by row.
    squares: Range<usize>,
    /// The distance from one channel to the next in transformed pixels and sums.
    pitch: usize,
    /// Output channels of the group.
    channels: Range<usize>,
}

/// Adjacent squares of the same row.
struct Segment {
    image: usize,
    row: usize,
    column: usize,
    count: usize,
    /// The index of the first square in the task.
    to: usize,
}

impl Task<'_> {
    /// Initialises the outputs of the squares.
    ///
    /// # Safety
    /// `y` is the whole output, and no other thread accesses these squares of these channels.
    unsafe fn convolve<T: Float>(
        &self,
        x: &[T],
        weights: &[T],
        epilogue: Epilogue<'_, T>,
        y: SharedSlice<MaybeUninit<T>>,
    ) {
        let (ins, outs) = (self.geometry.from.channels, self.geometry.to.channels);
        let segments = self.segments();
        let (most, _) = tile_shape::<T>();
        let of_weights = weights.len() / VALUES;
        let of_pixels = apart(ins * self.pitch);
        let (lines, largest) = (4 * self.pitch, apart(TILES * most * self.pitch));
        with_scratch(VALUES * of_pixels, |pixels: &mut [T]| {
            self.transform_pixels(x, &segments, pixels);
            with_scratch(VALUES * largest + lines, |sums: &mut [T]| {
                let (lines, sums) = sums.split_at_mut(lines);
                let mut first = self.group * outs + self.channels.start;
                for tiles in split_evenly(self.channels.len(), most).chunks(TILES) {
                    let channels = first..first + tiles.iter().sum::<usize>();
                    let of_sums = apart(channels.len() * self.pitch);
                    for i in 0..VALUES {
                        let weights =
                            &weights[i * of_weights + first * ins..][..channels.len() * ins];
                        let pixels = &pixels[i * of_pixels..][..of_pixels];
                        let sums = &mut sums[i * of_sums..][..of_sums];
                        self.multiply(tiles, weights, pixels, sums);
                    }
                    first = channels.end;
                    // SAFETY: the caller's promise.
                    unsafe { self.store(channels, sums, epilogue, &segments, lines, y) };
                }
            });
        });
    }

    fn segments(&self) -> Vec<Segment> {
        let mut segments = vec![];
        let mut square = self.squares.start;
        while square < self.squares.end {
            let (line, column) = (square / self.columns, square % self.columns);
            let count = (self.columns - column).min(self.squares.end - square);
            segments.push(Segment {
                image: line / self.rows,
                row: line % self.rows,
                column,
                count,
                to: square - self.squares.start,
            });
            square += count;
        }
        segments
    }

    /// Sets the transformed pixels: for each of the 16 values a matrix with a row for each input channel.
    fn transform_pixels<T: Float>(&self, x: &[T], segments: &[Segment], pixels: &mut [T]) {
        let Geometry {
            from,
            padding,
            groups,
            ..
        } = *self.geometry;
        let (length, matrix) = (
            2 * self.columns + 2 * BLOCK + 2,
            apart(from.channels * self.pitch),
        );
        with_scratch(4 * length, |lines: &mut [T]| {
            // The last block of squares may reach beyond its segment: the next segment overwrites the excess.
            for segment in segments {
                let needed = 2 * segment.count + 2;
                let first = 2 * segment.column as isize - padding[1];
                // The columns of the lines that are in the image.
                let inside =
                    |column: usize| (column as isize - first).clamp(0, needed as isize) as usize;
                let columns = inside(0)..inside(from.width);
                for channel in 0..from.channels {
                    let plane = (segment.image * groups + self.group) * from.channels + channel;
                    let plane = &x[plane * from.height * from.width..][..from.height * from.width];
                    for (i, line) in lines.chunks_exact_mut(length).enumerate() {
                        let row = source((2 * segment.row + i) as isize - padding[0], from.height);
                        let Some(row) = row.filter(|_| !columns.is_empty()) else {
                            line[..needed].fill(T::ZERO);
                            continue;
                        };
                        let row = &plane[row * from.width..][..from.width];
                        let from = (first + columns.start as isize) as usize;
                        line[..columns.start].fill(T::ZERO);
                        line[columns.clone()].copy_from_slice(&row[from..][..columns.len()]);
                        line[columns.end..needed].fill(T::ZERO);
                    }
                    let to = channel * self.pitch + segment.to;
                    input(lines, segment.count, pixels, to, matrix);
                }
            }
        });
    }

    /// Sets the sums of some tiles of output channels for one of the 16 values.
    fn multiply<T: Float>(&self, tiles: &[usize], weights: &[T], pixels: &[T], sums: &mut [T]) {
        let (_, tile_columns) = tile_shape::<T>();
        let (ins, count) = (self.geometry.from.channels, self.squares.len());
        let offsets: Vec<usize> = (0..ins).map(|channel| channel * self.pitch).collect();
        for column in (0..count).step_by(tile_columns) {
            let mut row = 0;
            for &rows in tiles {
                // SAFETY: a row has a weight for each offset. The pitch has room for a multiple of a tile's
                // columns, so rows of pixels and of sums have as many from `column` on.
                unsafe {
                    microkernel::weighted_sums(
                        TileSize::of::<T>(rows, count - column),
                        Weights {
                            start: weights[row * ins..].as_ptr(),
                            row_step: ins,
                            step: 1,
                        },
                        &offsets,
                        pixels.as_ptr().add(column),
                        Sums {
                            start: sums.as_mut_ptr().add(row * self.pitch + column),
                            pitch: self.pitch,
                            added: None,
                        },
                    );
                }
                row += rows;
            }
        }
    }

    /// Initialises the outputs of some channels, which are numbered through all groups. `lines` are scratch memory.
    ///
    /// # Safety
    /// As for [`convolve`](Self::convolve).
    unsafe fn store<T: Float>(
        &self,
        channels: Range<usize>,
        sums: &[T],
        epilogue: Epilogue<'_, T>,
        segments: &[Segment],
        lines: &mut [T],
        y: SharedSlice<MaybeUninit<T>>,
    ) {
        let Geometry { to, groups, .. } = *self.geometry;
        let of_sums = apart(channels.len() * self.pitch);
        let (upper, lower) = lines.split_at_mut(2 * self.pitch);
        for (row, channel) in channels.enumerate() {
            let sums =
                std::array::from_fn(|i| &sums[i * of_sums + row * self.pitch..][..self.pitch]);
            let epilogue = epilogue.of(channel);
            output(sums, epilogue.bias, upper, lower);
            epilogue.apply(upper);
            epilogue.apply(lower);
            for segment in segments {
                let (row, column) = (2 * segment.row, 2 * segment.column);
                let plane = segment.image * groups * to.channels + channel;
                let width = (2 * segment.count).min(to.width - column);
                for (row, line) in (row..to.height).zip([&*upper, &*lower]) {
                    let start = (plane * to.height + row) * to.width + column;
                    // SAFETY: the caller's promise: the outputs belong to these squares.
                    let y = unsafe { y.part(start, width) };
                    y.write_copy_of_slice(&line[2 * segment.to..][..width]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With more than 8192 channels, the pixels of one square are more than a task should have.
    #[test]
    fn a_task_has_whole_tiles_for_any_number_of_channels() {
        for ins in [1, 64, 8192, 8193, 1 << 20] {
            let squares = squares_of_task(200, ins, 16);
            assert!(
                squares > 0 && squares.is_multiple_of(16),
                "{ins}: {squares}"
            );
        }
    }
}
