//! The convolution of pictures, without a matrix of windows.
//!
//! A thread copies a few rows of one picture, with their padding, into its scratch memory; there each
//! step of the window is a fixed offset ([`flat`]), and the output is a sum of shifted copies that
//! never leave the registers ([`tile`]). The gradient of the input is the convolution of the output's
//! gradient with the turned weights; that of the weights correlates both.

mod flat;
mod weight;

use super::engine::autograd::{Backward, fits, record};
use super::engine::scratch::with_scratch;
use super::engine::shared::{Shared, written};
use super::engine::simd::Element;
use super::engine::threads::for_each_task;
use super::engine::{Numbers, evenly, for_type_of, microkernel};
use candle_core::{Result, Tensor};
use flat::{Flat, Passage, Run};
use std::mem::MaybeUninit;
use std::ops::Range;

/// How the window moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution {
    pub(crate) stride: usize,
    pub(crate) padding: usize,
    pub(crate) dilation: usize,
    pub(crate) groups: usize,
}

/// The convolution of `x` `(batch, in, height, width)` with `weight` `(out, in / groups, rows, columns)`,
/// plus `bias` `(out,)`; `None` where there is no kernel for them. The shapes must fit.
pub(crate) fn conv2d(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    settings: Convolution,
) -> Result<Option<Tensor>> {
    let inputs: Vec<&Tensor> = [Some(x), Some(weight), bias]
        .into_iter()
        .flatten()
        .collect();
    if !fits(&inputs) || x.elem_count() == 0 {
        return Ok(None);
    }
    for_type_of!(x, forward(&inputs, settings)).map(Some)
}

fn forward<T: Element>(inputs: &[&Tensor], settings: Convolution) -> Result<Tensor> {
    let (x, weight) = (inputs[0].contiguous()?, inputs[1].contiguous()?);
    let bias = inputs.get(2).map(|bias| bias.contiguous()).transpose()?;
    let passage = Passage::forward(&x, &weight, settings)?;
    let y = {
        let bias = bias.as_ref().map(Numbers::of).transpose()?;
        let bias = bias.as_ref().map(|bias| bias.slice::<T>()).transpose()?;
        let (x, weight) = (Numbers::of(&x)?, Numbers::of(&weight)?);
        convolve(&passage, x.slice::<T>()?, weight.slice()?, bias)
    };
    let shape = (
        passage.batch,
        passage.groups * passage.to.channels,
        passage.to.height,
        passage.to.width,
    );
    record(inputs, y, shape, || Back::<T> {
        x: x.detach(),
        weight: weight.detach(),
        passage,
        element: std::marker::PhantomData,
    })
}

struct Back<T> {
    x: Tensor,
    weight: Tensor,
    passage: Passage,
    element: std::marker::PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        [x_wanted, weight_wanted, bias_wanted]: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let numbers = Numbers::of(gradient)?;
        let gradient = numbers.slice::<T>()?;
        let tensor = |values, like: &Tensor| Tensor::from_vec(values, like.shape(), like.device());
        let (mut of_weight, mut of_bias) = (None, None);
        if weight_wanted || bias_wanted {
            let x = Numbers::of(&self.x)?;
            let (weight, bias) = weight::gradients(&self.passage, x.slice::<T>()?, gradient);
            of_weight = Some(tensor(weight, &self.weight)?);
            of_bias = Some(Tensor::from_vec(
                bias,
                self.weight.dim(0)?,
                self.x.device(),
            )?);
        }
        let mut of_x = None;
        if x_wanted {
            let weight = Numbers::of(&self.weight)?;
            let turned = self.passage.turned(weight.slice::<T>()?);
            let values = convolve(&self.passage.backward(), gradient, &turned, None);
            of_x = Some(tensor(values, &self.x)?);
        }
        let of_weight = of_weight.filter(|_| weight_wanted);
        Ok([of_x, of_weight, of_bias.filter(|_| bias_wanted)])
    }
}

/// The convolution of `x` with `weight`, whose dimensions are (group, out, in, row, column).
fn convolve<T: Element>(passage: &Passage, x: &[T], weight: &[T], bias: Option<&[T]>) -> Vec<T> {
    let flat = Flat::new(passage);
    let packed = Packed::new(passage, weight);
    let numbers = passage.batch * passage.groups * passage.to.numbers();
    let tasks = passage.batch * passage.groups * flat.chunks;
    let work = |task: usize, y: Shared<MaybeUninit<T>>| {
        let (picture, index) = (task / flat.chunks, task % flat.chunks);
        let group = picture % passage.groups;
        let chunk = Chunk {
            passage,
            flat: &flat,
            rows: flat.rows_of(index),
            weights: &packed,
            group,
            bias: bias.map(|bias| &bias[group * passage.to.channels..][..passage.to.channels]),
            first: picture * passage.to.numbers(),
        };
        let x = &x[picture * passage.from.numbers()..][..passage.from.numbers()];
        // SAFETY: a task writes the rows of its chunk in its picture, and no other does.
        unsafe { chunk.convolve(x, y) };
    };
    // SAFETY: the tasks write every row of every picture.
    unsafe { written(numbers, |y| for_each_task(tasks, |task| work(task, y))) }
}

