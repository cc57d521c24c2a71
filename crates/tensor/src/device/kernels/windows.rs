//! Windows that move over the planes of images: the patches of a convolution, and pooling.

use super::Argument;
use super::operation::Launch;
use candle_core::{DType, Layout, Result, Shape, Tensor};

/// The windows that a convolution or pooling moves over each of `planes` planes. Behind the border there are zeros; for
/// maxima, nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) planes: usize,
    pub(crate) size: [usize; 2],
    pub(crate) kernel: [usize; 2],
    pub(crate) output: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) dilation: [usize; 2],
    pub(crate) padding: [usize; 2],
}

impl Windows {
    pub(crate) fn pixels(&self) -> usize {
        self.size[0] * self.size[1]
    }

    pub(crate) fn outputs(&self) -> usize {
        self.output[0] * self.output[1]
    }

    pub(crate) fn places(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Returns the kernels' arguments after the addresses.
    fn arguments(&self) -> impl Iterator<Item = Argument> {
        let pairs = [self.size, self.kernel, self.output];
        let steps = [self.stride, self.dilation, self.padding];
        let sizes = pairs.into_iter().chain(steps).flatten();
        let sizes = std::iter::once(self.planes).chain(sizes);
        sizes.map(|size| Argument::U32(u32::try_from(size).expect("a size")))
    }
}

/// What a kernel computes for each plane.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kernel {
    /// The patches (im2col): `(planes, rows · columns, outputs)`.
    Patches,
    /// The sums of the patches' values for each pixel (col2im).
    OfPatches,
    /// The sum of each window.
    Sums,
    /// The sums of the windows' values for each pixel.
    OfSums,
    /// The values at indices, one for each window.
    Pick,
    /// The sums of the values whose index is that of the pixel.
    OfPick,
}

impl Kernel {
    /// Returns the kernel's name without the type of the elements.
    fn name(self) -> &'static str {
        match self {
            Self::Patches => "im2col",
            Self::OfPatches => "col2im",
            Self::Sums => "sums",
            Self::OfSums => "unsum",
            Self::Pick => "pick",
            Self::OfPick => "unpick",
        }
    }

    /// Returns the elements of the result for each plane.
    fn elements(self, windows: &Windows) -> usize {
        match self {
            Self::Patches => windows.places() * windows.outputs(),
            Self::Sums | Self::Pick => windows.outputs(),
            Self::OfPatches | Self::OfSums | Self::OfPick => windows.pixels(),
        }
    }

    /// Returns the threads that compute it: a thread copies a whole patch.
    fn threads(self, windows: &Windows) -> usize {
        match self {
            Self::Patches => windows.planes * windows.outputs(),
            _ => windows.planes * self.elements(windows),
        }
    }

    /// Computes a tensor of this shape from the images or values, and from indices for [`Pick`](Self::Pick).
    fn launch<R>(
        self,
        windows: &Windows,
        dtype: DType,
        shape: impl Into<Shape>,
        run: impl FnOnce(&Launch) -> Result<R>,
    ) -> Result<R> {
        run(&Launch {
            kernel: self.name(),
            shape: shape.into(),
            dtype,
            threads: self.threads(windows),
            sizes: windows.arguments().collect(),
        })
    }
}

/// Returns the patches of images `(batch, channels, height, width)`, as columns:
/// `(batch, channels · rows · columns, outputs)`.
pub(crate) fn patches(windows: &Windows, x: &Tensor) -> Result<Tensor> {
    let (batch, channels, ..) = x.dims4()?;
    let shape = (batch, channels * windows.places(), windows.outputs());
    let x = x.contiguous()?;
    Kernel::Patches.launch(windows, x.dtype(), shape, |launch| {
        x.apply_op1_no_bwd(launch)
    })
}

/// Returns the sums of the values of the [`patches`] for each pixel, which is their gradient.
pub(crate) fn of_patches(windows: &Windows, columns: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let columns = columns.contiguous()?;
    let run = |launch: &Launch| columns.apply_op1_no_bwd(launch);
    Kernel::OfPatches.launch(windows, columns.dtype(), shape, run)
}

impl Windows {
    /// Returns the shape of the outputs for images of this layout.
    fn output_shape(&self, layout: &Layout) -> (usize, usize, usize, usize) {
        let (dims, [height, width]) = (layout.dims(), self.output);
        (dims[0], dims[1], height, width)
    }
}

/// Returns the sums of windows.
pub(crate) fn sums(windows: &Windows, x: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    let run = |launch: &Launch| x.apply_op1_no_bwd(launch);
    Kernel::Sums.launch(windows, x.dtype(), windows.output_shape(x.layout()), run)
}

/// Returns the sums of the windows' values for each pixel of images of this shape: the adjoint of [`sums`].
pub(crate) fn of_sums(windows: &Windows, values: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let values = values.contiguous()?;
    let run = |launch: &Launch| values.apply_op1_no_bwd(launch);
    Kernel::OfSums.launch(windows, values.dtype(), shape, run)
}

/// Returns the index in its plane of each window's maximum: the first of equal elements. NaN counts as larger than all
/// other values.
pub(crate) fn indices_of_maxima(windows: &Windows, x: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    x.apply_op1_no_bwd(&Launch {
        kernel: "maxima",
        shape: windows.output_shape(x.layout()).into(),
        dtype: DType::U32,
        threads: windows.planes * windows.outputs(),
        sizes: windows.arguments().collect(),
    })
}

/// Returns the elements with these indices, one for each window.
pub(crate) fn picked(windows: &Windows, x: &Tensor, indices: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    let run = |launch: &Launch| x.apply_op2_no_bwd(indices, launch);
    Kernel::Pick.launch(windows, x.dtype(), indices.dims(), run)
}

/// Returns the sums of the values that have the index of a pixel: the adjoint of [`picked`].
pub(crate) fn of_picked(
    windows: &Windows,
    values: &Tensor,
    indices: &Tensor,
    shape: &[usize],
) -> Result<Tensor> {
    let values = values.contiguous()?;
    let run = |launch: &Launch| values.apply_op2_no_bwd(indices, launch);
    Kernel::OfPick.launch(windows, values.dtype(), shape, run)
}

#[cfg(test)]
pub(super) mod tests;
