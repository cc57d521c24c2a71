//! The convolution of narrow images as a product of matrices: one column for each position of all images.
//!
//! Where images are narrow, the sums of [`convolve`](mod@super::convolve) would fill their vectors badly, and
//! read all weights for each image. Here the patches, the pixels that the kernel meets at a position, are
//! packed into the panels of the product; there is no matrix of all patches in memory.

use super::epilogue::Epilogue;
use super::geometry::Geometry;
use super::layout::source;
use crate::gemm::{Matrix, pack_transposed, product_with};
use crate::microkernel::{lanes, tile_shape};
use crate::scratch::with_scratch;
use crate::simd::Float;
use crate::sums::sum;
use crate::threads::map_tasks;
use crate::write;
use std::ops::Range;

/// The widest output for which patches are packed; wider ones fill the vectors.
const WIDEST: usize = 8;
/// The least number of output channels for which the patches are worth packing.
const CHANNELS: usize = 32;

pub(super) struct Patches<'a, T> {
    geometry: &'a Geometry,
    /// The input of all groups.
    x: &'a [T],
    group: usize,
}

/// Elements that are adjacent in a line of a panel, and in the input at the distance of the stride.
struct Segment {
    to: usize,
    from: usize,
    count: usize,
}

impl<'a, T: Float> Patches<'a, T> {
    /// Returns whether the images are narrow, and there are enough channels.
    pub(super) fn suit(geometry: &Geometry) -> bool {
        let (depth, positions) = sizes(geometry);
        geometry.to.width <= WIDEST
            && geometry.to.channels >= CHANNELS
            && depth >= 4 * lanes::<T>()
            && positions >= lanes::<T>()
    }

    /// Returns the convolution: for each group the product of its weights with the patches.
    pub(super) fn convolve(
        geometry: &Geometry,
        x: &[T],
        weight: &[T],
        epilogue: Epilogue<'_, T>,
    ) -> Vec<T> {
        let (depth, positions) = sizes(geometry);
        let (outs, plane) = (geometry.to.channels, geometry.to.height * geometry.to.width);
        let groups: Vec<Vec<T>> = (0..geometry.groups)
            .map(|group| {
                let patches = Patches { geometry, x, group };
                let weight = &weight[group * outs * depth..][..outs * depth];
                product_with(
                    [outs, depth, positions],
                    Matrix::of_rows(weight, depth),
                    &|position, width, panel| patches.pack_positions(position, width, panel),
                )
            })
            .collect();
        let channels = groups.len() * outs;
        write::by_chunks(channels * positions, plane, |first, y| {
            let (image, channel) = (first / plane / channels, first / plane % channels);
            let of_group = &groups[channel / outs];
            let sums = &of_group[channel % outs * positions + image * plane..][..plane];
            epilogue.of(channel).write(sums, y)
        })
    }

    /// Returns the gradients of the weights and of the bias.
    pub(super) fn weight_gradient(
        geometry: &Geometry,
        x: &[T],
        gradient: &[T],
    ) -> (Vec<T>, Vec<T>) {
        let (depth, positions) = sizes(geometry);
        let (outs, plane) = (geometry.to.channels, geometry.to.height * geometry.to.width);
        let (mut weights, mut bias) = (vec![], vec![]);
        for group in 0..geometry.groups {
            // The gradients of a channel, image after image.
            let of_channels = write::by_chunks(outs * positions, plane, |first, to| {
                let (channel, image) = (first / positions, first % positions / plane);
                let from = (image * geometry.groups + group) * outs + channel;
                to.write_copy_of_slice(&gradient[from * plane..][..plane])
            });
            bias.extend(map_tasks(outs, |channel| {
                sum(&of_channels[channel * positions..][..positions])
            }));
            let patches = Patches { geometry, x, group };
            let segments: Vec<Vec<Segment>> =
                map_tasks(geometry.kernel[0] * geometry.kernel[1], |tap| {
                    let mut segments = vec![];
                    patches.segments(0..positions, tap, &mut segments);
                    segments
                });
            weights.push(product_with(
                [outs, positions, depth],
                Matrix::of_rows(&of_channels, positions),
                &|element, width, panel| {
                    patches.pack_elements(element..element + width, &segments, panel);
                },
            ));
        }
        let weights = match weights.len() {
            1 => weights.remove(0),
            _ => weights.concat(),
        };
        (weights, bias)
    }

