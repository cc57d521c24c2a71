//! The convolution of sequences.

use crate::nn::layers::conv::unusual;
use crate::nn::layers::filters::Filters;
use crate::nn::layers::lazy::lazy_layer;
use crate::nn::spec::Spec;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops::{self, Conv2dSpec};
use candle_core::{Device, Result, Tensor};

/// A convolution of sequences: each output is the weighted sum of a few neighbouring steps.
///
/// `weight` has the shape `(out_channels, in_channels / groups, kernel)`, `bias` the shape
/// `(out_channels,)`, both initialised as those of [`Conv2d`](crate::nn::Conv2d).
///
/// # Shapes
/// `(batch, in_channels, length)` to `(batch, out_channels, length')`, where
/// `length' = (length + 2 padding - dilation (kernel - 1) - 1) / stride + 1`, rounded down.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = Conv1d::new(3, 8, 5)?.padding(2);
/// let y = layer.forward(&zeros((4, 3, 100), &cpu())?)?; // (4, 8, 100)
/// assert_eq!(y.dims(), [4, 8, 100]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(
    self.in_channels(),
    self.out_channels,
    kernel_size = self.kernel,
    stride = self.spec.stride.width,
    padding = unusual(self.spec.padding.width, 0),
    dilation = unusual(self.spec.dilation.width, 1),
    groups = unusual(self.spec.groups, 1),
    bias = unusual(self.bias.is_some(), true)
)]
pub struct Conv1d {
    weight: Parameter,
    bias: Option<Parameter>,
    out_channels: usize,
    kernel: usize,
    #[parameters(skip)]
    spec: Conv2dSpec,
}

impl Conv1d {
    /// Creates a layer with random weights, on the CPU: stride 1, no padding.
    ///
    /// # Errors
    /// If one of the sizes is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Conv1d::new(3, 16, 5)?.num_parameters(), 16 * 3 * 5 + 16);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(in_channels: usize, out_channels: usize, kernel: usize) -> Result<Self> {
        let layer = Self::lazy(out_channels, kernel);
        layer.init(in_channels, &Device::Cpu)?;
        Ok(layer)
    }

    /// Sets the stride, by which the kernel moves from one output to the next; 1 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv1d::new(1, 1, 3)?.stride(2);
    /// assert_eq!(layer.forward(&zeros((1, 1, 9), &cpu())?)?.dims(), [1, 1, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stride(mut self, stride: usize) -> Self {
        self.spec.stride = stride.into();
        self
    }

    /// Sets the number of zeros at each end; 0 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv1d::new(1, 1, 3)?.padding(1);
    /// assert_eq!(layer.forward(&zeros((1, 1, 8), &cpu())?)?.dims(), [1, 1, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn padding(mut self, padding: usize) -> Self {
        self.spec.padding = padding.into();
        self
    }

    /// Sets the distance between neighbouring elements of the kernel; 1 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv1d::new(1, 1, 3)?.dilation(2);
    /// assert_eq!(layer.forward(&zeros((1, 1, 8), &cpu())?)?.dims(), [1, 1, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dilation(mut self, dilation: usize) -> Self {
        self.spec.dilation = dilation.into();
        self
    }

    /// Splits the channels into groups that are convolved separately; one group by default. The weights
    /// are initialised again, since there are fewer.
    ///
    /// # Errors
    /// If `groups` does not divide both numbers of channels.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Conv1d::new(4, 4, 3)?.groups(4)?.num_parameters(), 4 * 3 + 4);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn groups(mut self, groups: usize) -> Result<Self> {
        let in_channels = self.weight.shape()?.dims()[1] * self.spec.groups;
        self.spec.groups = groups;
        let lazy = Self::lazy(self.out_channels, self.kernel);
        self.weight = lazy.weight;
        self.bias = self.bias.and(lazy.bias);
        self.init(in_channels, &Device::Cpu)?;
        Ok(self)
    }

    /// Removes the bias.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Conv1d::new(1, 2, 3)?.without_bias().num_parameters(), 6);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }

    /// Creates a layer whose parameters wait for [`init`](Self::init).
    fn lazy(out_channels: usize, kernel: usize) -> Self {
        let sizes = [Some(out_channels), None, Some(kernel)];
        Self {
            weight: Parameter::lazy_as(Spec::f32(&sizes)),
            bias: Some(Parameter::lazy_as(Spec::f32(&[Some(out_channels)]))),
            out_channels,
            kernel,
            spec: Conv2dSpec::default(),
        }
    }

    /// Initialises the parameters of a lazy layer.
    fn init(&self, in_channels: usize, device: &Device) -> Result<()> {
        let channels = [in_channels, self.out_channels];
        let kernel = [self.kernel];
        let filters = Filters::new("Conv1d", channels, &kernel, self.spec.groups)?;
        let shape = (
            self.out_channels,
            in_channels / self.spec.groups,
            self.kernel,
        );
        self.weight
            .init(device, |device| filters.draw(shape, device))?;
        let bias = |device: &Device| filters.draw(self.out_channels, device);
        self.bias.iter().try_for_each(|b| b.init(device, bias))
    }

    /// Returns the number of input channels; `None` before the first input.
    fn in_channels(&self) -> Option<usize> {
        Some(self.weight.size(1)? * self.spec.groups)
    }

    fn is_initialized(&self) -> bool {
        self.weight.is_initialized()
    }
}

