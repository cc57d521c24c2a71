//! The sums of a convolution.
//!
//! A task computes a chunk of output rows of one image and group: it copies the input rows that it needs
//! into scratch memory, then computes tiles of sums, which never leave the registers.

use super::depthwise;
use super::epilogue::Epilogue;
use super::geometry::Geometry;
use super::layout::{RowLayout, Run};
use super::narrow;
use super::patches::Patches;
use super::winograd;
use crate::scratch::with_scratch;
use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::simd::Float;
use crate::threads::for_each_task;
use crate::{microkernel, split_evenly};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Returns the convolution of `x` with `weight`, whose dimensions are (group, out, in, row, column).
pub fn convolve<T: Float>(
    geometry: &Geometry,
    x: &[T],
    weight: &[T],
    epilogue: Epilogue<'_, T>,
) -> Vec<T> {
    match winograd::suits(geometry, x, weight) {
        true => winograd::convolve(geometry, x, weight, false, epilogue),
        false => convolve_directly(geometry, x, weight, epilogue),
    }
}

/// Returns the gradient of the input of a convolution with stride 1, plus a bias: the convolution of the output's gradient
/// `x` with the rotated weights.
pub(super) fn convolve_rotated<T: Float>(
    forward: &Geometry,
    x: &[T],
    weight: &[T],
    bias: Option<&[T]>,
) -> Vec<T> {
    let (geometry, epilogue) = (&forward.backward(), Epilogue::plus(bias));
    match winograd::suits(geometry, x, weight) {
        true => winograd::convolve(geometry, x, weight, true, epilogue),
        false => convolve_directly(geometry, x, &forward.rotated(weight, None), epilogue),
    }
}

fn convolve_directly<T: Float>(
    geometry: &Geometry,
    x: &[T],
    weight: &[T],
    epilogue: Epilogue<'_, T>,
) -> Vec<T> {
    if depthwise::suits(geometry) {
        return depthwise::convolve(geometry, x, weight, epilogue);
    }
    if narrow::suits(geometry) {
        return narrow::convolve(geometry, x, weight, epilogue);
    }
    if Patches::<T>::suit(geometry) {
        return Patches::convolve(geometry, x, weight, epilogue);
    }
    let layout = RowLayout::new(geometry);
    let tiles = split_evenly(geometry.to.channels, microkernel::tile_shape::<T>().0);
    let weights = geometry.to.channels * layout.offsets.len();
    let planes = geometry.batch * geometry.groups;
    let (elements, tasks) = (planes * geometry.to.elements(), planes * layout.chunks);
    let work = |task: usize, y: SharedSlice<MaybeUninit<T>>| {
        let (plane, index) = (task / layout.chunks, task % layout.chunks);
        let group = plane % geometry.groups;
        let chunk = Chunk {
            geometry,
            layout: &layout,
            rows: layout.rows_of(index),
            weights: &weight[group * weights..][..weights],
            tiles: &tiles,
            epilogue,
            channels: group * geometry.to.channels,
            first: plane * geometry.to.elements(),
        };
        let x = &x[plane * geometry.from.elements()..][..geometry.from.elements()];
        // SAFETY: `y` is the whole output. A task writes the rows of its chunk in its image and group, and
        // no other task does.
        unsafe { chunk.convolve(x, y) };
    };
    // SAFETY: the chunks cover all rows of all images and groups, and `convolve` initialises its rows.
    unsafe { vec_filled_by(elements, |y| for_each_task(tasks, |task| work(task, y))) }
}

/// Some output rows of one image and group.
struct Chunk<'a, T> {
    geometry: &'a Geometry,
    layout: &'a RowLayout,
    rows: Range<usize>,
    /// The weights of the group.
    weights: &'a [T],
    /// The number of rows (output channels) of each tile.
    tiles: &'a [usize],
    epilogue: Epilogue<'a, T>,
    /// The number of output channels in the groups before it.
    channels: usize,
    /// The index of the first element of the image and group in the output.
    first: usize,
}

impl<T: Float> Chunk<'_, T> {
    /// Initialises the rows in all channels of the group.
    ///
    /// # Safety
    /// `y` is the whole output, and no other thread accesses these rows.
    unsafe fn convolve(&self, x: &[T], y: SharedSlice<MaybeUninit<T>>) {
        let (most, columns) = microkernel::tile_shape::<T>();
        let (layout, to) = (self.layout, self.geometry.to);
        let kernel = layout.offsets.len();
        let length = layout.length(self.rows.len(), to.width);
        with_scratch(layout.elements() + columns, |scratch: &mut [T]| {
            layout.fill(self.geometry, x, self.rows.start, scratch);
            with_scratch(most * columns, |sums: &mut [T]| {
                let mut runs = Vec::new();
                for start in (0..length).step_by(columns) {
                    let end = (start + columns).min(length);
                    layout.runs(start..end, to.width, &mut runs);
                    let mut channel = 0;
                    for &rows in self.tiles {
                        // SAFETY: each channel has a weight for each offset. From the largest offset,
                        // the scratch memory is valid for `length` elements and a tile's columns
                        // more. `sums` is a full tile.
                        unsafe {
                            microkernel::weighted_sums(
                                microkernel::TileSize::of::<T>(rows, end - start),
                                microkernel::Weights {
                                    start: self.weights.as_ptr().add(channel * kernel),
                                    row_step: kernel,
                                    step: 1,
                                },
                                &layout.offsets,
                                scratch.as_ptr().add(start),
                                microkernel::Sums::of_tile(sums),
                            );
                        }
                        for sums in sums.chunks_exact(columns).take(rows) {
                            // SAFETY: the caller's promise is that of `store`.
                            unsafe { self.store(channel, sums, &runs, y) };
                            channel += 1;
                        }
                    }
                }
            });
        });
    }

    /// Writes the sums of the positions that are outputs.
    ///
    /// # Safety
    /// As for [`convolve`](Self::convolve).
    #[inline(always)]
    unsafe fn store(
        &self,
        channel: usize,
        sums: &[T],
        runs: &[Run],
        y: SharedSlice<MaybeUninit<T>>,
    ) {
        let to = self.geometry.to;
        let start = self.first + (channel * to.height + self.rows.start) * to.width;
        let epilogue = self.epilogue.of(self.channels + channel);
        for run in runs {
            // SAFETY: each run is within the chunk's rows of the channel, and no other task accesses
            // these rows.
            let y = unsafe { y.part(start + run.to, run.count) };
            epilogue.write(&sums[run.from..], y);
        }
    }
}
