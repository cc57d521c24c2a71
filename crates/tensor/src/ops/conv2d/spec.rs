//! The settings of a two-dimensional convolution, and their check.

use crate::error::refuse;
use crate::ops::check;
use crate::ops::pair::Pair;
use crate::ops::windows::Window;
use crate::tensor::Raw;
use candle_core::Result;
use std::fmt::Display;
use taper_compute::conv2d::Geometry;

/// The settings of a two-dimensional convolution: stride 1, no padding, dilation 1 and one group, unless
/// they are set.
///
/// ```
/// use taper::prelude::*;
///
/// let (x, weight) = (ones((1, 1, 5, 7)), ones((1, 1, 3, 3)));
/// let y = conv2d(&x, &weight, None, Conv2dSpec::new().stride((1, 2)).padding((0, 1)));
/// assert_eq!(y.dims(), [1, 1, 3, 4]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Conv2dSpec {
    #[doc(hidden)]
    pub stride: Pair,
    #[doc(hidden)]
    pub padding: Pair,
    /// Whether the padding follows from the kernel, in place of `padding`.
    #[doc(hidden)]
    pub same: bool,
    #[doc(hidden)]
    pub dilation: Pair,
    #[doc(hidden)]
    pub groups: usize,
}

impl Default for Conv2dSpec {
    fn default() -> Self {
        Conv2dSpec {
            stride: 1.into(),
            padding: 0.into(),
            same: false,
            dilation: 1.into(),
            groups: 1,
        }
    }
}

impl Conv2dSpec {
    /// Creates the default settings.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (x, weight) = (ones((1, 1, 3, 3)), ones((1, 1, 3, 3)));
    /// let y = conv2d(&x, &weight, None, Conv2dSpec::new()); // (1, 1, 1, 1)
    /// assert_eq!(y.sum_all().item(), 9.0);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the stride, by which the kernel moves from one output to the next.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, weight) = (ones((1, 1, 5, 5)), ones((1, 1, 3, 3)));
        /// assert_eq!(conv2d(&x, &weight, None, Conv2dSpec::new().stride(2)).dims(), [1, 1, 2, 2]);
        /// ```
        pub fn stride(self, stride: impl Into<Pair>): self.stride = stride.into();

        /// Sets the padding: the number of zeros that are added on each side of an image.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, weight) = (ones((1, 1, 5, 5)), ones((1, 1, 3, 3)));
        /// assert_eq!(conv2d(&x, &weight, None, Conv2dSpec::new().padding(1)).dims(), [1, 1, 5, 5]);
        /// ```
        pub fn padding(self, padding: impl Into<Pair>): (self.padding, self.same) = (padding.into(), false);

        /// Pads so that the output has the height and width of the images, whatever the kernel and its dilation: PyTorch's
        /// `padding="same"`. For an even kernel there is one zero more at the end than at the start. The stride must be 1.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, weight) = (ones((1, 1, 5, 5)), ones((1, 1, 2, 3)));
        /// assert_eq!(conv2d(&x, &weight, None, Conv2dSpec::new().padding_same()).dims(), [1, 1, 5, 5]);
        /// ```
        pub fn padding_same(self): self.same = true;

        /// Sets the distance between neighbouring elements of the kernel.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, weight) = (ones((1, 1, 5, 5)), ones((1, 1, 3, 3)));
        /// assert_eq!(conv2d(&x, &weight, None, Conv2dSpec::new().dilation(2)).dims(), [1, 1, 1, 1]);
        /// ```
        pub fn dilation(self, dilation: impl Into<Pair>): self.dilation = dilation.into();

        /// Sets the number of groups of channels that are convolved separately.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, weight) = (ones((1, 4, 5, 5)), ones((4, 1, 3, 3)));
        /// assert_eq!(conv2d(&x, &weight, None, Conv2dSpec::new().groups(4)).dims(), [1, 4, 3, 3]);
        /// ```
        pub fn groups(self, groups: usize): self.groups = groups;
    }

    /// Returns how many rows and columns are added before and after images, for a kernel of this size.
    ///
    /// # Errors
    /// If the output cannot have the size of the images, because of a stride.
    pub(in crate::ops) fn added(
        &self,
        caller: &dyn Display,
        kernel: [usize; 2],
    ) -> Result<[[usize; 2]; 2]> {
        if !self.same {
            return Ok(self.padding.both().map(|padding| [padding; 2]));
        }
        refuse!(if self.stride != 1.into(); argument(caller, self.stride);
            "a stride of 1 with padding_same", "Set the padding itself: padding(…)");
        Ok(self
            .extent(kernel)
            .map(|extent| [(extent - 1) / 2, extent / 2]))
    }

    /// Checks the settings, and that `x` are images that are large enough for `weight`. Returns the
    /// settings to compute with, where stride and dilation are at most the size of the padded images.
    pub(super) fn check(&self, caller: &dyn Display, x: &Raw, weight: &Raw) -> Result<Self> {
        let (batch, _, height, width) = check::images(caller, x)?;
        let &[out_channels, in_channels, rows, columns] = weight.dims() else {
            let expected = "Expected a weight (out, in / groups, rows, columns)";
            return Err(check::wrong_weight(caller, weight, expected));
        };
        let settings = [
            ("out_channels", out_channels),
            ("stride", self.stride.least()),
            ("dilation", self.dilation.least()),
            ("groups", self.groups),
            ("kernel", rows.min(columns)),
        ];
        check::positive(caller, &settings)?;
        check::channels(caller, x, in_channels.saturating_mul(self.groups))?;
        refuse!(if !out_channels.is_multiple_of(self.groups); argument(caller, self.groups);
            "a number of groups that divides {out_channels} output channels",
            "Choose a number of groups that divides both numbers of channels");
        check::same_place(caller, x, weight)?;
        let advice = "; or give the layer more padding";
        let window = { self.window([rows, columns]) }.check(caller, x, 0, advice)?;
        let spec = Conv2dSpec {
            stride: window.stride.into(),
            dilation: window.dilation.into(),
            ..*self
        };
        let [out_height, out_width] = window.over(0, [height, width], false).output;
        check::output(caller, &[batch, out_channels, out_height, out_width], x)?;
        Ok(spec)
    }

    /// Returns the window for a kernel of this size.
    pub(in crate::ops) fn window(&self, kernel: [usize; 2]) -> Window {
        Window {
            kernel,
            stride: self.stride.both(),
            padding: self.padding.both(),
            dilation: self.dilation.both(),
        }
    }

    /// Returns the height and width of a dilated kernel, in pixels.
    pub(in crate::ops) fn extent(&self, kernel: [usize; 2]) -> [usize; 2] {
        self.window(kernel).extent()
    }

    /// Returns the convolution of images with a weight of these shapes, which [`check`](Self::check) has accepted.
    pub(super) fn geometry(
        &self,
        images: (usize, usize, usize, usize),
        weight: (usize, usize, usize, usize),
    ) -> Geometry {
        let settings = [self.stride, self.dilation, self.padding].map(|pair| pair.both());
        Geometry::new(images.into(), weight.into(), self.groups, settings)
    }
}