impl Layer for Conv1d {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let weight = self.weight.tensor()?; // (out, in / groups, kernel)
        let bias = self.bias.as_ref().map(Parameter::tensor).transpose()?;
        let y = ops::conv1d(&check::name(self), input, &weight, bias.as_ref(), self.spec)?;
        seen(self, y) // (batch, out, length')
    }
}

/// A [`Conv1d`] that takes its number of input channels from the first input.
///
/// # Shapes
/// As for [`Conv1d`].
///
/// ```
/// use taper::prelude::*;
///
/// let layer = LazyConv1d::new(8, 5).padding(2);
/// let y = layer.forward(&zeros((4, 3, 100), &cpu())?)?; // (4, 8, 100)
/// assert_eq!(layer.describe(), "Conv1d(3, 8, kernel_size=5, stride=1, padding=2)");
/// # Ok::<(), Error>(())
/// ```
pub struct LazyConv1d {
    layer: Conv1d,
}

impl LazyConv1d {
    /// Creates a layer with this many output channels and a kernel of this size.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LazyConv1d::new(8, 5).num_parameters(), 0); // until the first input
    /// ```
    pub fn new(out_channels: usize, kernel: usize) -> Self {
        let layer = Conv1d::lazy(out_channels, kernel);
        Self { layer }
    }

    /// Sets the stride; see [`Conv1d::stride`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LazyConv1d::new(8, 5).stride(2).describe(), "LazyConv1d(8, kernel_size=5, stride=2)");
    /// ```
    pub fn stride(mut self, stride: usize) -> Self {
        self.layer.spec.stride = stride.into();
        self
    }

    /// Sets the padding; see [`Conv1d::padding`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = LazyConv1d::new(8, 5).padding(2).forward(&zeros((4, 3, 100), &cpu())?)?; // (4, 8, 100)
    /// assert_eq!(y.dims(), [4, 8, 100]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn padding(mut self, padding: usize) -> Self {
        self.layer.spec.padding = padding.into();
        self
    }

    /// Sets the dilation; see [`Conv1d::dilation`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = LazyConv1d::new(8, 3).dilation(2).forward(&zeros((4, 3, 9), &cpu())?)?; // (4, 8, 5)
    /// assert_eq!(y.dims(), [4, 8, 5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dilation(mut self, dilation: usize) -> Self {
        self.layer.spec.dilation = dilation.into();
        self
    }
}

lazy_layer!(LazyConv1d, |x| |layer| Ok::<_, candle_core::Error>(
    check::sequences(layer, x)?.1
));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::zeros;

    const CPU: Device = Device::Cpu;

    #[test]
    fn a_wrong_input_is_explained() {
        let layer = Conv1d::new(3, 2, 5).unwrap();
        let message = |shape: &[usize]| {
            let x = zeros(shape, &CPU).unwrap();
            layer.forward(&x).unwrap_err().to_string()
        };
        assert_eq!(
            message(&[3, 8]),
            "Conv1d(3, 2, kernel_size=5, stride=1) cannot take an input of shape [3, 8]\n\
             Expected sequences (batch, channels, length); add a dimension with unsqueeze(…)?"
        );
        assert!(message(&[1, 1, 8]).ends_with("the channels, must be 3"));
        assert!(message(&[1, 3, 4]).contains("must be at least 5"));
        for wrong in [Conv1d::new(0, 1, 1), Conv1d::new(1, 1, 0), layer.groups(2)] {
            assert_eq!(wrong.err().unwrap().to_string().lines().count(), 2);
        }
    }
}
