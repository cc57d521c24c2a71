//! The convolution of images.

use crate::nn::layers::lazy::lazy_layer;
use crate::nn::spec::Spec;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops::{self, Conv2dSpec, Pair};
use crate::tensor::uniform;
use candle_core::{Device, Result, Tensor};

/// A convolution of images: each output is the weighted sum of a patch of the input.
///
/// `weight` has the shape `(out_channels, in_channels / groups, kernel, kernel)`, `bias` the shape
/// `(out_channels,)`. As in PyTorch, both are initialised uniformly between `-1/√n` and `1/√n`,
/// where `n` is the number of weights of one output.
///
/// # Shapes
/// `(batch, in_channels, height, width)` to `(batch, out_channels, height', width')`, where
/// `height' = (height + 2 padding - dilation (kernel - 1) - 1) / stride + 1`, rounded down.
///
/// From d2l's chapter *Convolutional Neural Networks*.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = Conv2d::new(1, 6, 5)?.padding(2);
/// let y = layer.forward(&zeros((8, 1, 28, 28), &cpu())?)?; // (8, 6, 28, 28)
/// assert_eq!(y.dims(), [8, 6, 28, 28]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(
    self.in_channels(),
    self.out_channels,
    kernel_size = self.kernel,
    stride = self.spec.stride,
    padding = unusual(self.spec.padding, 0.into()),
    dilation = unusual(self.spec.dilation, 1.into()),
    groups = unusual(self.spec.groups, 1),
    bias = unusual(self.bias.is_some(), true)
)]
pub struct Conv2d {
    weight: Parameter,
    bias: Option<Parameter>,
    out_channels: usize,
    kernel: Pair,
    #[parameters(skip)]
    spec: Conv2dSpec,
}

impl Conv2d {
    /// Creates a layer with random weights, on the CPU: stride 1, no padding. The kernel is `3` or `(3, 5)`.
    ///
    /// # Errors
    /// If one of the sizes is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Conv2d::new(3, 16, 3)?.num_parameters(), 16 * 3 * 3 * 3 + 16);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(in_channels: usize, out_channels: usize, kernel: impl Into<Pair>) -> Result<Self> {
        let layer = Self::lazy(out_channels, kernel);
        layer.init(in_channels, &Device::Cpu)?;
        Ok(layer)
    }

    /// Sets the stride, by which the kernel moves from one output to the next; 1 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv2d::new(1, 1, 3)?.stride(2);
    /// assert_eq!(layer.forward(&zeros((1, 1, 9, 7), &cpu())?)?.dims(), [1, 1, 4, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stride(mut self, stride: impl Into<Pair>) -> Self {
        self.spec.stride = stride.into();
        self
    }

    /// Sets the number of zeros on each side; 0 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv2d::new(1, 1, 3)?.padding(1);
    /// assert_eq!(layer.forward(&zeros((1, 1, 8, 8), &cpu())?)?.dims(), [1, 1, 8, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn padding(mut self, padding: impl Into<Pair>) -> Self {
        self.spec.padding = padding.into();
        self
    }

    /// Sets the distance between neighbouring elements of the kernel; 1 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv2d::new(1, 1, 3)?.dilation(2);
    /// assert_eq!(layer.forward(&zeros((1, 1, 8, 8), &cpu())?)?.dims(), [1, 1, 4, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dilation(mut self, dilation: impl Into<Pair>) -> Self {
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
    /// let layer = Conv2d::new(4, 4, 3)?.groups(4)?;
    /// assert_eq!(layer.num_parameters(), 4 * 3 * 3 + 4);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn groups(mut self, groups: usize) -> Result<Self> {
        let per_group = self.weight.shape()?.dims()[1];
        let in_channels = per_group * self.spec.groups;
        self.spec.groups = groups;
        let lazy = Self::lazy(self.out_channels, self.kernel);
        self.weight = lazy.weight;
        self.bias = self.bias.and(lazy.bias);
        self.init(in_channels, &Device::Cpu)?;
        Ok(self)
    }

    /// Removes the bias, as is usual before a batch normalisation.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Conv2d::new(1, 2, 3)?.without_bias().num_parameters(), 18);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }

    /// Creates a layer whose parameters wait for [`init`](Self::init).
    pub(super) fn lazy(out_channels: usize, kernel: impl Into<Pair>) -> Self {
        let kernel = kernel.into();
        let [rows, columns] = kernel.both().map(Some);
        let sizes = [Some(out_channels), None, rows, columns];
        Self {
            weight: Parameter::lazy_as(Spec::f32(&sizes)),
            bias: Some(Parameter::lazy_as(Spec::f32(&[Some(out_channels)]))),
            out_channels,
            kernel,
            spec: Conv2dSpec::new(),
        }
    }

    /// Initialises the parameters of a lazy layer.
    pub(super) fn init(&self, in_channels: usize, device: &Device) -> Result<()> {
        let (out_channels, kernel, groups) = (self.out_channels, self.kernel, self.spec.groups);
        check::positive(
            "Conv2d",
            &[
                ("in_channels", in_channels),
                ("out_channels", out_channels),
                ("kernel", kernel.least()),
                ("groups", groups),
            ],
        )?;
        if !in_channels.is_multiple_of(groups) || !out_channels.is_multiple_of(groups) {
            return Err(crate::error::explain(
                format!(
                    "Conv2d: {groups} groups cannot share {in_channels} input and {out_channels} output channels"
                ),
                "Choose a number of groups that divides both",
            ));
        }
        let inputs = in_channels / groups;
        let [rows, columns] = kernel.both();
        let bound = 1.0 / (inputs as f64 * rows as f64 * columns as f64).sqrt();
        let shape = (out_channels, inputs, rows, columns);
        self.weight
            .init(device, |device| uniform(-bound, bound, shape, device))?;
        let bias = |device: &Device| uniform(-bound, bound, out_channels, device);
        self.bias.iter().try_for_each(|b| b.init(device, bias))
    }

    /// Returns the number of input channels; `None` before the first input.
    fn in_channels(&self) -> Option<usize> {
        Some(self.weight.size(1)? * self.spec.groups)
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.weight.is_initialized()
    }

    pub(super) fn spec_mut(&mut self) -> &mut Conv2dSpec {
        &mut self.spec
    }
}

