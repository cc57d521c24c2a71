//! The layout of an image's rows in scratch memory.
//!
//! A chunk of output rows needs some input rows of all channels. They are copied, with their padding,
//! one after the other with a fixed pitch. So each element of the kernel is one fixed offset for all
//! outputs of the chunk. With a stride, rows and columns are sorted by their remainder (phase), so that
//! neighbours in the output are neighbours in memory as well.

use super::geometry::{Geometry, Size};
use crate::simd::{Float, multiversion};
use std::ops::Range;

/// The elements in scratch memory that fit into the L2 cache beside other data.
pub(super) const CACHE_ELEMENTS: usize = 1 << 16;
/// The least number of parts into which work is split, if it is large enough.
const PARTS: usize = 16;

/// The layout of a chunk's input rows.
pub(super) struct RowLayout {
    /// The offset of each element of the kernel, by channel, row and column.
    pub(super) offsets: Vec<usize>,
    /// The distance from one row to the next.
    pub(super) pitch: usize,
    pub(super) chunks: usize,
    /// The output rows of a chunk; the last chunk may have fewer.
    pub(super) chunk_rows: usize,
    height: usize,
    /// The input rows of one phase.
    rows: usize,
    channels: usize,
    stride: [usize; 2],
    /// Whether the kernel reads the rows, or columns, of a phase.
    used: [Vec<bool>; 2],
}

/// Contiguous outputs in a range of positions: `from` is the index in the range, `to` the index in the chunk's output
/// rows.
pub(super) struct Run {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) count: usize,
}

impl RowLayout {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self::within(CACHE_ELEMENTS, geometry)
    }

    /// Returns a layout whose chunks need at most about this number of elements.
    pub(super) fn within(elements: usize, geometry: &Geometry) -> Self {
        let Geometry {
            from,
            to,
            kernel,
            dilation,
            stride,
            ..
        } = geometry;
        let halo = [0, 1].map(|i| (kernel[i] - 1) * dilation[i] / stride[i]);
        let pitch = to.width + halo[1];
        let line = from.channels * stride[0] * stride[1] * pitch;
        let fitting = (elements / line).saturating_sub(halo[0]).max(4);
        let fair = (to.height * geometry.batch * geometry.groups).div_ceil(PARTS);
        let most = fitting.min(fair.max(4)).min(to.height);
        let chunk_rows = to.height.div_ceil(to.height.div_ceil(most));
        let used = [0, 1].map(|i| {
            let reads = |phase: usize| (0..kernel[i]).any(|k| k * dilation[i] % stride[i] == phase);
            (0..stride[i]).map(reads).collect()
        });
        let mut layout = RowLayout {
            offsets: Vec::new(),
            pitch,
            chunks: to.height.div_ceil(chunk_rows),
            chunk_rows,
            height: to.height,
            rows: chunk_rows + halo[0],
            channels: from.channels,
            stride: *stride,
            used,
        };
        for channel in 0..from.channels {
            for row in (0..kernel[0]).map(|k| k * dilation[0]) {
                for column in (0..kernel[1]).map(|k| k * dilation[1]) {
                    let start = layout.start(channel, row % stride[0], column % stride[1]);
                    layout
                        .offsets
                        .push(start + row / stride[0] * pitch + column / stride[1]);
                }
            }
        }
        layout
    }

    /// Returns the index of the first row of a channel and a phase of rows and columns.
    fn start(&self, channel: usize, row_phase: usize, column_phase: usize) -> usize {
        let part = (channel * self.stride[0] + row_phase) * self.stride[1] + column_phase;
        part * self.rows * self.pitch
    }

    pub(super) fn elements(&self) -> usize {
        self.start(self.channels, 0, 0)
    }

    /// Returns the number of positions from the first output of some rows to the last, with those between the rows.
    pub(super) fn length(&self, rows: usize, width: usize) -> usize {
        (rows - 1) * self.pitch + width
    }

    /// Returns the output rows of a chunk.
    pub(super) fn rows_of(&self, chunk: usize) -> Range<usize> {
        chunk * self.chunk_rows..((chunk + 1) * self.chunk_rows).min(self.height)
    }

    /// Sets the input rows of the chunk whose first output row is `first`.
    pub(super) fn fill<T: Float>(
        &self,
        geometry: &Geometry,
        x: &[T],
        first: usize,
        scratch: &mut [T],
    ) {
        scratch[..self.elements()].fill(T::ZERO);
        copy_pixels(self, geometry, x, first, scratch);
    }

    /// Lists the outputs in a range of positions, for outputs of this width.
    pub(super) fn runs(&self, positions: Range<usize>, width: usize, runs: &mut Vec<Run>) {
        runs.clear();
        let mut position = positions.start;
        while position < positions.end {
            let (row, column) = (position / self.pitch, position % self.pitch);
            if column < width {
                runs.push(Run {
                    from: position - positions.start,
                    to: row * width + column,
                    count: (width - column).min(positions.end - position),
                });
            }
            position = (row + 1) * self.pitch;
        }
    }
}

