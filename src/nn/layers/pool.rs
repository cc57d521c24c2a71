//! Pooling with square windows.

use crate::error::explain;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameters, check};
use crate::ops::{self, Pooling};
use candle_core::{D, Device, Result, Tensor};

/// Size and position of the windows, for both kinds of pooling.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    kernel: usize,
    stride: usize,
    padding: usize,
}

impl Windows {
    pub(super) fn new(kernel: usize) -> Self {
        Self {
            kernel,
            stride: kernel,
            padding: 0,
        }
    }

    pub(super) fn pool(
        &self,
        layer: &dyn Parameters,
        x: &Tensor,
        pooling: Pooling,
    ) -> Result<Tensor> {
        let Self {
            kernel,
            stride,
            padding,
        } = *self;
        check::positive("pooling", &[("kernel", kernel), ("stride", stride)])?;
        if padding > kernel / 2 {
            return Err(explain(
                format!(
                    "{}: the padding is more than half a window",
                    layer.describe()
                ),
                format!("Give it a padding of at most {}", kernel / 2),
            ));
        }
        let (_, _, h, w) = check::image(layer, x)?;
        let least = (kernel - 2 * padding).max(1);
        if h.min(w) < least {
            let wanted = format!("Its height and width must be at least {least}");
            return Err(check::refused(layer, x, wanted));
        }
        let windows = ops::Windows {
            kernel,
            stride,
            padding,
        };
        match ops::pool2d(x, windows, pooling)? {
            Some(y) => Ok(y),
            None => self.pool_with_candle(x, pooling),
        }
    }

    fn pool_with_candle(&self, x: &Tensor, pooling: Pooling) -> Result<Tensor> {
        match pooling {
            Pooling::Max => {
                let windows = self.of(x, f64::NEG_INFINITY)?;
                let largest = windows.detach().argmax_keepdim(D::Minus1)?;
                windows.gather(&largest, D::Minus1)?.squeeze(D::Minus1)
            }
            Pooling::Mean => self.of(x, 0.0)?.mean(D::Minus1),
        }
    }

    /// The numbers of each window, in order: `(batch, channels, out_height, out_width, kernel²)`.
    /// The edge is padded with `filler`.
    fn of(&self, x: &Tensor, filler: f64) -> Result<Tensor> {
        let Self {
            kernel,
            stride,
            padding,
        } = *self;
        let (n, c, h, w) = x.dims4()?;
        let (h, w) = (h + 2 * padding, w + 2 * padding);
        let x = padded(x, padding, filler)?;
        let (out_h, out_w) = ((h - kernel) / stride + 1, (w - kernel) / stride + 1);
        if stride == kernel {
            // Windows that do not overlap need no copies of their numbers.
            let x = x
                .narrow(2, 0, out_h * kernel)?
                .narrow(3, 0, out_w * kernel)?;
            let x = x
                .contiguous()?
                .reshape(&[n, c, out_h, kernel, out_w, kernel][..])?;
            let x = x.permute(vec![0, 1, 2, 4, 3, 5])?.contiguous()?;
            return x.reshape((n, c, out_h, out_w, kernel * kernel));
        }
        let places = places(kernel, stride, w, (out_h, out_w), x.device())?;
        let x = x.reshape((n * c, h * w))?.index_select(&places, 1)?;
        x.reshape((n, c, out_h, out_w, kernel * kernel))
    }
}

/// For each window in order, where each of its numbers lies in a flat picture of this width.
fn places(
    kernel: usize,
    stride: usize,
    width: usize,
    (out_h, out_w): (usize, usize),
    device: &Device,
) -> Result<Tensor> {
    let mut places = Vec::with_capacity(out_h * out_w * kernel * kernel);
    for top in (0..out_h).map(|i| i * stride) {
        for left in (0..out_w).map(|i| i * stride) {
            for row in top..top + kernel {
                places.extend((left..left + kernel).map(|column| (row * width + column) as u32));
            }
        }
    }
    let count = places.len();
    Tensor::from_vec(places, count, device)
}

fn padded(x: &Tensor, padding: usize, filler: f64) -> Result<Tensor> {
    if padding == 0 {
        return Ok(x.clone());
    }
    let mut x = x.clone();
    for dim in [2, 3] {
        let mut shape = x.dims().to_vec();
        shape[dim] = padding;
        let edge = (Tensor::zeros(shape, x.dtype(), x.device())? + filler)?;
        x = Tensor::cat(&[&edge, &x, &edge], dim)?;
    }
    Ok(x)
}

