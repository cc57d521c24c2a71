//! The geometry of two-dimensional pooling.

use crate::error::refuse;
use crate::ops::check;
use crate::ops::engine::{CpuView, Element};
use crate::ops::pair::Pair;
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
    pub(crate) kernel: Pair,
    pub(crate) stride: Pair,
    pub(crate) padding: Pair,
    pub(crate) dilation: Pair,
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

    /// Returns the rows and columns that a patch covers.
    pub(super) fn extent(&self) -> Pair {
        let (kernel, dilation) = (self.kernel.both(), self.dilation.both());
        [0, 1]
            .map(|i| {
                kernel[i]
                    .saturating_sub(1)
                    .saturating_mul(dilation[i])
                    .saturating_add(1)
            })
            .into()
    }

    /// Checks the settings, and that `x` is a batch of images that are large enough for them. Returns the
    /// settings with a stride of at most the padded size of the images.
    pub(super) fn check(&self, caller: &dyn Display, x: &Raw) -> Result<Self> {
        let (stride, padding) = (self.stride, self.padding);
        let settings = [
            ("kernel", self.kernel.least()),
            ("stride", stride.least()),
            ("dilation", self.dilation.least()),
            ("divisor_override", self.divisor.unwrap_or(1)),
        ];
        check::positive(caller, &settings)?;
        let kernel = self.extent();
        let most = kernel.map(|kernel| kernel / 2);
        refuse!(if padding.height > most.height || padding.width > most.width;
            "{caller}: the padding is more than half of the kernel";
            "Use a padding of at most {most}");
        let (batch, channels, height, width) = check::images(caller, x)?;
        let least: Pair = [0, 1]
            .map(|i| (kernel.both()[i] - 2 * padding.both()[i]).max(1))
            .into();
        if height < least.height || width < least.width {
            let expected = match least.height == least.width {
                true => format!("Its height and width must be at least {least}"),
                false => {
                    let Pair { height, width } = least;
                    format!("Its height must be at least {height}, its width {width}")
                }
            };
            return Err(check::wrong_shape(caller, x, expected));
        }
        let padded = [0, 1].map(|i| [height, width][i].saturating_add(2 * padding.both()[i]));
        check::output(
            caller,
            &[batch.max(1), channels.max(1), padded[0], padded[1]],
            x,
        )?;
        Ok(Pool2dSpec {
            stride: [0, 1].map(|i| stride.both()[i].min(padded[i])).into(),
            ..*self
        })
    }

    /// Returns the output's height and width for an input of this size.
    pub(super) fn output_size(&self, size: [usize; 2]) -> [usize; 2] {
        let (extent, stride) = (self.extent().both(), self.stride.both());
        let padding = self.padding.both();
        [0, 1].map(|i| {
            let room = size[i] + 2 * padding[i] - extent[i];
            match self.ceil_mode {
                false => room / stride[i] + 1,
                // A patch must not begin behind the image and the padding before it.
                true => {
                    room.div_ceil(stride[i])
                        .min((size[i] + padding[i] - 1) / stride[i])
                        + 1
                }
            }
        })
    }
}

/// The sizes of a plane, which is one channel of one image, and of its output.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) spec: Pool2dSpec,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) out_height: usize,
    pub(super) out_width: usize,
}

impl Plane {
    pub(super) fn new(x: &Raw, spec: Pool2dSpec) -> Result<Self> {
        let (_, _, height, width) = x.dims4()?;
        let [out_height, out_width] = spec.output_size([height, width]);
        Ok(Plane {
            spec,
            height,
            width,
            out_height,
            out_width,
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
        let padding = self.spec.padding.height;
        let first = out_row * self.spec.stride.height;
        let end = (first + self.spec.kernel.height).saturating_sub(padding);
        first.saturating_sub(padding)..end.min(self.height)
    }

    pub(super) fn padded_width(&self) -> usize {
        self.width + 2 * self.spec.padding.width
    }

    /// Returns the largest number of columns that have the same remainder modulo the stride.
    pub(super) fn part_width(&self) -> usize {
        self.padded_width().div_ceil(self.spec.stride.width)
    }

    pub(super) fn output_shape(&self, x: &Raw) -> Result<(usize, usize, usize, usize)> {
        Ok((x.dim(0)?, x.dim(1)?, self.out_height, self.out_width))
    }
}

/// Returns the gradient of the input, which has the shape `x`. Calls `add` for each plane with the range
/// of the plane's output in the whole output, the gradient of that output, and the gradient of the plane,
/// to which it adds.
pub(super) fn plane_gradients<T: Element>(
    plane: Plane,
    x: &[usize],
    gradient: &Raw,
    add: impl Fn(Range<usize>, &[T], &mut [T]) + Sync,
) -> Result<Raw> {
    let view = CpuView::of(gradient)?;
    let g = view.as_slice::<T>()?;
    let count = x.iter().product();
    let of_x = write::by_chunks(count, plane.elements(), |first, out| {
        let from = first / plane.elements() * plane.out_elements();
        let range = from..from + plane.out_elements();
        let out = write::fill(out, T::ZERO);
        add(range.clone(), &g[range], out);
        out
    });
    Raw::from_vec(of_x, x, gradient.device())
}
