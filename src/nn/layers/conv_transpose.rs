//! The transposed convolution of images.

use crate::nn::layers::conv::unusual;
use crate::nn::layers::filters::Filters;
use crate::nn::layers::lazy::lazy_layer;
use crate::nn::spec::Spec;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops::{self, Conv2dSpec};
use candle_core::{Device, Result, Tensor};

/// A transposed convolution of images: each input is spread over a patch of the output, so that with a
/// stride the image grows.
///
/// `weight` has the shape `(in_channels, out_channels / groups, kernel, kernel)`, `bias` the shape
/// `(out_channels,)`. As in PyTorch, both are initialised uniformly between `-1/√n` and `1/√n` for
/// `n = out_channels / groups · kernel²`.
///
/// # Shapes
/// `(batch, in_channels, height, width)` to `(batch, out_channels, height', width')`, where
/// `height' = (height - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1`.
///
/// From d2l's chapter *Transposed Convolution*.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = ConvTranspose2d::new(16, 8, 2)?.stride(2);
/// let y = layer.forward(&zeros((4, 16, 7, 7), &cpu())?)?; // (4, 8, 14, 14)
/// assert_eq!(y.dims(), [4, 8, 14, 14]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(
    self.weight.size(0),
    self.out_channels,
    kernel_size = self.kernel,
    stride = self.spec.stride.width,
    padding = unusual(self.spec.padding.width, 0),
    output_padding = unusual(self.output_padding, 0),
    dilation = unusual(self.spec.dilation.width, 1),
    groups = unusual(self.spec.groups, 1),
    bias = unusual(self.bias.is_some(), true)
)]
pub struct ConvTranspose2d {
    weight: Parameter,
    bias: Option<Parameter>,
    out_channels: usize,
    kernel: usize,
    output_padding: usize,
    #[parameters(skip)]
    spec: Conv2dSpec,
}

impl ConvTranspose2d {
    /// Creates a layer with random weights, on the CPU: stride 1, no padding, square kernel.
    ///
    /// # Errors
    /// If one of the sizes is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(ConvTranspose2d::new(3, 16, 2)?.num_parameters(), 3 * 16 * 2 * 2 + 16);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(in_channels: usize, out_channels: usize, kernel: usize) -> Result<Self> {
        let layer = Self::lazy(out_channels, kernel);
        layer.init(in_channels, &Device::Cpu)?;
        Ok(layer)
    }

    /// Sets the distance between the patches of neighbouring inputs; 1 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = ConvTranspose2d::new(1, 1, 3)?.stride(2);
    /// assert_eq!(layer.forward(&zeros((1, 1, 4, 3), &cpu())?)?.dims(), [1, 1, 9, 7]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stride(mut self, stride: usize) -> Self {
        self.spec.stride = stride.into();
        self
    }

    /// Sets the number of rows and columns that are removed from each side; 0 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = ConvTranspose2d::new(1, 1, 3)?.padding(1);
    /// assert_eq!(layer.forward(&zeros((1, 1, 8, 8), &cpu())?)?.dims(), [1, 1, 8, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn padding(mut self, padding: usize) -> Self {
        self.spec.padding = padding.into();
        self
    }

    /// Sets the number of rows and columns that are added at the bottom and the right; 0 by default. A
    /// convolution with a stride maps several sizes to one; this chooses among them.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = ConvTranspose2d::new(1, 1, 3)?.stride(2).padding(1).output_padding(1);
    /// assert_eq!(layer.forward(&zeros((1, 1, 4, 4), &cpu())?)?.dims(), [1, 1, 8, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn output_padding(mut self, output_padding: usize) -> Self {
        self.output_padding = output_padding;
        self
    }

    /// Sets the distance between neighbouring elements of the kernel; 1 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = ConvTranspose2d::new(1, 1, 3)?.dilation(2);
    /// assert_eq!(layer.forward(&zeros((1, 1, 4, 4), &cpu())?)?.dims(), [1, 1, 8, 8]);
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
    /// assert_eq!(ConvTranspose2d::new(4, 4, 3)?.groups(4)?.num_parameters(), 4 * 9 + 4);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn groups(mut self, groups: usize) -> Result<Self> {
        let in_channels = self.weight.shape()?.dims()[0];
        self.spec.groups = groups;
        check::positive("ConvTranspose2d", &[("groups", groups)])?;
        self.weight = Parameter::lazy_as(weight_spec(self.out_channels / groups, self.kernel));
        let bias = Parameter::lazy_as(Spec::f32(&[Some(self.out_channels)]));
        self.bias = self.bias.and(Some(bias));
        self.init(in_channels, &Device::Cpu)?;
        Ok(self)
    }

    /// Removes the bias.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(ConvTranspose2d::new(1, 2, 3)?.without_bias().num_parameters(), 18);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }

    /// Creates a layer whose parameters wait for [`init`](Self::init).
    fn lazy(out_channels: usize, kernel: usize) -> Self {
        Self {
            weight: Parameter::lazy_as(weight_spec(out_channels, kernel)),
            bias: Some(Parameter::lazy_as(Spec::f32(&[Some(out_channels)]))),
            out_channels,
            kernel,
            output_padding: 0,
            spec: Conv2dSpec::default(),
        }
    }

    /// Initialises the parameters of a lazy layer.
    fn init(&self, in_channels: usize, device: &Device) -> Result<()> {
        let (out_channels, kernel, groups) = (self.out_channels, self.kernel, self.spec.groups);
        let channels = [out_channels, in_channels];
        let filters = Filters::new("ConvTranspose2d", channels, &[kernel; 2], groups)?;
        let shape = (in_channels, out_channels / groups, kernel, kernel);
        self.weight
            .init(device, |device| filters.draw(shape, device))?;
        let bias = |device: &Device| filters.draw(out_channels, device);
        self.bias.iter().try_for_each(|b| b.init(device, bias))
    }

    fn is_initialized(&self) -> bool {
        self.weight.is_initialized()
    }
}