/// Some output rows of a picture.
struct Chunk<'a, T> {
    passage: &'a Passage,
    flat: &'a Flat,
    rows: Range<usize>,
    weights: &'a Packed<T>,
    group: usize,
    bias: Option<&'a [T]>,
    /// Where the picture begins in the output.
    first: usize,
}

impl<T: Element> Chunk<'_, T> {
    /// Computes the rows in all channels.
    ///
    /// # Safety
    /// `y` is the whole output; nobody else uses these rows.
    unsafe fn convolve(&self, x: &[T], y: Shared<MaybeUninit<T>>) {
        let (most, places) = microkernel::tile_shape::<T>();
        let (flat, to) = (self.flat, self.passage.to);
        let length = flat.length(self.rows.len(), to.width);
        with_scratch(flat.numbers() + places, |scratch: &mut [T]| {
            flat.fill(self.passage, x, self.rows.start, scratch);
            with_scratch(most * places, |sums: &mut [T]| {
                let mut runs = Vec::new();
                for start in (0..length).step_by(places) {
                    let end = (start + places).min(length);
                    flat.runs(start..end, to.width, &mut runs);
                    let mut channel = 0;
                    for (rows, weights) in self.weights.tiles(self.group) {
                        // SAFETY: `weights` are a tile's for these offsets; the scratch goes a tile's
                        // places beyond the largest offset and the length.
                        unsafe {
                            microkernel::weighted_sums(
                                microkernel::Size::of::<T>(rows, end - start),
                                microkernel::Weights {
                                    start: weights.as_ptr(),
                                    row_step: 1,
                                    step: rows,
                                },
                                &flat.offsets,
                                scratch.as_ptr().add(start),
                                sums.as_mut_ptr(),
                            );
                        }
                        for sums in sums.chunks_exact(places).take(rows) {
                            // SAFETY: passed on.
                            unsafe { self.store(channel, sums, &runs, y) };
                            channel += 1;
                        }
                    }
                }
            });
        });
    }

    /// Writes what belongs to the picture of the sums for neighbouring places.
    ///
    /// # Safety
    /// As for [`convolve`](Self::convolve).
    #[inline(always)]
    unsafe fn store(&self, channel: usize, sums: &[T], runs: &[Run], y: Shared<MaybeUninit<T>>) {
        let to = self.passage.to;
        let start = self.first + (channel * to.height + self.rows.start) * to.width;
        let bias = self.bias.map_or(T::ZERO, |bias| bias[channel]);
        for run in runs {
            // SAFETY: a run lies in the chunk's rows of the channel.
            let y = unsafe { y.part(start + run.to, run.count) };
            for (y, sum) in y.iter_mut().zip(&sums[run.from..]) {
                y.write(*sum + bias);
            }
        }
    }
}

/// The weights in the order in which the tiles read them: all rows of a tile for one step of the
/// window after the other.
struct Packed<T> {
    weights: Vec<T>,
    group: usize,
    window: usize,
    /// Rows of each tile.
    tiles: Vec<usize>,
}

impl<T: Element> Packed<T> {
    fn new(passage: &Passage, weights: &[T]) -> Self {
        let window = passage.from.channels * passage.kernel[0] * passage.kernel[1];
        let tiles = evenly(passage.to.channels, microkernel::tile_shape::<T>().0);
        let mut packed = Vec::with_capacity(weights.len());
        let mut rows = weights.chunks_exact(window);
        for &count in tiles.iter().cycle().take(tiles.len() * passage.groups) {
            let rows: Vec<&[T]> = rows.by_ref().take(count).collect();
            for k in 0..window {
                packed.extend(rows.iter().map(|row| row[k]));
            }
        }
        Packed {
            weights: packed,
            group: passage.to.channels * window,
            window,
            tiles,
        }
    }

    /// The rows and the weights of each tile.
    fn tiles(&self, group: usize) -> impl Iterator<Item = (usize, &[T])> {
        let mut weights = &self.weights[group * self.group..][..self.group];
        self.tiles.iter().map(move |&rows| {
            let (tile, rest) = weights.split_at(rows * self.window);
            weights = rest;
            (rows, tile)
        })
    }
}
