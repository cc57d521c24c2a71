//! The weights' gradients as a matrix product, with vectors along the output's channels. Its inner
//! dimension is the positions of the images; the sums stay in registers from one position to the next.

use super::method::{Images, Method};
use crate::conv2d::geometry::Geometry;
use crate::conv2d::layout::RowLayout;
use crate::gemm::pack_transposed;
use crate::scratch::with_scratch;
use crate::shared_slice::SharedSlice;
use crate::simd::Float;
use crate::threads::for_each_task;
use crate::{microkernel, split_evenly};
use std::ops::Range;

/// The positions that are summed at once, so that their gradients stay in the L1 cache.
const DEPTH: usize = 192;

pub(super) struct MatrixProduct {
    layout: RowLayout,
    in_channels: usize,
    /// The output channels of each panel.
    panels: Vec<usize>,
    /// The elements of a panel for one position: its channels, rounded up to whole vectors.
    pitch: usize,
    /// The number of elements of the kernel in one channel.
    kernel: usize,
    /// The most positions of a chunk.
    length: usize,
}

impl MatrixProduct {
    /// Returns whether there are enough channels.
    pub(super) fn suits<T: Float>(geometry: &Geometry) -> bool {
        geometry.to.channels >= microkernel::lanes::<T>() && geometry.from.channels >= 4
    }

    pub(super) fn new<T: Float>(geometry: &Geometry) -> Self {
        let layout = RowLayout::new(geometry);
        let (channels, lanes) = (geometry.to.channels, microkernel::lanes::<T>());
        // All panels but the last consist of whole vectors.
        let vectors = microkernel::tile_shape::<T>().1 / lanes;
        let mut panels: Vec<usize> = split_evenly(channels.div_ceil(lanes), vectors)
            .iter()
            .map(|vectors| vectors * lanes)
            .collect();
        let widest = panels.iter().copied().max().unwrap_or(0);
        if let Some(last) = panels.last_mut() {
            *last -= channels.next_multiple_of(lanes) - channels;
        }
        MatrixProduct {
            in_channels: geometry.from.channels,
            pitch: widest,
            panels,
            kernel: layout.offsets.len() / geometry.from.channels,
            length: layout.length(layout.chunk_rows, geometry.to.width),
            layout,
        }
    }

    /// Copies the gradient of a panel's channels, position after position, with zeros between the rows;
    /// adds it to the bias.
    fn fill_gradient<T: Float>(
        &self,
        geometry: &Geometry,
        gradient: &[T],
        rows: Range<usize>,
        ys: &mut [T],
        bias: &mut [T],
    ) {
        let (plane, width) = (geometry.to.height * geometry.to.width, geometry.to.width);
        let lines = ys.chunks_mut(self.layout.pitch * self.pitch);
        for (row, line) in rows.zip(lines) {
            let (line, between) = line.split_at_mut(width * self.pitch);
            pack_transposed(
                &gradient[row * width..],
                plane,
                bias.len(),
                self.pitch,
                line,
            );
            between.fill(T::ZERO);
            for position in line.chunks_exact(self.pitch) {
                bias.iter_mut()
                    .zip(position)
                    .for_each(|(sum, y)| *sum += *y);
            }
        }
    }

    /// Adds the products of all input channels, at all elements of the kernel, with a panel's gradient.
    fn multiply<T: Float>(&self, xs: &[T], ys: &[T], length: usize, width: usize, sums: &mut [T]) {
        let (most, columns) = microkernel::tile_shape::<T>();
        let plane = self.layout.elements() / self.in_channels;
        let steps: Vec<usize> = (0..DEPTH).map(|position| position * self.pitch).collect();
        with_scratch(most * columns, |tile: &mut [T]| {
            for start in (0..length).step_by(DEPTH) {
                let depth = DEPTH.min(length - start);
                let mut channel = 0;
                for rows in split_evenly(self.in_channels, most) {
                    for (step, offset) in self.layout.offsets[..self.kernel].iter().enumerate() {
                        // SAFETY: from the last offset, `length` elements of a channel end with its
                        // plane in `xs`; `ys` has a pitch, whole vectors, for each of these
                        // positions; `tile` is a full tile.
                        unsafe {
                            microkernel::weighted_sums(
                                microkernel::TileSize::of::<T>(rows, width),
                                microkernel::Weights {
                                    start: xs.as_ptr().add(channel * plane + offset + start),
                                    row_step: plane,
                                    step: 1,
                                },
                                &steps[..depth],
                                ys.as_ptr().add(start * self.pitch),
                                microkernel::Sums::of_tile(tile),
                            );
                        }
                        let sums = sums
                            .chunks_exact_mut(width)
                            .skip(channel * self.kernel + step);
                        for (sums, tile) in sums
                            .step_by(self.kernel)
                            .zip(tile.chunks_exact(columns))
                            .take(rows)
                        {
                            sums.iter_mut()
                                .zip(tile)
                                .for_each(|(sum, tile)| *sum += *tile);
                        }
                    }
                    channel += rows;
                }
            }
        });
    }
}

impl<T: Float> Method<T> for MatrixProduct {
    fn layout(&self) -> &RowLayout {
        &self.layout
    }

    fn elements(&self) -> usize {
        self.panels.iter().sum::<usize>() * (self.in_channels * self.kernel + 1)
    }

    fn add(&self, images: &Images<T>, chunks: Range<usize>, sums: &mut [T]) {
        let (to, plane) = (
            images.geometry.to,
            images.geometry.to.height * images.geometry.to.width,
        );
        let (sums, bias) = sums.split_at_mut(to.channels * self.in_channels * self.kernel);
        with_scratch(self.layout.elements(), |xs: &mut [T]| {
            with_scratch(self.length * self.pitch, |ys: &mut [T]| {
                for chunk in chunks {
                    let (gradient, rows) = images.chunk(chunk, xs);
                    let length = self.layout.length(rows.len(), to.width);
                    let (mut sums, mut bias, mut gradient) = (&mut *sums, &mut *bias, gradient);
                    for &width in &self.panels {
                        let (of_panel, rest) =
                            sums.split_at_mut(width * self.in_channels * self.kernel);
                        sums = rest;
                        let (of_bias, rest) = bias.split_at_mut(width);
                        bias = rest;
                        let ys = &mut ys[..length * self.pitch];
                        self.fill_gradient(images.geometry, gradient, rows.clone(), ys, of_bias);
                        self.multiply(xs, ys, length, width, of_panel);
                        gradient = &gradient[width * plane..];
                    }
                }
            });
        });
    }

    fn unpack(&self, sums: &[T], weights: &mut Vec<T>) {
        let (start, depth) = (weights.len(), self.in_channels * self.kernel);
        weights.resize(start + sums.len(), T::ZERO);
        let weights = SharedSlice::new(&mut weights[start..]);
        for_each_task(self.panels.len(), |panel| {
            let first = self.panels[..panel].iter().sum::<usize>() * depth;
            let width = self.panels[panel];
            // SAFETY: each task has the channels of another panel.
            let weights = unsafe { weights.part(first, width * depth) };
            pack_transposed(&sums[first..], width, depth, depth, weights);
        });
    }
}
