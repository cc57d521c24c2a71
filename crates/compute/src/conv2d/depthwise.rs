//! The convolution of single channels, each with a kernel of its own (depthwise).
//!
//! The scratch rows are those of [`convolve`](mod@super::convolve), but there is one channel only: instead of channels, a
//! tile of sums has several rows, which share the inputs ([`column_sums`]). A chunk of rows stays in the L1 cache, and a
//! task computes the same rows of several images, whose padding it sets once.

use super::epilogue::Epilogue;
use super::geometry::Geometry;
use super::layout::{RowLayout, copy_pixels};
use crate::microkernel::{COLUMN_WEIGHTS, Column, Rows, column_sums};
use crate::scratch::with_scratch;
use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::simd::Float;
use crate::threads::for_each_task;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The narrowest output for which the vectors along its rows are worth their time.
const NARROWEST: usize = 4;
/// The elements in scratch memory that fit into the L1 cache beside the outputs.
const CHUNK: usize = 1 << 12;
/// The outputs of a task, if there are as many.
const TASK: usize = 1 << 14;
/// The least number of tasks, if there are images and channels enough.
const TASKS: usize = 16;

/// Returns whether each group has one channel, of a size for which this method is faster.
pub(super) fn suits(geometry: &Geometry) -> bool {
    let (from, to) = (geometry.from, geometry.to);
    from.channels == 1 && to.channels == 1 && to.height > 1 && to.width >= NARROWEST
}

/// Returns the convolution of each channel with its kernel.
pub(super) fn convolve<T: Float>(
    geometry: &Geometry,
    x: &[T],
    weight: &[T],
    epilogue: Epilogue<'_, T>,
) -> Vec<T> {
    let layout = &RowLayout::within(CHUNK, geometry);
    let planes = geometry.batch * geometry.groups;
    let most = TASK.div_ceil(layout.chunk_rows * geometry.to.width);
    let together = most.min(planes.div_ceil(TASKS));
    let (columns, order) = columns_of(layout, geometry.kernel);
    let work = |task: usize, y: SharedSlice<MaybeUninit<T>>| {
        let (first, chunk) = (task / layout.chunks * together, task % layout.chunks);
        let task = Task {
            geometry,
            layout,
            columns: &columns,
            order: &order,
            rows: layout.rows_of(chunk),
            planes: first..(first + together).min(planes),
        };
        // SAFETY: `y` is the whole output. No other task has these rows of these planes.
        unsafe { task.convolve(x, weight, epilogue, y) };
    };
    let tasks = planes.div_ceil(together) * layout.chunks;
    // SAFETY: the tasks cover all rows of all planes, and each initialises its outputs.
    unsafe {
        vec_filled_by(planes * geometry.to.elements(), |y| {
            for_each_task(tasks, |task| work(task, y));
        })
    }
}

/// Returns the columns of a kernel, and the indices of their weights.
fn columns_of(layout: &RowLayout, [height, width]: [usize; 2]) -> (Vec<Column>, Vec<usize>) {
    let (mut columns, mut order): (Vec<Column>, _) = (vec![], vec![]);
    for column in 0..width {
        let mut weights: Vec<usize> = (0..height).map(|row| row * width + column).collect();
        // With a stride, rows of inputs that are neighbours in memory are not neighbours in the kernel.
        weights.sort_by_key(|weight| layout.offsets[*weight]);
        for weight in weights {
            let offset = layout.offsets[weight];
            match columns.last_mut() {
                Some(last)
                    if last.count < COLUMN_WEIGHTS
                        && last.offset + last.count * layout.pitch == offset =>
                {
                    last.count += 1;
                }
                _ => columns.push(Column { offset, count: 1 }),
            }
            order.push(weight);
        }
    }
    (columns, order)
}

/// The same rows of some planes: images of a channel.
struct Task<'a> {
    geometry: &'a Geometry,
    layout: &'a RowLayout,
    columns: &'a [Column],
    order: &'a [usize],
    rows: Range<usize>,
    planes: Range<usize>,
}

impl Task<'_> {
    /// Initialises the outputs.
    ///
    /// # Safety
    /// `y` is the whole output, and no other thread accesses these rows of these planes.
    unsafe fn convolve<T: Float>(
        &self,
        x: &[T],
        weight: &[T],
        epilogue: Epilogue<'_, T>,
        y: SharedSlice<MaybeUninit<T>>,
    ) {
        let (geometry, layout, pitch) = (self.geometry, self.layout, self.layout.pitch);
        let (from, to) = (geometry.from.elements(), geometry.to);
        let mut weights = vec![T::ZERO; 1 + self.order.len()];
        with_scratch(layout.elements() + Rows::<T>::excess(pitch), |scratch| {
            scratch.fill(T::ZERO);
            for plane in self.planes.clone() {
                let channel = plane % geometry.groups;
                let epilogue = epilogue.of(channel);
                let kernel = &weight[channel * self.order.len()..][..self.order.len()];
                weights[0] = epilogue.bias;
                for (weight, i) in weights[1..].iter_mut().zip(self.order) {
                    *weight = kernel[*i];
                }
                let x = &x[plane * from..][..from];
                copy_pixels(layout, geometry, x, self.rows.start, scratch);
                let first = plane * to.elements() + self.rows.start * to.width;
                // SAFETY: the caller's promise.
                let y = unsafe { y.part(first, self.rows.len() * to.width) };
                let rows = Rows {
                    columns: self.columns,
                    weights: weights.as_ptr(),
                    x: scratch.as_ptr(),
                    pitch,
                    rows: self.rows.len(),
                    width: to.width,
                    out: y.as_mut_ptr().cast(),
                };
                // SAFETY: there is a weight for each place in `order`, to which the columns count. The scratch memory
                // has the rows of the chunk and the excess. `y` is all outputs, which are initialised afterwards.
                let y = unsafe {
                    column_sums(rows);
                    y.assume_init_mut()
                };
                epilogue.apply(y);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(size: usize, kernel: usize, settings: [[usize; 2]; 3]) -> Geometry {
        Geometry::new([1, 1, size, size], [1, 1, kernel, kernel], 1, settings)
    }

    #[test]
    fn the_weights_of_a_column_are_one_row_apart() {
        let counts = |kernel: usize, stride: usize, dilation: usize| {
            let settings = [[stride; 2], [dilation; 2], [0; 2]];
            let layout = RowLayout::within(CHUNK, &geometry(20, kernel, settings));
            let (columns, order) = columns_of(&layout, [kernel; 2]);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, Vec::from_iter(0..kernel * kernel));
            Vec::from_iter(columns.iter().map(|column| column.count))
        };
        assert_eq!(counts(3, 1, 1), [3; 3]);
        assert_eq!(counts(7, 1, 1), [5, 2].repeat(7));
        assert_eq!(counts(3, 2, 1), [2, 1].repeat(3));
        assert_eq!(counts(3, 1, 2), [1; 9]);
    }

    #[test]
    fn planes_that_would_leave_vectors_empty_are_refused() {
        let suits = |size| suits(&geometry(size, 3, [[1; 2]; 3]));
        assert!(suits(4) && !suits(1) && !suits(3));
    }
}
