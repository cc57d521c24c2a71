//! The convolution of pictures.

use crate::nn::spec::Spec;
use crate::nn::summary::seen;
use crate::nn::{Copier, Layer, Parameter, Parameters, Replicate, check, print_as_described};
use crate::ops::{self, Conv2dSpec};
use crate::tensor::uniform;
use candle_core::{Device, Result, Tensor};

/// A convolution of pictures: each output is the weighted sum of a window of the input.
///
/// `weight` has the shape `(out_channels, in_channels / groups, kernel, kernel)`, `bias` the shape
/// `(out_channels,)`. As in PyTorch, both begin with uniform numbers between `-1/√n` and `1/√n`,
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
pub struct Conv2d {
    weight: Parameter,
    bias: Option<Parameter>,
    out_channels: usize,
    kernel: usize,
    spec: Conv2dSpec,
}

impl Conv2d {
    /// A layer with random weights, on the CPU: stride 1, no padding, square kernel.
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
    pub fn new(in_channels: usize, out_channels: usize, kernel: usize) -> Result<Self> {
        let layer = Self::lazy(out_channels, kernel);
        layer.init(in_channels, &Device::Cpu)?;
        Ok(layer)
    }

    /// How far the window moves from one output to the next; 1 at first.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv2d::new(1, 1, 3)?.stride(2);
    /// assert_eq!(layer.forward(&zeros((1, 1, 9, 7), &cpu())?)?.dims(), [1, 1, 4, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stride(mut self, stride: usize) -> Self {
        self.spec.stride = stride;
        self
    }

    /// How many zeros are put on each side; none at first.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv2d::new(1, 1, 3)?.padding(1);
    /// assert_eq!(layer.forward(&zeros((1, 1, 8, 8), &cpu())?)?.dims(), [1, 1, 8, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn padding(mut self, padding: usize) -> Self {
        self.spec.padding = padding;
        self
    }

    /// The distance between neighbours in the window; 1 at first.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv2d::new(1, 1, 3)?.dilation(2);
    /// assert_eq!(layer.forward(&zeros((1, 1, 8, 8), &cpu())?)?.dims(), [1, 1, 4, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dilation(mut self, dilation: usize) -> Self {
        self.spec.dilation = dilation;
        self
    }

    /// Splits the channels into groups that do not see each other; one group at first. The weights
    /// are drawn anew, since there are fewer.
    ///
    /// # Errors
    /// If the channels cannot be shared out evenly.
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

    /// The same without a bias, as before a batch normalisation.
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

    /// One whose numbers come with the first input.
    pub(super) fn lazy(out_channels: usize, kernel: usize) -> Self {
        let sizes = [Some(out_channels), None, Some(kernel), Some(kernel)];
        Self {
            weight: Parameter::lazy_as(Spec::f32(&sizes)),
            bias: Some(Parameter::lazy_as(Spec::f32(&[Some(out_channels)]))),
            out_channels,
            kernel,
            spec: Conv2dSpec {
                stride: 1,
                padding: 0,
                dilation: 1,
                groups: 1,
            },
        }
    }

    /// Gives a lazy layer its first numbers.
    pub(super) fn init(&self, in_channels: usize, device: &Device) -> Result<()> {
        let (out_channels, kernel, groups) = (self.out_channels, self.kernel, self.spec.groups);
        check::positive(
            "Conv2d",
            &[
                ("in_channels", in_channels),
                ("out_channels", out_channels),
                ("kernel", kernel),
                ("groups", groups),
            ],
        )?;
        if !in_channels.is_multiple_of(groups) || !out_channels.is_multiple_of(groups) {
            return Err(crate::error::explain(
                format!(
                    "Conv2d: {groups} groups cannot share {in_channels} input and {out_channels} output channels"
                ),
                "Choose a number that divides both",
            ));
        }
        let inputs = in_channels / groups;
        let bound = 1.0 / ((inputs * kernel * kernel) as f64).sqrt();
        let shape = (out_channels, inputs, kernel, kernel);
        self.weight
            .init(device, |device| uniform(-bound, bound, shape, device))?;
        let bias = |device: &Device| uniform(-bound, bound, out_channels, device);
        self.bias.iter().try_for_each(|b| b.init(device, bias))
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
        let y = ops::conv2d(&check::name(self), input, &weight, bias.as_ref(), self.spec)?;
        seen(self, y) // (batch, out, height', width')
    }
}

impl Parameters for Conv2d {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        vec![
            ("weight".to_owned(), &self.weight),
            ("bias".to_owned(), &self.bias),
        ]
    }

    fn describe(&self) -> String {
        let spec = &self.spec;
        let inputs = match self.weight.shape() {
            Ok(shape) => format!("{}, ", shape.dims()[1] * spec.groups),
            Err(_) => String::new(),
        };
        let name = if inputs.is_empty() {
            "LazyConv2d"
        } else {
            "Conv2d"
        };
        let mut text = format!(
            "{name}({inputs}{}, kernel_size={}, stride={}",
            self.out_channels, self.kernel, spec.stride
        );
        for (name, value, usual) in [
            ("padding", spec.padding, 0),
            ("dilation", spec.dilation, 1),
            ("groups", spec.groups, 1),
        ] {
            if value != usual {
                text += &format!(", {name}={value}");
            }
        }
        if self.bias.is_none() {
            text += ", bias=false";
        }
        text + ")"
    }
}

impl Replicate for Conv2d {
    fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
        Ok(Self {
            weight: self.weight.replicate_with(copier)?,
            bias: self.bias.replicate_with(copier)?,
            out_channels: self.out_channels,
            kernel: self.kernel,
            spec: self.spec,
        })
    }
}

print_as_described!(Conv2d);

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
