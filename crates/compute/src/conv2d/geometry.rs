//! The sizes of a two-dimensional convolution.

use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::simd::Float;
use crate::threads::for_each_task;
use std::mem::MaybeUninit;

/// The size of one group's channels of an image.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The channels of the group.
    pub channels: usize,
    /// The rows of pixels.
    pub height: usize,
    /// The columns of pixels.
    pub width: usize,
}

impl Size {
    pub(super) fn elements(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// The number of output channels whose weights are rotated together: for each input channel, these are adjacent.
const TOGETHER: usize = 8;

/// A convolution of a batch of images: the forward pass, or the backward pass to the input, which is a
/// convolution of the output's gradient with the rotated weights.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// The number of images.
    pub batch: usize,
    /// The number of groups of channels, which are convolved separately.
    pub groups: usize,
    /// The size of the input.
    pub from: Size,
    /// The size of the output.
    pub to: Size,
    pub(super) kernel: [usize; 2],
    pub(super) dilation: [usize; 2],
    pub(super) stride: [usize; 2],
    /// The distance between neighbours of the input, with zeros in between; 1 in the forward pass.
    pub(super) input_dilation: [usize; 2],
    /// The rows and columns of zeros before the image; negative if rows or columns of the image are skipped.
    pub(super) padding: [isize; 2],
}

impl Geometry {
    /// Returns the convolution of images `(batch, groups · in, height, width)` with weights
    /// `(groups · out, in, rows, columns)`. `settings` are the stride, the dilation and the padding of rows and columns.
    ///
    /// # Panics
    /// If the kernel is larger than the padded images.
    pub fn new(
        [batch, _, height, width]: [usize; 4],
        [out_channels, in_channels, rows, columns]: [usize; 4],
        groups: usize,
        settings: [[usize; 2]; 3],
    ) -> Self {
        let [stride, dilation, padding] = settings;
        let (images, kernel) = ([height, width], [rows, columns]);
        let outputs = [0, 1].map(|i| {
            let extent = dilation[i] * (kernel[i] - 1) + 1;
            let steps = (images[i] + 2 * padding[i]).checked_sub(extent);
            steps.expect("a kernel that is at most as large as the padded images") / stride[i] + 1
        });
        let size = |channels, [height, width]: [usize; 2]| Size {
            channels,
            height,
            width,
        };
        Geometry {
            batch,
            groups,
            from: size(in_channels, images),
            to: size(out_channels / groups, outputs),
            kernel,
            dilation,
            stride,
            input_dilation: [1, 1],
            padding: padding.map(|padding| padding as isize),
        }
    }

    /// Returns how often an element is multiplied with a weight; padding counts like elements.
    pub fn multiply_adds(&self) -> usize {
        let weights = self.from.channels * self.kernel[0] * self.kernel[1];
        self.batch * self.groups * self.to.elements() * weights
    }

    /// Returns the convolution that maps the output's gradient to the input's, with the weights
    /// [`rotated`](Self::rotated).
    pub(super) fn backward(&self) -> Self {
        let reach = |i: usize| (self.dilation[i] * (self.kernel[i] - 1)) as isize;
        Geometry {
            from: self.to,
            to: self.from,
            stride: [1, 1],
            input_dilation: self.stride,
            padding: [0, 1].map(|i| reach(i) - self.padding[i]),
            ..*self
        }
    }

    /// Returns the weights (group, out, in, row, column) as (group, in, out, row, column), with each kernel
    /// rotated by 180°: all its elements, or those in the rows and columns `taps` of the rotated kernel.
    pub(super) fn rotated<T: Float>(&self, weights: &[T], taps: Option<[&[usize]; 2]>) -> Vec<T> {
        let last = self.kernel.map(|size| size - 1);
        let lines = self.kernel.map(|size| (0..size).collect::<Vec<usize>>());
        let [rows, columns] = taps.unwrap_or([&lines[0], &lines[1]]);
        let columns = |row: usize| {
            columns
                .iter()
                .map(move |c| (last[0] - row) * self.kernel[1] + last[1] - c)
        };
        let taps: Vec<usize> = rows.iter().flat_map(|row| columns(*row)).collect();
        let kernel = self.kernel[0] * self.kernel[1];
        let (ins, outs) = (self.from.channels, self.to.channels);
        let (size, blocks) = (taps.len(), outs.div_ceil(TOGETHER));
        let work = |task: usize, rotated: SharedSlice<MaybeUninit<T>>| {
            let (group, first) = (task / blocks, task % blocks * TOGETHER);
            let count = TOGETHER.min(outs - first);
            let weights = &weights[(group * outs + first) * ins * kernel..];
            for i in 0..ins {
                let start = ((group * ins + i) * outs + first) * size;
                // SAFETY: no other task has this group and these outputs.
                let rotated = unsafe { rotated.part(start, count * size) };
                for (o, rotated) in rotated.chunks_exact_mut(size).enumerate() {
                    let kernel = &weights[(o * ins + i) * kernel..][..kernel];
                    for (to, tap) in rotated.iter_mut().zip(&taps) {
                        to.write(kernel[*tap]);
                    }
                }
            }
        };
        let elements = self.groups * ins * outs * size;
        // SAFETY: the tasks cover all groups and outputs, and each initialises theirs for all inputs.
        unsafe {
            vec_filled_by(elements, |rotated| {
                for_each_task(self.groups * blocks, |task| work(task, rotated));
            })
        }
    }
}
