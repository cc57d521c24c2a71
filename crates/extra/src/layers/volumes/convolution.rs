//! The convolution of volumes.

use super::{Slices, Triple, batch, taken};
use crate::error::{OrRaise, raise};
use crate::nn::{Layer, Parameter, Parameters, check, check_channels, initial, record_output};
use crate::ops::{self, Conv2dSpec, Pair};
use crate::tensor::Tensor;

/// A convolution of volumes, with the names and defaults of PyTorch.
///
/// # Shapes
/// `(batch, in_channels, depth, height, width)` to `(batch, out_channels, depth', height', width')`; the batch may be
/// missing. `depth' = (depth + 2 padding - dilation (kernel - 1) - 1) / stride + 1`, rounded down; so are the others.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = Conv3d::new(3, 8, 3).stride((1, 2, 2)).padding(1);
/// let y = layer.forward(&zeros((2, 3, 4, 16, 16))); // (2, 8, 4, 8, 8)
/// assert_eq!(y.dims(), [2, 8, 4, 8, 8]);
/// ```
#[derive(Parameters)]
#[describe(
    self.in_channels(),
    self.out_channels(),
    kernel_size = self.kernel,
    stride = self.stride,
    padding = self.padding,
    dilation = self.dilation,
    groups = self.groups
)]
pub struct Conv3d {
    weight: Parameter,
    bias: Option<Parameter>,
    kernel: Triple,
    stride: Triple,
    padding: Triple,
    dilation: Triple,
    groups: usize,
}

impl Conv3d {
    /// Creates a layer with random weights, on the default device: stride 1, no padding.
    ///
    /// # Panics
    /// If one of the sizes is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Conv3d::new(4, 2, 3).num_parameters(), 2 * 4 * 27 + 2);
    /// ```
    #[track_caller]
    pub fn new(in_channels: usize, out_channels: usize, kernel: impl Into<Triple>) -> Self {
        Self::of(in_channels, out_channels, kernel.into(), 1, true)
    }

    #[track_caller]
    fn of(inputs: usize, outputs: usize, kernel: Triple, groups: usize, biased: bool) -> Self {
        let Triple { depth, image } = kernel;
        let least = depth.min(image.least());
        check_channels("Conv3d", inputs, outputs, least, groups);
        let shape = [outputs, inputs / groups, depth, image.height, image.width];
        let fan_in = shape[1..].iter().map(|size| *size as f64).product();
        let weight = Parameter::new(&initial(fan_in, &shape[..]));
        let bias = biased.then(|| Parameter::new(&initial(fan_in, outputs)));
        let one = Triple::from(1);
        Self {
            weight,
            bias,
            kernel,
            stride: one,
            padding: 0.into(),
            dilation: one,
            groups,
        }
    }

    setters! {
        /// Sets the stride, by which the kernel moves from one output to the next.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Conv3d::new(1, 1, 3).stride(2).forward(&zeros((1, 1, 9, 9, 9))).dims(), [1, 1, 4, 4, 4]);
        /// ```
        pub fn stride(self, stride: impl Into<Triple>): self.stride = stride.into();

        /// Sets the number of zeros on each side.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Conv3d::new(1, 1, 3).padding(1).forward(&zeros((1, 1, 9, 9, 9))).dims(), [1, 1, 9, 9, 9]);
        /// ```
        pub fn padding(self, padding: impl Into<Triple>): self.padding = padding.into();

        /// Sets the distance between neighbouring elements of the kernel.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Conv3d::new(1, 1, 3).dilation(2).forward(&zeros((1, 1, 9, 9, 9))).dims(), [1, 1, 5, 5, 5]);
        /// ```
        pub fn dilation(self, dilation: impl Into<Triple>): self.dilation = dilation.into();
    }

    /// Splits the channels into groups that are convolved separately; one group by default. The weights are drawn again,
    /// since there are fewer.
    ///
    /// # Panics
    /// If the number of groups does not divide the channels.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Conv3d::new(4, 2, 1).groups(2).num_parameters(), 2 * 2 + 2);
    /// ```
    #[track_caller]
    pub fn groups(self, groups: usize) -> Self {
        let Self { weight, bias, .. } = self.with(groups, self.bias.is_some());
        Self {
            weight,
            bias,
            groups,
            ..self
        }
    }

    /// Sets whether there is a bias; `true` by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Conv3d::new(4, 2, 1).bias(false).num_parameters(), 8);
    /// ```
    #[track_caller]
    pub fn bias(mut self, bias: bool) -> Self {
        if bias != self.bias.is_some() {
            self.bias = self.with(self.groups, bias).bias;
        }
        self
    }

    fn in_channels(&self) -> usize {
        self.weight.size(1).unwrap_or(0) * self.groups
    }

    fn out_channels(&self) -> usize {
        self.weight.size(0).unwrap_or(0)
    }

    /// Returns a layer with new parameters for other settings.
    #[track_caller]
    fn with(&self, groups: usize, biased: bool) -> Self {
        let (inputs, outputs) = (self.in_channels(), self.out_channels());
        Self::of(inputs, outputs, self.kernel, groups, biased)
    }

    #[track_caller]
    fn convolve(&self, x: &Tensor) -> Tensor {
        let slices = Slices {
            kernel: self.kernel.depth,
            stride: self.stride.depth,
            padding: self.padding.depth,
            dilation: self.dilation.depth,
        };
        let places = slices.indices(self, x.dim(2));
        let padded = x.pad_with_zeros(2, slices.padding, slices.padding);
        let taken = taken(&padded, &places).permute([0, 2, 1, 3, 4, 5]);
        let images = taken.flatten(2, 3).flatten(0, 1); // (batch · places, channels · kernel, height, width)
        let Pair { height, width } = self.kernel.image;
        let (weight, bias) = (
            self.weight.tensor(),
            self.bias.as_ref().map(Parameter::tensor),
        );
        let weight = weight.reshape((weight.dim(0), (), height, width));
        let spec = Conv2dSpec {
            stride: self.stride.image,
            padding: self.padding.image,
            dilation: self.dilation.image,
            groups: self.groups,
            same: false,
        };
        let (images, bias) = (images.contiguous(), bias.as_ref().map(Tensor::raw));
        let y = ops::conv2d_as(&check::name(self), images.raw(), weight.raw(), bias, spec);
        let y: Tensor = y.or_raise().into();
        let (_, channels, height, width) = y.dims4();
        y.reshape((x.dim(0), places.len(), channels, height, width))
            .transpose(1, 2)
    }
}

impl Layer for Conv3d {
    fn into_box(self) -> Box<dyn Layer> {
        Box::new(self)
    }

    fn forward(&self, input: &Tensor) -> Tensor {
        let x = batch(self, input);
        if x.dim(1) != self.in_channels() {
            let expected = format!("Expected {} channels", self.in_channels());
            raise(check::refused(self, input, expected))
        }
        let y = self.convolve(&x);
        let is_batch = input.rank() == 5;
        record_output(self, if is_batch { y } else { y.squeeze(0) })
    }
}