macro_rules! pooling {
    ($(#[$doc:meta])* $name:ident, $pooling:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Parameters)]
        #[describe(
            kernel_size = self.windows.kernel,
            stride = self.windows.stride,
            padding = self.windows.padding
        )]
        pub struct $name {
            #[parameters(skip)]
            windows: Windows,
        }

        impl $name {
            /// Creates a layer with square windows that do not overlap: the stride is `kernel`.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(2);")]
            /// assert_eq!(layer.forward(&zeros((1, 1, 5, 8), &cpu())?)?.dims(), [1, 1, 2, 4]);
            /// # Ok::<(), Error>(())
            /// ```
            pub fn new(kernel: usize) -> Self {
                let windows = Windows::new(kernel);
                Self { windows }
            }

            /// Sets the stride, by which the window moves from one output to the next.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(3).stride(1);")]
            /// assert_eq!(layer.forward(&zeros((1, 1, 5, 5), &cpu())?)?.dims(), [1, 1, 3, 3]);
            /// # Ok::<(), Error>(())
            /// ```
            pub fn stride(mut self, stride: usize) -> Self {
                self.windows.stride = stride;
                self
            }

            /// Sets the padding on each side; at most half the size of a window.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(3).stride(1).padding(1);")]
            /// assert_eq!(layer.forward(&zeros((1, 1, 5, 5), &cpu())?)?.dims(), [1, 1, 5, 5]);
            /// # Ok::<(), Error>(())
            /// ```
            pub fn padding(mut self, padding: usize) -> Self {
                self.windows.padding = padding;
                self
            }
        }

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                seen(self, self.windows.pool(self, input, $pooling)?)
            }
        }
    };
}

pooling!(
    /// The largest element of each window. Of equal ones the first gets the gradient.
    ///
    /// From d2l's chapter *Pooling*.
    ///
    /// # Shapes
    /// `(batch, channels, height, width)` to `(batch, channels, height', width')`, where
    /// `height' = (height + 2 padding - kernel) / stride + 1`, rounded down.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0, &cpu())?.reshape((1, 1, 4, 4))?;
    /// let y = MaxPool2d::new(2).forward(&x)?; // (1, 1, 2, 2)
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [5.0, 7.0, 13.0, 15.0]);
    /// # Ok::<(), Error>(())
    /// ```
    MaxPool2d,
    Pooling::Max
);

pooling!(
    /// The mean of each window; padding counts as zeros.
    ///
    /// From d2l's chapter *Pooling*. Shapes are those of [`MaxPool2d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0, &cpu())?.reshape((1, 1, 4, 4))?;
    /// let y = AvgPool2d::new(2).forward(&x)?; // (1, 1, 2, 2)
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [2.5, 4.5, 10.5, 12.5]);
    /// # Ok::<(), Error>(())
    /// ```
    AvgPool2d,
    Pooling::Mean
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{randn, zeros};

    #[test]
    fn wrong_inputs_are_explained() {
        let x = |shape: &[usize]| zeros(shape, &Device::Cpu).unwrap();
        let layers: [&dyn Layer; 3] = [
            &MaxPool2d::new(3),
            &AvgPool2d::new(3),
            &crate::nn::AdaptiveAvgPool2d::new(1),
        ];
        for layer in layers {
            let message = layer.forward(&x(&[4, 4])).unwrap_err().to_string();
            assert!(
                message.contains("(batch, channels, height, width)"),
                "{message}"
            );
            assert_eq!(message.lines().count(), 2);
        }
        let message = MaxPool2d::new(3).forward(&x(&[1, 1, 2, 9])).unwrap_err();
        assert!(message.to_string().contains("at least 3"), "{message}");
        assert!(MaxPool2d::new(0).forward(&x(&[1, 1, 2, 2])).is_err());
        let message = MaxPool2d::new(4).padding(1).forward(&x(&[1, 1, 1, 8]));
        let message = message.unwrap_err().to_string();
        assert!(message.ends_with("must be at least 2"), "{message}");
        let layer = MaxPool2d::new(4).padding(1);
        assert_eq!(
            layer.forward(&x(&[1, 1, 2, 2])).unwrap().dims(),
            [1, 1, 1, 1]
        );
        let message = AvgPool2d::new(2).padding(2).forward(&x(&[1, 1, 8, 8]));
        assert_eq!(
            message.unwrap_err().to_string(),
            "AvgPool2d(kernel_size=2, stride=2, padding=2): the padding is more than half a window\n\
             Give it a padding of at most 1"
        );
    }

    #[test]
    fn the_kernels_agree_with_candle() {
        for pooling in [Pooling::Max, Pooling::Mean] {
            compare(&format!("{pooling:?}Pool2d"), 80, |case| {
                let kernel = case.between(1, 5);
                let windows = Windows {
                    kernel,
                    stride: case.between(1, 5),
                    padding: case.between(0, kernel / 2),
                };
                let least = kernel.saturating_sub(2 * windows.padding).max(1);
                let (height, width) = (case.between(least, 40), case.between(least, 40));
                let shape = (case.between(1, 4), case.between(1, 5), height, width);
                let mut x = randn(shape, &Device::Cpu);
                if case.one_of(&[true, false]) {
                    x = (x.unwrap() * 2.0).and_then(|x| x.round()); // many equal numbers
                }
                let inputs = vec![case.input(x)];
                let kernel =
                    move |x: &[Tensor]| windows.pool(&MaxPool2d { windows }, &x[0], pooling);
                let candle = move |x: &[Tensor]| windows.pool_with_candle(&x[0], pooling);
                Some((inputs, Box::new(kernel), Box::new(candle)))
            });
        }
    }
}
