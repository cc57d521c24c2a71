//! The geometry of two-dimensional pooling.

use crate::error::explain;
use crate::ops::check;
use crate::ops::engine::simd::Element;
use candle_core::{Result, Tensor};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The settings of two-dimensional pooling, for a square kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool2dSpec {
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) padding: usize,
}

impl Pool2dSpec {
    /// Returns the settings for patches that do not overlap.
    pub(crate) fn new(kernel: usize) -> Self {
        Pool2dSpec {
            kernel,
            stride: kernel,
            padding: 0,
        }
    }

    /// Checks the settings, and that `x` are images that are large enough for them.
    pub(super) fn check(&self, caller: &dyn Display, x: &Tensor) -> Result<()> {
        let Pool2dSpec {
            kernel,
            stride,
            padding,
        } = *self;
        check::positive(caller, &[("kernel", kernel), ("stride", stride)])?;
        if padding > kernel / 2 {
            return Err(explain(
                format!("{caller}: the padding is more than half of the kernel"),
                format!("Use a padding of at most {}", kernel / 2),
            ));
        }
        let (_, _, height, width) = check::images(caller, x)?;
        let least = (kernel - 2 * padding).max(1);
        if height.min(width) < least {
            let expected = format!("Its height and width must be at least {least}");
            return Err(check::wrong_shape(caller, x, expected));
        }
        Ok(())
    }

    /// Returns the output's height or width for an input of this size.
    pub(super) fn output_size(&self, size: usize) -> usize {
        (size + 2 * self.padding - self.kernel) / self.stride + 1
    }
}

/// One channel of one image, and the plane of its output.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) spec: Pool2dSpec,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) out_height: usize,
    pub(super) out_width: usize,
}

impl Plane {
    pub(super) fn new(x: &Tensor, spec: Pool2dSpec) -> Result<Self> {
        let (_, _, height, width) = x.dims4()?;
        Ok(Plane {
            spec,
            height,
            width,
            out_height: spec.output_size(height),
            out_width: spec.output_size(width),
        })
    }

    pub(super) fn elements(&self) -> usize {
        self.height * self.width
    }

    pub(super) fn out_elements(&self) -> usize {
        self.out_height * self.out_width
    }

    /// Returns the input's rows that an output row covers, without padding.
    pub(super) fn rows(&self, out_row: usize) -> Range<usize> {
        let first = out_row * self.spec.stride;
        let end = (first + self.spec.kernel).saturating_sub(self.spec.padding);
        first.saturating_sub(self.spec.padding)..end.min(self.height)
    }

    pub(super) fn padded_width(&self) -> usize {
        self.width + 2 * self.spec.padding
    }

    pub(super) fn output_shape(&self, x: &Tensor) -> Result<(usize, usize, usize, usize)> {
        Ok((x.dim(0)?, x.dim(1)?, self.out_height, self.out_width))
    }
}

/// Fills the memory with zeros.
pub(super) fn zeroed<T: Element>(memory: &mut [MaybeUninit<T>]) -> &mut [T] {
    for element in memory.iter_mut() {
        element.write(T::ZERO);
    }
    // SAFETY: the loop has initialised every element.
    unsafe { memory.assume_init_mut() }
}
