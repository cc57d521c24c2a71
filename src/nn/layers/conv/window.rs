//! The window of a convolution.

use crate::ops;
use candle_core::{Result, Tensor};

/// The settings of a convolution.
#[derive(Clone, Copy)]
pub(in crate::nn) struct Window {
    pub(in crate::nn) out_channels: usize,
    pub(in crate::nn) kernel: usize,
    pub(in crate::nn) stride: usize,
    pub(in crate::nn) padding: usize,
    pub(in crate::nn) dilation: usize,
    pub(in crate::nn) groups: usize,
}

impl Window {
    /// Pixels from its first row to its last.
    pub(super) fn reach(&self) -> usize {
        self.dilation * (self.kernel - 1) + 1
    }

    pub(super) fn convolve(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor> {
        let settings = ops::Convolution {
            stride: self.stride,
            padding: self.padding,
            dilation: self.dilation,
            groups: self.groups,
        };
        match ops::conv2d(x, weight, bias, settings)? {
            Some(y) => Ok(y),
            None => self.convolve_with_candle(x, weight, bias),
        }
    }

    fn convolve_with_candle(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor> {
        let x = self.prepared(x)?;
        let y = x.conv2d(weight, 0, self.stride, self.dilation, self.groups)?;
        match bias {
            Some(bias) => y.broadcast_add(&bias.reshape((1, (), 1, 1))?),
            None => Ok(y),
        }
    }

    /// The input, padded and without the edge that no window reaches. Candle's gradient of a
    /// convolution is right only if nothing is left over in either direction.
    fn prepared(&self, input: &Tensor) -> Result<Tensor> {
        let mut x = input.clone();
        for dim in [2, 3] {
            let size = x.dim(dim)? + 2 * self.padding;
            let used = (size - self.reach()) / self.stride * self.stride + self.reach();
            x = x.pad_with_zeros(dim, self.padding, self.padding)?;
            if used < size {
                x = x.narrow(dim, 0, used)?;
            }
        }
        x.contiguous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Case, compare};
    use crate::tensor::{rand, randn};
    use candle_core::Device;

    const CPU: Device = Device::Cpu;

    /// Windows and pictures of all kinds, by the numbers of a generator.
    fn random(case: &mut Case) -> Option<(Window, [usize; 3])> {
        let groups = case.one_of(&[1, 1, 1, 2, 3]);
        let window = Window {
            // With these, each way to sum the gradients of weights is taken at each length of vectors.
            out_channels: groups * case.one_of(&[1, 2, 3, 5, 8, 11, 16, 35, 52]),
            kernel: case.between(1, 5),
            stride: case.one_of(&[1, 1, 2, 3]),
            padding: case.between(0, 4),
            dilation: case.one_of(&[1, 1, 2, 3]),
            groups,
        };
        let sizes = [
            groups * case.one_of(&[1, 2, 3, 4, 7, 12]),
            case.between(1, 40),
            case.between(1, 40),
        ];
        let fits = sizes[1..]
            .iter()
            .all(|size| size + 2 * window.padding >= window.reach());
        fits.then_some((window, sizes))
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("Conv2d", 120, |case| {
            let (window, [channels, height, width]) = random(case)?;
            let batch = case.one_of(&[1, 2, 5, 20]);
            let x = case.input(randn((batch, channels, height, width), &CPU));
            let kernel = window.kernel;
            let shape = (
                window.out_channels,
                channels / window.groups,
                kernel,
                kernel,
            );
            let mut inputs = vec![x, case.input(rand(shape, &CPU))];
            if case.one_of(&[true, false]) {
                inputs.push(case.input(randn(window.out_channels, &CPU)));
            }
            let fast =
                move |inputs: &[Tensor]| window.convolve(&inputs[0], &inputs[1], inputs.get(2));
            let candle = move |inputs: &[Tensor]| {
                window.convolve_with_candle(&inputs[0], &inputs[1], inputs.get(2))
            };
            Some((inputs, Box::new(fast), Box::new(candle)))
        });
    }
}