multiversion! {
    /// Copies the pixels of the rows that [`RowLayout::fill`] sets, and leaves the padding as it is.
    pub(super) fn copy_pixels<T: Float>(
        layout: &RowLayout,
        geometry: &Geometry,
        x: &[T],
        first: usize,
        scratch: &mut [T],
    ) {
        let Size { height, width, .. } = geometry.from;
        let [steps, columns] = layout.stride;
        for (channel, x) in x.chunks_exact(height * width).enumerate() {
            for row_phase in (0..steps).filter(|phase| layout.used[0][*phase]) {
                // Scratch row `i` is the image's row `i · steps - shift`.
                let shift = geometry.padding[0] - (first * steps + row_phase) as isize;
                let rows = inside(layout.rows, steps, shift, height);
                for phase in (0..columns).filter(|phase| layout.used[1][*phase]) {
                    let start = layout.start(channel, row_phase, phase);
                    let side = geometry.padding[1] - phase as isize;
                    let within = inside(layout.pitch, columns, side, width);
                    for i in rows.clone().filter(|_| !within.is_empty()) {
                        let line = ((i * steps) as isize - shift) as usize;
                        let column = ((within.start * columns) as isize - side) as usize;
                        let x = &x[line * width..][..width][column..];
                        let to = start + i * layout.pitch + within.start;
                        copy_every(x, columns, &mut scratch[to..][..within.len()]);
                    }
                }
            }
        }
    }
}

/// Returns the indices `i` below `count` for which `i · step - shift` is at least 0 and below `size`.
#[inline(always)]
fn inside(count: usize, step: usize, shift: isize, size: usize) -> Range<usize> {
    let ceiling = |place: isize| (place.max(0) as usize).div_ceil(step);
    let from = ceiling(shift).min(count);
    from..ceiling(size as isize + shift).clamp(from, count)
}

/// Copies every `step`-th element.
#[inline(always)]
fn copy_every<T: Float>(x: &[T], step: usize, to: &mut [T]) {
    match step {
        1 => to.copy_from_slice(&x[..to.len()]),
        2 => {
            let (pairs, last) = x.as_chunks::<2>();
            let whole = to.len().min(pairs.len());
            for (value, pair) in to.iter_mut().zip(pairs) {
                *value = pair[0];
            }
            if let (Some(value), Some(x)) = (to.get_mut(whole), last.first()) {
                *value = *x;
            }
        }
        _ => {
            for (value, x) in to.iter_mut().zip(x.iter().step_by(step)) {
                *value = *x;
            }
        }
    }
}

/// Returns the row or column of the image at a position; `None` in the padding.
pub(super) fn source(position: isize, size: usize) -> Option<usize> {
    usize::try_from(position).ok().filter(|index| *index < size)
}
