//! How the rows of a picture lie in scratch memory.

use super::Convolution;
use crate::ops::engine::simd::Element;
use candle_core::{Result, Tensor};
use std::ops::Range;

/// As many numbers in scratch memory as the second cache holds beside other things.
pub(super) const ROOM: usize = 1 << 16;
/// Into so many parts work is split at least, if it is large enough.
const PARTS: usize = 16;

/// The size of one group's part of a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Size {
    pub(super) fn numbers(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// A window on its way over all pictures of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) batch: usize,
    pub(super) groups: usize,
    pub(super) from: Size,
    pub(super) to: Size,
    pub(super) kernel: [usize; 2],
    pub(super) dilation: usize,
    pub(super) stride: usize,
    /// The pictures are thought of as spread out, with zeros between: 1 for none.
    spread: usize,
    /// Rows and columns of zeros before the first; negative if some are left out.
    padding: [isize; 2],
}

impl Passage {
    /// Of the convolution of `x` with `weight`. Padded pictures must be at least as large as the window.
    pub(super) fn forward(x: &Tensor, weight: &Tensor, settings: Convolution) -> Result<Self> {
        let (batch, _, height, width) = x.dims4()?;
        let (out_channels, in_channels, rows, columns) = weight.dims4()?;
        let Convolution {
            stride,
            padding,
            dilation,
            groups,
        } = settings;
        let steps =
            |size: usize, kernel| (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
        Ok(Passage {
            batch,
            groups,
            from: Size {
                channels: in_channels,
                height,
                width,
            },
            to: Size {
                channels: out_channels / groups,
                height: steps(height, rows),
                width: steps(width, columns),
            },
            kernel: [rows, columns],
            dilation,
            stride,
            spread: 1,
            padding: [padding as isize; 2],
        })
    }

    /// The way of the gradient from the output to the input, with [`turned`](Self::turned) weights.
    pub(super) fn backward(&self) -> Self {
        let reach = |i: usize| (self.dilation * (self.kernel[i] - 1)) as isize;
        Passage {
            from: self.to,
            to: self.from,
            stride: 1,
            spread: self.stride,
            padding: [0, 1].map(|i| reach(i) - self.padding[i]),
            ..*self
        }
    }

    /// Weights (group, out, in, row, column) as (group, in, out, row, column), windows turned by 180°.
    pub(super) fn turned<T: Element>(&self, weights: &[T]) -> Vec<T> {
        let window = self.kernel[0] * self.kernel[1];
        let (ins, outs) = (self.from.channels, self.to.channels);
        let mut turned = Vec::with_capacity(weights.len());
        for group in weights.chunks_exact(outs * ins * window) {
            for i in 0..ins {
                for o in 0..outs {
                    let weights = &group[(o * ins + i) * window..][..window];
                    turned.extend(weights.iter().rev());
                }
            }
        }
        turned
    }
}

/// Some rows of a picture with their padding, one after the other. With a stride, rows and columns are
/// sorted by their remainder, so that neighbours in the output have neighbours here.
pub(super) struct Flat {
    /// Where the place of the window over (channel, row, column) begins.
    pub(super) offsets: Vec<usize>,
    /// From one row to the next.
    pub(super) pitch: usize,
    pub(super) chunks: usize,
    /// Output rows of a chunk; the last may have fewer.
    pub(super) chunk: usize,
    height: usize,
    /// Rows held for one remainder.
    rows: usize,
    channels: usize,
    stride: usize,
    used: [Vec<bool>; 2],
}

/// Neighbouring outputs in a tile, and where they belong behind the first row of the chunk.
pub(super) struct Run {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) count: usize,
}

impl Flat {
    pub(super) fn new(passage: &Passage) -> Self {
        let Passage {
            from,
            to,
            kernel,
            dilation,
            stride,
            ..
        } = passage;
        let reach = [0, 1].map(|i| (kernel[i] - 1) * dilation / stride);
        let pitch = to.width + reach[1];
        let line = from.channels * stride * stride * pitch;
        let fitting = (ROOM / line).saturating_sub(reach[0]).max(4);
        let fair = (to.height * passage.batch * passage.groups).div_ceil(PARTS);
        let chunk = fitting.min(fair.max(4)).min(to.height);
        let chunks = to.height.div_ceil(chunk);
        let chunk = to.height.div_ceil(chunks);
        let used = kernel.map(|kernel| {
            let remainders = |r: usize| (0..kernel).any(|k| k * dilation % stride == r);
            (0..*stride).map(remainders).collect()
        });
        let mut flat = Flat {
            offsets: Vec::new(),
            pitch,
            chunks: to.height.div_ceil(chunk),
            chunk,
            height: to.height,
            rows: chunk + reach[0],
            channels: from.channels,
            stride: *stride,
            used,
        };
        for channel in 0..from.channels {
            for row in (0..kernel[0]).map(|k| k * dilation) {
                for column in (0..kernel[1]).map(|k| k * dilation) {
                    let start = flat.start(channel, row % stride, column % stride);
                    flat.offsets
                        .push(start + row / stride * pitch + column / stride);
                }
            }
        }
        flat
    }