    /// Packs a panel whose columns are positions: a line for each element of the kernel.
    fn pack_positions(&self, position: usize, width: usize, panel: &mut [T]) {
        let (_, columns) = tile_shape::<T>();
        let taps = self.geometry.kernel[0] * self.geometry.kernel[1];
        let plane = self.geometry.from.height * self.geometry.from.width;
        let mut segments = vec![];
        for tap in 0..taps {
            self.segments(position..position + width, tap, &mut segments);
            let lines = panel.chunks_exact_mut(columns).skip(tap).step_by(taps);
            for (channel, line) in lines.enumerate() {
                self.copy(&self.x[channel * plane..], &segments, line);
            }
        }
    }

    /// Packs a panel whose columns are elements of the kernel: a line for each position. `segments` are those of
    /// all positions.
    fn pack_elements(&self, elements: Range<usize>, segments: &[Vec<Segment>], panel: &mut [T]) {
        let (_, columns) = tile_shape::<T>();
        let plane = self.geometry.from.height * self.geometry.from.width;
        let (_, positions) = sizes(self.geometry);
        with_scratch(elements.len() * positions, |rows: &mut [T]| {
            for (element, row) in elements.clone().zip(rows.chunks_exact_mut(positions)) {
                let (channel, tap) = (element / segments.len(), element % segments.len());
                self.copy(&self.x[channel * plane..], &segments[tap], row);
            }
            pack_transposed(rows, positions, elements.len(), columns, panel);
        });
    }

    /// Copies the segments of a channel into a line, which is 0 elsewhere.
    fn copy(&self, x: &[T], segments: &[Segment], line: &mut [T]) {
        let step = self.geometry.stride[1];
        if segments.iter().map(|segment| segment.count).sum::<usize>() < line.len() {
            line.fill(T::ZERO);
        }
        for Segment { to, from, count } in segments {
            let (x, to) = (&x[*from..], &mut line[*to..][..*count]);
            match step {
                1 => copy_short(x, to),
                _ => {
                    for (value, x) in to.iter_mut().zip(x.iter().step_by(step)) {
                        *value = *x;
                    }
                }
            }
        }
    }

    /// Lists the pixels that an element of the kernel meets in the first channel, at a range of positions.
    fn segments(&self, positions: Range<usize>, tap: usize, segments: &mut Vec<Segment>) {
        segments.clear();
        let Geometry {
            from,
            to,
            kernel,
            stride,
            dilation,
            padding,
            ..
        } = self.geometry;
        let (row, column) = (tap / kernel[1] * dilation[0], tap % kernel[1] * dilation[1]);
        let mut position = positions.start;
        while position < positions.end {
            let (line, start) = (position / to.width, position % to.width);
            let count = (to.width - start).min(positions.end - position);
            let (image, y) = (line / to.height, line % to.height);
            let y = (y * stride[0] + row) as isize - padding[0];
            if let Some(y) = source(y, from.height) {
                let first =
                    (image * self.geometry.groups + self.group) * from.elements() + y * from.width;
                let offset = position - positions.start;
                for i in 0..count {
                    let x = ((start + i) * stride[1] + column) as isize - padding[1];
                    let Some(x) = source(x, from.width) else {
                        continue;
                    };
                    match segments.last_mut() {
                        Some(last)
                            if last.to + last.count == offset + i
                                && last.from + last.count * stride[1] == first + x =>
                        {
                            last.count += 1;
                        }
                        _ => segments.push(Segment {
                            to: offset + i,
                            from: first + x,
                            count: 1,
                        }),
                    }
                }
            }
            position += count;
        }
    }
}

/// Copies a few elements without a call of `memcpy`: in two parts that may overlap.
#[inline(always)]
fn copy_short<T: Float>(from: &[T], to: &mut [T]) {
    let count = to.len();
    let from = &from[..count];
    match count {
        4..=8 => {
            let [first, last] = [&from[..4], &from[count - 4..]];
            to[..4].copy_from_slice(first);
            to[count - 4..].copy_from_slice(last);
        }
        2..=3 => (to[0], to[1], to[count - 1]) = (from[0], from[1], from[count - 1]),
        _ => to.copy_from_slice(from),
    }
}

/// Returns the number of elements of the kernel in all input channels, and the number of positions in all images.
fn sizes(geometry: &Geometry) -> (usize, usize) {
    let to = geometry.to;
    (
        geometry.from.channels * geometry.kernel[0] * geometry.kernel[1],
        geometry.batch * to.height * to.width,
    )
}
