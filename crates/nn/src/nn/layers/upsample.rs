//! Upsampling of images.

use crate::error::raise;
use crate::nn::layer::boxed_here;
use crate::nn::summary::output_of;
use crate::nn::{Layer, Parameters, check};
use crate::ops::{self, Interpolation};
use crate::tensor::Tensor;

/// Upsamples images: each output pixel is the nearest input pixel, or a weighted mean of four neighbouring ones,
/// as the [`mode`](Self::mode) says.
///
/// # Shapes
/// `(batch, channels, height, width)` to `(batch, channels, height', width')`, where
/// `height' = height · scale_factor`, rounded down, or the size that was given.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[[[1.0, 2.0]]]]); // (1, 1, 1, 2)
/// let y = Upsample::new(2.0).forward(&x); // (1, 1, 2, 4)
/// assert_eq!(y.i((0, 0)).to_vec2::<f32>(), [[1.0, 1.0, 2.0, 2.0]; 2]);
/// ```
#[derive(Clone, Parameters)]
#[describe(
    scale_factor = self.scale_factor,
    size = self.size.map(|[height, width]| (height, width)),
    mode = format!("{:?}", self.mode).to_lowercase()
)]
pub struct Upsample {
    scale_factor: Option<f64>,
    #[parameters(skip)]
    size: Option<[usize; 2]>,
    #[parameters(skip)]
    mode: Interpolation,
    #[parameters(skip)]
    align_corners: bool,
}

impl Upsample {
    /// Creates a layer that multiplies height and width by `scale_factor`.
    ///
    /// # Panics
    /// If `scale_factor` is not positive and finite.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Upsample::new(1.5).forward(&zeros((1, 3, 4, 6))); // (1, 3, 6, 9)
    /// assert_eq!(y.dims(), [1, 3, 6, 9]);
    /// ```
    #[track_caller]
    pub fn new(scale_factor: f64) -> Self {
        raise!(if !(scale_factor > 0.0 && scale_factor.is_finite());
            "Upsample: scale_factor is {scale_factor}";
            "Pass a finite factor above 0, as in Upsample::new(2.0)");
        Self::of(Some(scale_factor), None)
    }

    /// Creates a layer whose output images have this height and width.
    ///
    /// # Panics
    /// If the height or width is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Upsample::to_size(5, 7).forward(&zeros((1, 3, 4, 6))); // (1, 3, 5, 7)
    /// assert_eq!(y.dims(), [1, 3, 5, 7]);
    /// ```
    #[track_caller]
    pub fn to_size(height: usize, width: usize) -> Self {
        check::positive("Upsample", &[("height", height), ("width", width)]);
        Self::of(None, Some([height, width]))
    }

    fn of(scale_factor: Option<f64>, size: Option<[usize; 2]>) -> Self {
        Self {
            scale_factor,
            size,
            mode: Interpolation::Nearest,
            align_corners: false,
        }
    }

    setters! {
        /// Sets how an output pixel is computed: from the nearest input pixel, as by default, or by interpolation
        /// between neighbouring ones.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[[[1.0, 2.0]]]]); // (1, 1, 1, 2)
        /// let y = Upsample::new(2.0).mode(Interpolation::Bilinear).forward(&x); // (1, 1, 2, 4)
        /// assert_eq!(y.i((0, 0, 0)).to_vec1::<f32>(), [1.0, 1.25, 1.75, 2.0]);
        /// ```
        pub fn mode(self, mode: Interpolation): self.mode = mode;

        /// Sets whether an interpolation aligns the centres of the corner pixels of input and output instead of the
        /// outer edges; `false` by default. The forward pass panics if the mode does not interpolate.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[[[1.0, 4.0]]]]); // (1, 1, 1, 2)
        /// let layer = Upsample::new(2.0).mode(Interpolation::Bilinear).align_corners(true);
        /// let y = layer.forward(&x); // (1, 1, 2, 4)
        /// assert_eq!(y.i((0, 0, 0)).to_vec1::<f32>(), [1.0, 2.0, 3.0, 4.0]);
        /// ```
        pub fn align_corners(self, align_corners: bool): self.align_corners = align_corners;
    }
}

impl Layer for Upsample {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let (_, _, height, width) = check::image(self, input);
        let scaled = |size: usize| (size as f64 * self.scale_factor.unwrap_or(1.0)) as usize;
        let size = self.size.unwrap_or([scaled(height), scaled(width)]);
        let name = check::name(self);
        raise!(if self.align_corners && self.mode == Interpolation::Nearest;
            "{name}: align_corners has no meaning without interpolation";
            "Add .mode(Interpolation::Bilinear)");
        let (scale, mode) = (self.scale_factor, (self.mode, self.align_corners));
        let y = ops::upsample(&name, input.raw(), size, scale, mode);
        output_of(self, y) // (batch, channels, height', width')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;
    use candle_core::DType;

    #[test]
    fn wrong_inputs_are_explained() {
        let layer = Upsample::new(2.0);
        let message = |x: Tensor| message_of(|| layer.forward(&x));
        let x = |shape: &[usize]| zeros(shape);
        assert_eq!(
            message(x(&[3, 4])),
            "Upsample(scale_factor=2.0, mode=\"nearest\") cannot take an input of shape [3, 4]\n\
             Expected images (batch, channels, height, width); add a dimension with unsqueeze(…)"
        );
        assert!(message(x(&[1, 1, 0, 4])).ends_with("must be at least 1"));
        let integers = zeros((1, 1, 2, 2)).to_dtype(DType::U8);
        assert!(message(integers).contains("found u8"));
        let huge = Upsample::to_size(1 << 40, 1 << 40);
        let error = message_of(|| huge.forward(&x(&[1, 1, 2, 2])));
        assert_eq!(error.lines().count(), 2, "{error}");
        let tiny = Upsample::new(0.1);
        assert!(attempt(|| tiny.forward(&x(&[1, 1, 2, 2]))).is_err());
        let wrong: [fn() -> Upsample; 3] = [
            || Upsample::new(0.0),
            || Upsample::new(f64::NAN),
            || Upsample::to_size(0, 1),
        ];
        for wrong in wrong {
            assert_eq!(message_of(wrong).lines().count(), 2);
        }
    }
}