fn weight_spec(out_channels: usize, kernel: usize) -> Spec {
    Spec::f32(&[None, Some(out_channels), Some(kernel), Some(kernel)])
}

impl Layer for ConvTranspose2d {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let weight = self.weight.tensor()?; // (in, out / groups, kernel, kernel)
        let bias = self.bias.as_ref().map(Parameter::tensor).transpose()?;
        let (name, bias) = (check::name(self), bias.as_ref());
        let y = ops::conv_transpose2d(&name, input, &weight, bias, self.spec, self.output_padding)?;
        seen(self, y) // (batch, out, height', width')
    }
}

/// A [`ConvTranspose2d`] that takes its number of input channels from the first input.
///
/// # Shapes
/// As for [`ConvTranspose2d`].
///
/// ```
/// use taper::prelude::*;
///
/// let layer = LazyConvTranspose2d::new(8, 2).stride(2);
/// let y = layer.forward(&zeros((4, 16, 7, 7), &cpu())?)?; // (4, 8, 14, 14)
/// assert_eq!(layer.describe(), "ConvTranspose2d(16, 8, kernel_size=2, stride=2)");
/// # Ok::<(), Error>(())
/// ```
pub struct LazyConvTranspose2d {
    layer: ConvTranspose2d,
}

impl LazyConvTranspose2d {
    /// Creates a layer with this many output channels and a square kernel of this size.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LazyConvTranspose2d::new(8, 2).num_parameters(), 0); // until the first input
    /// ```
    pub fn new(out_channels: usize, kernel: usize) -> Self {
        let layer = ConvTranspose2d::lazy(out_channels, kernel);
        Self { layer }
    }

    /// Sets the stride; see [`ConvTranspose2d::stride`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConvTranspose2d::new(8, 2).stride(2);
    /// assert_eq!(layer.describe(), "LazyConvTranspose2d(8, kernel_size=2, stride=2)");
    /// ```
    pub fn stride(mut self, stride: usize) -> Self {
        self.layer.spec.stride = stride.into();
        self
    }

    /// Sets the padding; see [`ConvTranspose2d::padding`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConvTranspose2d::new(8, 3).padding(1);
    /// assert_eq!(layer.forward(&zeros((4, 16, 7, 7), &cpu())?)?.dims(), [4, 8, 7, 7]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn padding(mut self, padding: usize) -> Self {
        self.layer.spec.padding = padding.into();
        self
    }
}

lazy_layer!(
    LazyConvTranspose2d,
    |x| |layer| Ok::<_, candle_core::Error>(check::image(layer, x)?.1)
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::zeros;

    #[test]
    fn a_wrong_input_is_explained() {
        let layer = || ConvTranspose2d::new(3, 2, 2).unwrap();
        let message = |layer: ConvTranspose2d, shape: &[usize]| {
            let x = zeros(shape, &Device::Cpu).unwrap();
            layer.forward(&x).unwrap_err().to_string()
        };
        assert_eq!(
            message(layer(), &[3, 8, 8]),
            "ConvTranspose2d(3, 2, kernel_size=2, stride=1) cannot take an input of shape [3, 8, 8]\n\
             Expected images (batch, channels, height, width); add a dimension with unsqueeze(…)?"
        );
        assert!(message(layer(), &[1, 1, 8, 8]).ends_with("the channels, must be 3"));
        assert!(message(layer().padding(1), &[1, 3, 1, 1]).contains("Nothing is left"));
        assert!(message(layer().output_padding(1), &[1, 3, 1, 1]).contains("output_padding is 1"));
        assert!(message(layer().stride(0), &[1, 3, 1, 1]).contains("stride is 0"));
        for wrong in [
            ConvTranspose2d::new(0, 1, 1),
            layer().groups(2),
            layer().groups(0),
        ] {
            assert_eq!(wrong.err().unwrap().to_string().lines().count(), 2);
        }
    }
}