    /// Where the rows of a channel and a remainder begin.
    fn start(&self, channel: usize, row: usize, column: usize) -> usize {
        let part = (channel * self.stride + row) * self.stride + column;
        part * self.rows * self.pitch
    }

    pub(super) fn numbers(&self) -> usize {
        self.start(self.channels, 0, 0)
    }

    /// From the first output of so many rows to the last, with what lies between the rows.
    pub(super) fn length(&self, rows: usize, width: usize) -> usize {
        (rows - 1) * self.pitch + width
    }

    /// The output rows of a chunk.
    pub(super) fn rows_of(&self, chunk: usize) -> Range<usize> {
        chunk * self.chunk..((chunk + 1) * self.chunk).min(self.height)
    }

    /// Copies what the output rows from `first` on need of a picture.
    pub(super) fn fill<T: Element>(
        &self,
        passage: &Passage,
        x: &[T],
        first: usize,
        scratch: &mut [T],
    ) {
        let Size { height, width, .. } = passage.from;
        for (channel, x) in x.chunks_exact(height * width).enumerate() {
            for a in (0..self.stride).filter(|a| self.used[0][*a]) {
                for b in (0..self.stride).filter(|b| self.used[1][*b]) {
                    let start = self.start(channel, a, b);
                    for i in 0..self.rows {
                        let line = ((first + i) * self.stride + a) as isize - passage.padding[0];
                        let row = &mut scratch[start + i * self.pitch..][..self.pitch];
                        match source(line, passage.spread, height) {
                            Some(line) => {
                                self.fill_row(passage, &x[line * width..][..width], b, row)
                            }
                            None => row.fill(T::ZERO),
                        }
                    }
                }
            }
        }
    }

    fn fill_row<T: Element>(&self, passage: &Passage, x: &[T], b: usize, row: &mut [T]) {
        let (stride, padding) = (self.stride, passage.padding[1]);
        if passage.spread > 1 {
            for (q, number) in row.iter_mut().enumerate() {
                let column = source(q as isize - padding, passage.spread, x.len());
                *number = column.map_or(T::ZERO, |column| x[column]);
            }
            return;
        }
        // Column `q · stride + b - padding` of the picture stands at `q`.
        let shift = padding - b as isize;
        let ceiling = |columns: isize| (columns.max(0) as usize).div_ceil(stride);
        let from = ceiling(shift).min(row.len());
        let to = ceiling(x.len() as isize + shift).clamp(from, row.len());
        row[..from].fill(T::ZERO);
        row[to..].fill(T::ZERO);
        if from == to {
            return;
        }
        let x = &x[((from * stride) as isize - shift) as usize..];
        match stride {
            1 => row[from..to].copy_from_slice(&x[..to - from]),
            _ => {
                for (number, x) in row[from..to].iter_mut().zip(x.iter().step_by(stride)) {
                    *number = *x;
                }
            }
        }
    }

    /// The outputs among these places.
    pub(super) fn runs(&self, places: Range<usize>, width: usize, runs: &mut Vec<Run>) {
        runs.clear();
        let mut place = places.start;
        while place < places.end {
            let (row, column) = (place / self.pitch, place % self.pitch);
            if column < width {
                runs.push(Run {
                    from: place - places.start,
                    to: row * width + column,
                    count: (width - column).min(places.end - place),
                });
            }
            place = (row + 1) * self.pitch;
        }
    }
}

/// The row or column of a picture that lies at `place` when it is spread out.
fn source(place: isize, spread: usize, size: usize) -> Option<usize> {
    let place = usize::try_from(place).ok()?;
    let index = place / spread;
    (place.is_multiple_of(spread) && index < size).then_some(index)
}
