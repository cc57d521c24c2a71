//! Average pooling to a given size.

use crate::nn::layers::pool::Windows;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameters, check};
use crate::ops::Pooling;
use candle_core::{Device, Result, Tensor};

/// Averages over windows that cover the image, so that the output has the given size whatever the
/// size of the input. Neighbouring windows overlap where the sizes do not divide evenly.
///
/// # Shapes
/// `(batch, channels, height, width)` to `(batch, channels, size, size)`.
///
/// From d2l's chapter *Network in Network (NiN)*, where it returns one value for each channel.
///
/// ```
/// use taper::prelude::*;
///
/// let x = arange(0.0, 16.0, &cpu())?.reshape((1, 1, 4, 4))?;
/// let y = AdaptiveAvgPool2d::new(1).forward(&x)?; // (1, 1, 1, 1)
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [7.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Parameters)]
#[describe(output_size = self.size)]
pub struct AdaptiveAvgPool2d {
    size: usize,
}

impl AdaptiveAvgPool2d {
    /// Creates a layer whose output has this height and width.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = AdaptiveAvgPool2d::new(3).forward(&zeros((1, 2, 7, 5), &cpu())?)?;
    /// assert_eq!(y.dims(), [1, 2, 3, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(size: usize) -> Self {
        Self { size }
    }

    /// Returns a matrix whose rows average the windows: `(size, length)`.
    fn means(&self, length: usize, x: &Tensor) -> Result<Tensor> {
        let mut rows = vec![0f64; self.size * length];
        for i in 0..self.size {
            let (from, to) = (
                i * length / self.size,
                ((i + 1) * length).div_ceil(self.size),
            );
            rows[i * length..][from..to].fill(1.0 / (to - from) as f64);
        }
        // Converted here: not every device has double precision.
        let rows = Tensor::from_vec(rows, (self.size, length), &Device::Cpu)?;
        rows.to_dtype(x.dtype())?.to_device(x.device())
    }
}

impl Layer for AdaptiveAvgPool2d {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        check::positive("AdaptiveAvgPool2d", &[("size", self.size)])?;
        let (n, c, h, w) = check::image(self, input)?;
        if h == 0 || w == 0 {
            return Err(check::refused(
                self,
                input,
                "Its height and width must be at least 1",
            ));
        }
        if h == w && h.is_multiple_of(self.size) {
            // Equal squares: windows that do not overlap.
            let y = Windows::new(h / self.size).pool(self, input, Pooling::Mean)?;
            return seen(self, y);
        }
        let rows = input
            .reshape((n * c * h, w))?
            .matmul(&self.means(w, input)?.t()?)?; // (n·c·h, size)
        let columns = rows
            .reshape((n * c, h, self.size))?
            .transpose(1, 2)?
            .contiguous()?;
        let columns = columns.reshape((n * c * self.size, h))?;
        let y = columns.matmul(&self.means(h, input)?.t()?)?; // (n·c·size, size), still turned
        let y = y.reshape((n, c, self.size, self.size))?.transpose(2, 3)?;
        seen(self, y.contiguous()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::DType;

    #[test]
    fn means_of_f64_have_full_precision() {
        let x = Tensor::ones((1, 1, 5, 4), DType::F64, &Device::Cpu).unwrap();
        let y = AdaptiveAvgPool2d::new(3).forward(&x).unwrap();
        for mean in y.flatten_all().unwrap().to_vec1::<f64>().unwrap() {
            assert!((mean - 1.0).abs() < 1e-15, "{mean}");
        }
    }
}
