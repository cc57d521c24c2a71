//! The sizes and settings of a two-dimensional convolution.

use crate::ops::check;
use crate::ops::engine::simd::Element;
use candle_core::{Result, Tensor};
use std::fmt::Display;

/// The settings of a two-dimensional convolution, the same for both dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv2dSpec {
    pub(crate) stride: usize,
    pub(crate) padding: usize,
    pub(crate) dilation: usize,
    pub(crate) groups: usize,
}

impl Default for Conv2dSpec {
    fn default() -> Self {
        Self {
            stride: 1,
            padding: 0,
            dilation: 1,
            groups: 1,
        }
    }
}

impl Conv2dSpec {
    /// Checks the settings, and that `x` are images that are large enough for `weight`.
    pub(super) fn check(&self, caller: &dyn Display, x: &Tensor, weight: &Tensor) -> Result<()> {
        let (_, channels, height, width) = check::images(caller, x)?;
        let (_, in_channels, rows, columns) = weight.dims4()?;
        let expected = in_channels * self.groups;
        if channels != expected {
            let expected = format!("Its second dimension, the channels, must be {expected}");
            return Err(check::wrong_shape(caller, x, expected));
        }
        check::same_place(caller, x, weight)?;
        let settings = [("stride", self.stride), ("dilation", self.dilation)];
        check::positive(caller, &settings)?;
        let least = |kernel| self.extent(kernel).saturating_sub(2 * self.padding);
        let (least_height, least_width) = (least(rows), least(columns));
        if height < least_height || width < least_width {
            let least = match least_height == least_width {
                true => format!("height and width must be at least {least_height}"),
                false => format!("height must be at least {least_height}, its width {least_width}"),
            };
            let expected = format!("Its {least}; or give the layer more padding");
            return Err(check::wrong_shape(caller, x, expected));
        }
        Ok(())
    }

    /// Returns the pixels from the first element of a dilated kernel to its last.
    pub(in crate::ops) fn extent(&self, kernel: usize) -> usize {
        self.dilation * (kernel - 1) + 1
    }

    /// Returns the output's height or width for an input and a kernel of this size.
    pub(super) fn output_size(&self, size: usize, kernel: usize) -> usize {
        (size + 2 * self.padding - self.extent(kernel)) / self.stride + 1
    }
}

/// The size of one group's channels of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Size {
    pub(super) fn elements(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// A convolution of a batch of images: the forward pass, or the backward pass to the input, which is a
/// convolution of the output's gradient with the rotated weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) batch: usize,
    pub(super) groups: usize,
    pub(super) from: Size,
    pub(super) to: Size,
    pub(super) kernel: [usize; 2],
    pub(super) dilation: usize,
    pub(super) stride: usize,
    /// The distance between neighbours of the input, with zeros in between; 1 in the forward pass.
    pub(super) input_dilation: usize,
    /// Rows and columns of zeros before the first; negative if rows or columns are skipped.
    pub(super) padding: [isize; 2],
}

impl Geometry {
    /// Returns the convolution of `x` with `weight`, for inputs that [`Conv2dSpec::check`] accepts.
    pub(super) fn forward(x: &Tensor, weight: &Tensor, spec: Conv2dSpec) -> Result<Self> {
        Ok(Self::of(x.dims4()?.into(), weight.dims4()?, spec))
    }

    /// Returns the convolution of images of the shape `from` with a weight of this shape.
    pub(super) fn of(
        [batch, _, height, width]: [usize; 4],
        (out_channels, in_channels, rows, columns): (usize, usize, usize, usize),
        spec: Conv2dSpec,
    ) -> Self {
        let Conv2dSpec {
            stride,
            padding,
            dilation,
            groups,
        } = spec;
        Geometry {
            batch,
            groups,
            from: Size {
                channels: in_channels,
                height,
                width,
            },
            to: Size {
                channels: out_channels / groups,
                height: spec.output_size(height, rows),
                width: spec.output_size(width, columns),
            },
            kernel: [rows, columns],
            dilation,
            stride,
            input_dilation: 1,
            padding: [padding as isize; 2],
        }
    }

    /// Returns the convolution that maps the output's gradient to the input's, with the weights
    /// [`rotated`](Self::rotated).
    pub(super) fn backward(&self) -> Self {
        let reach = |i: usize| (self.dilation * (self.kernel[i] - 1)) as isize;
        Geometry {
            from: self.to,
            to: self.from,
            stride: 1,
            input_dilation: self.stride,
            padding: [0, 1].map(|i| reach(i) - self.padding[i]),
            ..*self
        }
    }

    /// Returns the weights (group, out, in, row, column) as (group, in, out, row, column), with each kernel
    /// rotated by 180°.
    pub(super) fn rotated<T: Element>(&self, weights: &[T]) -> Vec<T> {
        let kernel = self.kernel[0] * self.kernel[1];
        let (ins, outs) = (self.from.channels, self.to.channels);
        let mut rotated = Vec::with_capacity(weights.len());
        for group in weights.chunks_exact(outs * ins * kernel) {
            for i in 0..ins {
                for o in 0..outs {
                    let weights = &group[(o * ins + i) * kernel..][..kernel];
                    rotated.extend(weights.iter().rev());
                }
            }
        }
        rotated
    }
}
