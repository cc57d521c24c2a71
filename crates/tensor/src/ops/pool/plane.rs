//! The geometry of two-dimensional pooling.

use crate::device::Windows;
use crate::error::refuse;
use crate::ops::check;
use crate::ops::engine::Element;
use crate::ops::engine::read::read;
use crate::ops::pair::Pair;
use crate::ops::windows::Window;
use crate::tensor::Raw;
use candle_core::Result;
use std::fmt::Display;
use std::ops::Range;
use taper_compute::write;

/// The settings of two-dimensional pooling.
///
/// ```
/// use taper::prelude::*;
///
/// let settings = Pool2dSpec::new((2, 3)).stride(1).padding((1, 0));
/// let y = max_pool2d(&zeros((1, 1, 4, 5)), settings);
/// assert_eq!(y.dims(), [1, 1, 5, 3]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pool2dSpec {
    #[doc(hidden)]
    pub kernel: Pair,
    #[doc(hidden)]
    pub stride: Pair,
    #[doc(hidden)]
    pub padding: Pair,
    #[doc(hidden)]
    pub dilation: Pair,
    pub(super) ceil_mode: bool,
    pub(super) count_include_pad: bool,
    pub(super) divisor: Option<usize>,
}

impl Pool2dSpec {
    /// Creates the settings for patches of this size that do not overlap.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = avg_pool2d(&ones((1, 1, 4, 4)), Pool2dSpec::new(2));
    /// assert_eq!(y.dims(), [1, 1, 2, 2]);
    /// ```
    pub fn new(kernel: impl Into<Pair>) -> Self {
        let kernel = kernel.into();
        Pool2dSpec {
            kernel,
            stride: kernel,
            padding: 0.into(),
            dilation: 1.into(),
            ceil_mode: false,
            count_include_pad: true,
            divisor: None,
        }
    }

    setters! {
        /// Sets the stride, by which the kernel moves from one output to the next.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = avg_pool2d(&ones((1, 1, 4, 4)), Pool2dSpec::new(2).stride((1, 2)));
        /// assert_eq!(y.dims(), [1, 1, 3, 2]);
        /// ```
        pub fn stride(self, stride: impl Into<Pair>): self.stride = stride.into();

        /// Sets the padding on each side; at most half of the kernel.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = avg_pool2d(&ones((1, 1, 4, 4)), Pool2dSpec::new(2).padding(1));
        /// assert_eq!(y.dims(), [1, 1, 3, 3]);
        /// ```
        pub fn padding(self, padding: impl Into<Pair>): self.padding = padding.into();

        /// Sets the distance between the elements of a patch, 1 by default. Only max pooling has it.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = max_pool2d(&ones((1, 1, 5, 5)), Pool2dSpec::new(2).stride(1).dilation(2));
        /// assert_eq!(y.dims(), [1, 1, 3, 3]);
        /// ```
        pub fn dilation(self, dilation: impl Into<Pair>): self.dilation = dilation.into();

        /// Sets whether the size of the output is rounded up, so that a patch may reach over the end of the image, but
        /// begins within it or its first padding; `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = max_pool2d(&ones((1, 1, 5, 5)), Pool2dSpec::new(2).ceil_mode(true));
        /// assert_eq!(y.dims(), [1, 1, 3, 3]);
        /// ```
        pub fn ceil_mode(self, ceil_mode: bool): self.ceil_mode = ceil_mode;

        /// Sets whether the padding counts as zeros in a mean, as by default, or not at all.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let spec = Pool2dSpec::new(2).padding(1).count_include_pad(false);
        /// let y = avg_pool2d(&ones((1, 1, 2, 2)), spec); // (1, 1, 2, 2)
        /// assert_eq!(y.to_vec::<f32>(), [1.0; 4]);
        /// ```
        pub fn count_include_pad(self, count_include_pad: bool): self.count_include_pad = count_include_pad;

        /// Sets the number by which average pooling divides the sum of a patch, in place of the number of its elements.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = avg_pool2d(&ones((1, 1, 2, 2)), Pool2dSpec::new(2).divisor_override(1));
        /// assert_eq!(y.to_vec::<f32>(), [4.0]);
        /// ```
        pub fn divisor_override(self, divisor: usize): self.divisor = Some(divisor);
    }

    /// Checks the settings, and that `x` is a batch of images that are large enough for them. Returns the windows over them.
    pub(super) fn check(&self, caller: &dyn Display, x: &Raw) -> Result<Windows> {
        let settings = [
            ("kernel", self.kernel.least()),
            ("stride", self.stride.least()),
            ("dilation", self.dilation.least()),
            ("divisor_override", self.divisor.unwrap_or(1)),
        ];
        check::positive(caller, &settings)?;
        let window = Window {
            kernel: self.kernel.both(),
            stride: self.stride.both(),
            padding: self.padding.both(),
            dilation: self.dilation.both(),
        };
        let most = Pair::from(window.extent()).map(|extent| extent / 2);
        refuse!(if self.padding.height > most.height || self.padding.width > most.width;
            "{caller}: the padding is more than half of the kernel";
            "Use a padding of at most {most}");
        let window = window.check(caller, x, 1, "")?;
        let (batch, channels, height, width) = x.dims4()?;
        Ok(window.over(batch * channels, [height, width], self.ceil_mode))
    }
}

/// The geometry of the kernels.
impl Windows {
    /// Returns the rows of the plane that belong to an output row.
    pub(super) fn rows(&self, out_row: usize) -> impl Iterator<Item = usize> + use<> {
        let (padding, height) = (self.padding[0], self.size[0]);
        let first = out_row * self.stride[0];
        let end = first + (self.kernel[0] - 1) * self.dilation[0] + 1;
        let rows = (first..end).step_by(self.dilation[0]);
        rows.filter_map(move |row| row.checked_sub(padding).filter(|row| *row < height))
    }

    /// Returns the columns of a window, counted from its first one.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + use<> {
        let step = self.dilation[1];
        (0..self.kernel[1]).map(move |i| i * step)
    }

    /// Returns the width of the plane with its padding, and what the last windows cover behind it.
    pub(super) fn padded_width(&self) -> usize {
        self.ends()[1].max(self.size[1] + 2 * self.padding[1])
    }

    /// Returns the number of columns with the same remainder by the stride.
    pub(super) fn part_width(&self) -> usize {
        self.padded_width().div_ceil(self.stride[1])
    }

    pub(super) fn shape(&self, x: &Raw) -> Result<(usize, usize, usize, usize)> {
        let [height, width] = self.output;
        Ok((x.dim(0)?, x.dim(1)?, height, width))
    }
}

/// Returns the gradient of the input, which has the shape `x`. `add` adds the gradient of a plane, given the
/// range of its outputs.
pub(super) fn plane_gradients<T: Element>(
    windows: Windows,
    x: &[usize],
    gradient: &Raw,
    add: impl Fn(Range<usize>, &[T], &mut [T]) + Sync,
) -> Result<Raw> {
    let of_x = read([gradient], |[g]| {
        write::by_chunks(x.iter().product(), windows.pixels(), |first, out| {
            let from = first / windows.pixels() * windows.outputs();
            let range = from..from + windows.outputs();
            let out = write::fill(out, T::ZERO);
            add(range.clone(), &g[range], out);
            out
        })
    })?;
    Raw::from_vec(of_x, x, gradient.device())
}
