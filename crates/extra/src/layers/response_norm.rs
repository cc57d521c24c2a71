//! Local response normalisation.

use crate::error::raise;
use crate::layer;
use crate::nn::check;
use crate::nn::record_output;
use crate::ops::{Pool2dSpec, avg_pool2d};
use crate::tensor::Tensor;
use candle_core::DType;

layer! {
    /// Divides each element by the mean of the squares of neighbouring channels at the same position:
    /// `x / (k + alpha · mean)^beta`. From Krizhevsky, Sutskever and Hinton, 2012.
    ///
    /// # Shapes
    /// `(batch, channels, …)`; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = LocalResponseNorm::new(1).alpha(1.0).beta(0.5).k(0.0);
    /// let y = norm.forward(&tensor(&[[[3.0, -4.0]]])).to_vec::<f32>(); // x / |x|
    /// assert!((y[0] - 1.0).abs() < 1e-6 && (y[1] + 1.0).abs() < 1e-6);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if `size` is 0, the number of channels whose mean is taken.
    #[derive(Clone, Copy)]
    #[describe(self.size, alpha = self.alpha, beta = self.beta, k = self.k)]
    pub struct LocalResponseNorm(size: usize) {
        check::positive("LocalResponseNorm", &[("size", size)]);
        size: usize,
        /// Sets the factor of the mean.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(LocalResponseNorm::new(1).alpha(0.0).forward(&ones((1, 1, 1))).item(), 1.0);
        /// ```
        set alpha: f64 = 1e-4,
        /// Sets the exponent of the divisor.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(LocalResponseNorm::new(1).beta(0.0).forward(&ones((1, 1, 1))).item(), 1.0);
        /// ```
        set beta: f64 = 0.75,
        /// Sets the value that is added to the mean.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let norm = LocalResponseNorm::new(1).alpha(0.0).beta(1.0).k(2.0);
        /// assert!((norm.forward(&ones((1, 1, 1))).item() - 0.5).abs() < 1e-6);
        /// ```
        set k: f64 = 1.0,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        if input.rank() < 2 {
            let expected = "Expected an input (batch, channels, …)";
            raise(check::refused(self, input, expected))
        }
        if input.elem_count() == 0 {
            return input.clone();
        }
        // Of 16 bits, the squares would overflow.
        let x = match input.dtype() {
            DType::BF16 | DType::F16 => input.to_dtype(DType::F32),
            _ => input.clone(),
        };
        let divisor = (self.means(&x) * self.alpha + self.k).pow(self.beta);
        record_output(self, (x / divisor).to_dtype(input.dtype()))
    }

    /// Returns the mean of the squares of the neighbouring channels.
    fn means(&self, x: &Tensor) -> Tensor {
        let (batch, channels) = (x.dim(0), x.dim(1));
        let squares = x.sqr().reshape((batch, 1, channels, ())); // (batch, 1, channels, positions)
        let (before, after) = (self.size / 2, (self.size - 1) / 2);
        let padded = squares.pad_with_zeros(2, before, after);
        avg_pool2d(&padded, Pool2dSpec::new((self.size, 1)).stride(1)).reshape(x.dims())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layer;
    use crate::tensor::{randn, zeros};
    use taper_tensor::testing::message_of;

    #[test]
    fn the_window_is_centred_on_the_channel() {
        let x = randn((2, 5, 3));
        let norm = LocalResponseNorm::new(4).alpha(2.0).beta(1.0).k(0.5);
        let y = norm.forward(&x).to_vec3::<f32>();
        let x = x.to_vec3::<f32>();
        for (image, row, column) in [(0, 0usize, 0), (1, 2, 1), (1, 4, 2)] {
            // Two channels before, one after.
            let window = row.saturating_sub(2)..(row + 2).min(5);
            let sum: f32 = window.map(|i| x[image][i][column].powi(2)).sum();
            let want = x[image][row][column] / (0.5 + 2.0 * sum / 4.0);
            assert!((y[image][row][column] - want).abs() < 1e-5);
        }
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let message = message_of(|| LocalResponseNorm::new(2).forward(&zeros(3)));
        assert!(message.ends_with("(batch, channels, …)"), "{message}");
        assert_eq!(
            message_of(|| LocalResponseNorm::new(0)),
            "LocalResponseNorm: size is 0\nGive size a value of at least 1"
        );
    }
}