impl Layer for Conv2d {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let weight = self.weight.tensor()?; // (out, in / groups, kernel, kernel)
        let bias = self.bias.as_ref().map(Parameter::tensor).transpose()?;
        let y = ops::conv2d_as(&check::name(self), input, &weight, bias.as_ref(), self.spec)?;
        seen(self, y) // (batch, out, height', width')
    }
}

/// Returns a setting that is worth a mention, because it is not the usual one.
pub(super) fn unusual<T: PartialEq>(value: T, usual: T) -> Option<T> {
    (value != usual).then_some(value)
}

/// A [`Conv2d`] that takes its number of input channels from the first input.
///
/// # Shapes
/// As for [`Conv2d`].
///
/// ```
/// use taper::prelude::*;
///
/// let layer = LazyConv2d::new(6, 5).padding(2);
/// let y = layer.forward(&zeros((8, 1, 28, 28), &cpu())?)?; // (8, 6, 28, 28)
/// assert_eq!(layer.describe(), "Conv2d(1, 6, kernel_size=5, stride=1, padding=2)");
/// # Ok::<(), Error>(())
/// ```
pub struct LazyConv2d {
    layer: Conv2d,
}

impl LazyConv2d {
    /// Creates a layer with this many output channels and a kernel of this size, `3` or `(3, 5)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![LazyConv2d::new(6, 5), ReLU, LazyConv2d::new(16, 5)];
    /// assert_eq!(net.num_parameters(), 0); // until the first input
    /// ```
    pub fn new(out_channels: usize, kernel: impl Into<Pair>) -> Self {
        let layer = Conv2d::lazy(out_channels, kernel);
        Self { layer }
    }

    /// Sets the stride; see [`Conv2d::stride`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LazyConv2d::new(6, 5).stride(2).describe(), "LazyConv2d(6, kernel_size=5, stride=2)");
    /// ```
    pub fn stride(mut self, stride: impl Into<Pair>) -> Self {
        self.layer.spec_mut().stride = stride.into();
        self
    }

    /// Sets the padding; see [`Conv2d::padding`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConv2d::new(6, 5).padding(2);
    /// ```
    pub fn padding(mut self, padding: impl Into<Pair>) -> Self {
        self.layer.spec_mut().padding = padding.into();
        self
    }

    /// Sets the dilation; see [`Conv2d::dilation`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConv2d::new(6, 5).dilation(2);
    /// ```
    pub fn dilation(mut self, dilation: impl Into<Pair>) -> Self {
        self.layer.spec_mut().dilation = dilation.into();
        self
    }

    /// Sets the number of groups; see [`Conv2d::groups`]. The first input shows whether it divides the
    /// channels.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConv2d::new(4, 3).groups(2);
    /// assert!(layer.forward(&zeros((1, 3, 8, 8), &cpu())?).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn groups(mut self, groups: usize) -> Self {
        self.layer.spec_mut().groups = groups;
        self
    }

    /// Removes the bias; see [`Conv2d::without_bias`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConv2d::new(6, 5).without_bias();
    /// ```
    pub fn without_bias(mut self) -> Self {
        self.layer = self.layer.without_bias();
        self
    }
}

lazy_layer!(LazyConv2d, |x| |layer| Ok::<_, candle_core::Error>(
    check::image(layer, x)?.1
));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::zeros;

    const CPU: Device = Device::Cpu;

    #[test]
    fn a_wrong_input_is_explained() {
        let layer = Conv2d::new(3, 2, 5).unwrap();
        let message = |shape: &[usize]| {
            let x = zeros(shape, &CPU).unwrap();
            layer.forward(&x).unwrap_err().to_string()
        };
        assert_eq!(
            message(&[3, 8, 8]),
            "Conv2d(3, 2, kernel_size=5, stride=1) cannot take an input of shape [3, 8, 8]\n\
             Expected images (batch, channels, height, width); add a dimension with unsqueeze(…)?"
        );
        assert!(message(&[1, 1, 8, 8]).ends_with("the channels, must be 3"));
        assert!(message(&[1, 3, 4, 8]).contains("must be at least 5"));
        for wrong in [Conv2d::new(0, 1, 1), Conv2d::new(1, 1, 0), layer.groups(2)] {
            assert_eq!(wrong.err().unwrap().to_string().lines().count(), 2);
        }
    }
}
