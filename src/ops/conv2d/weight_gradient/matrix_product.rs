//! With vectors along the output's channels: a product of matrices, whose inner dimension are the
//! places of the pictures. The sums stay in registers from one place to the next.

use super::{Pictures, Way};
use crate::ops::conv2d::flat::{Flat, Passage};
use crate::ops::engine::gemm::pack_turned;
use crate::ops::engine::scratch::with_scratch;
use crate::ops::engine::simd::Element;
use crate::ops::engine::{evenly, microkernel};
use std::ops::Range;

/// So many places are summed at once: their gradients stay in the first cache.
const DEPTH: usize = 192;

pub(super) struct Sums {
    flat: Flat,
    from: usize,
    /// Output channels of each panel.
    panels: Vec<usize>,
    /// Numbers of a panel for one place: its channels, rounded up to whole vectors.
    pitch: usize,
    /// Steps of the window, without the channels.
    window: usize,
    /// The most places of a chunk.
    length: usize,
}

impl Sums {
    /// Whether there are channels enough.
    pub(super) fn pay_for<T: Element>(passage: &Passage) -> bool {
        passage.to.channels >= microkernel::lanes::<T>() && passage.from.channels >= 4
    }

    pub(super) fn new<T: Element>(passage: &Passage) -> Self {
        let flat = Flat::new(passage);
        let panels = evenly(passage.to.channels, microkernel::tile_shape::<T>().1);
        let widest = panels.iter().copied().max().unwrap_or(0);
        Sums {
            from: passage.from.channels,
            pitch: widest.next_multiple_of(microkernel::lanes::<T>()),
            panels,
            window: flat.offsets.len() / passage.from.channels,
            length: flat.length(flat.chunk, passage.to.width),
            flat,
        }
    }

    /// The gradient of a panel's channels, place after place, with zeros between the rows; added to the
    /// bias.
    fn fill_gradient<T: Element>(
        &self,
        passage: &Passage,
        gradient: &[T],
        rows: Range<usize>,
        ys: &mut [T],
        bias: &mut [T],
    ) {
        let (plane, width) = (passage.to.height * passage.to.width, passage.to.width);
        let lines = ys.chunks_mut(self.flat.pitch * self.pitch);
        for (row, line) in rows.zip(lines) {
            let (line, between) = line.split_at_mut(width * self.pitch);
            pack_turned(
                &gradient[row * width..],
                plane,
                bias.len(),
                self.pitch,
                line,
            );
            between.fill(T::ZERO);
            for place in line.chunks_exact(self.pitch) {
                bias.iter_mut().zip(place).for_each(|(sum, y)| *sum += *y);
            }
        }
    }

    /// Adds the products of all input channels at the window's steps with a panel's gradient.
    fn multiply<T: Element>(
        &self,
        xs: &[T],
        ys: &[T],
        length: usize,
        width: usize,
        sums: &mut [T],
    ) {
        let (most, places) = microkernel::tile_shape::<T>();
        let plane = self.flat.numbers() / self.from;
        let steps: Vec<usize> = (0..DEPTH).map(|place| place * self.pitch).collect();
        with_scratch(most * places, |tile: &mut [T]| {
            for start in (0..length).step_by(DEPTH) {
                let depth = DEPTH.min(length - start);
                let mut channel = 0;
                for rows in evenly(self.from, most) {
                    for (step, offset) in self.flat.offsets[..self.window].iter().enumerate() {
                        // SAFETY: from the last offset, `length` numbers of a channel end with its
                        // plane; `ys` has a pitch, whole vectors, for each of these places.
                        unsafe {
                            microkernel::weighted_sums(
                                microkernel::Size::of::<T>(rows, width),
                                microkernel::Weights {
                                    start: xs.as_ptr().add(channel * plane + offset + start),
                                    row_step: plane,
                                    step: 1,
                                },
                                &steps[..depth],
                                ys.as_ptr().add(start * self.pitch),
                                tile.as_mut_ptr(),
                            );
                        }
                        let sums = &mut sums[(step * self.from + channel) * width..];
                        for (sums, tile) in sums
                            .chunks_exact_mut(width)
                            .zip(tile.chunks_exact(places))
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

impl<T: Element> Way<T> for Sums {
    fn flat(&self) -> &Flat {
        &self.flat
    }

    fn numbers(&self) -> usize {
        self.panels.iter().sum::<usize>() * (self.from * self.window + 1)
    }

    fn add(&self, pictures: &Pictures<T>, chunks: Range<usize>, sums: &mut [T]) {
        let (to, plane) = (
            pictures.passage.to,
            pictures.passage.to.height * pictures.passage.to.width,
        );
        let (sums, bias) = sums.split_at_mut(to.channels * self.from * self.window);
        with_scratch(self.flat.numbers(), |xs: &mut [T]| {
            with_scratch(self.length * self.pitch, |ys: &mut [T]| {
                for chunk in chunks {
                    let (gradient, rows) = pictures.chunk(chunk, xs);
                    let length = self.flat.length(rows.len(), to.width);
                    let (mut sums, mut bias, mut gradient) = (&mut *sums, &mut *bias, gradient);
                    for &width in &self.panels {
                        let (of_panel, rest) = sums.split_at_mut(width * self.from * self.window);
                        sums = rest;
                        let (of_bias, rest) = bias.split_at_mut(width);
                        bias = rest;
                        let ys = &mut ys[..length * self.pitch];
                        self.fill_gradient(pictures.passage, gradient, rows.clone(), ys, of_bias);
                        self.multiply(xs, ys, length, width, of_panel);
                        gradient = &gradient[width * plane..];
                    }
                }
            });
        });
    }

    fn unpack(&self, sums: &[T], weights: &mut Vec<T>) {
        let mut panels = sums;
        for &width in &self.panels {
            let (panel, rest) = panels.split_at(width * self.from * self.window);
            panels = rest;
            for output in 0..width {
                for input in 0..self.from {
                    let steps = (0..self.window).map(|step| step * self.from + input);
                    weights.extend(steps.map(|row| panel[row * width + output]));
                }
            }
        }
    }
}
