//! Steps that change colours, and the conversion to a tensor of floating-point numbers.

use super::{ImageBytes, Transform};
use crate::error::{Result, attempt, refuse};
use crate::tensor::Tensor;
use crate::tensor::random_unit;

/// The contributions of red, green and blue to the brightness.
const LUMA: [f32; 3] = [0.299, 0.587, 0.114];

/// Changes brightness, contrast and saturation a little, each by a random factor. Input and output
/// are `(height, width, 3)` of `u8`.
///
/// ```
/// use taper::prelude::*;
///
/// let image = full((4, 4, 3), 100.0).to_dtype(DType::U8);
/// let jittered = ColorJitter::new().brightness(0.1).apply(&image)?;
/// let value = jittered.to_vec3::<u8>()[0][0][0];
/// assert!((90..=110).contains(&value));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ColorJitter {
    brightness: f64,
    contrast: f64,
    saturation: f64,
}

impl ColorJitter {
    /// Creates a step that changes nothing yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let image = full((4, 4, 3), 100.0).to_dtype(DType::U8);
    /// let jittered = ColorJitter::new().brightness(0.2).contrast(0.2).saturation(0.2).apply(&image)?;
    /// assert_eq!(jittered.dims(), [4, 4, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Multiplies the brightness by a random factor from `1 - amount` to `1 + amount`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let image = full((4, 4, 3), 100.0).to_dtype(DType::U8);
        /// let jittered = ColorJitter::new().brightness(0.2).apply(&image)?;
        /// assert!((80..=120).contains(&jittered.to_vec3::<u8>()[0][0][0]));
        /// # Ok::<(), Error>(())
        /// ```
        pub fn brightness(self, amount: f64): self.brightness = amount;

        /// Multiplies the contrast, the distance of all pixels from the mean grey of the image, by a random
        /// factor from `1 - amount` to `1 + amount`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let image = full((4, 4, 3), 100.0).to_dtype(DType::U8);
        /// let jittered = ColorJitter::new().contrast(0.05).apply(&image)?;
        /// assert_eq!(jittered.to_vec3::<u8>(), image.to_vec3::<u8>()); // all of it is the mean
        /// # Ok::<(), Error>(())
        /// ```
        pub fn contrast(self, amount: f64): self.contrast = amount;

        /// Multiplies the saturation, the distance of each pixel from its own grey, by a random factor from
        /// `1 - amount` to `1 + amount`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let image = full((4, 4, 3), 100.0).to_dtype(DType::U8);
        /// let jittered = ColorJitter::new().saturation(0.2).apply(&image)?;
        /// assert_eq!(jittered.to_vec3::<u8>(), image.to_vec3::<u8>()); // grey stays grey
        /// # Ok::<(), Error>(())
        /// ```
        pub fn saturation(self, amount: f64): self.saturation = amount;
    }
}

impl Transform for ColorJitter {
    fn apply(&self, input: &Tensor) -> Result<Tensor> {
        let mut image = ImageBytes::of("ColorJitter", input)?;
        let channels = image.channels;
        // All three factors are always drawn, so that enabling one does not change the others.
        let [brightness, contrast, saturation] =
            [self.brightness, self.contrast, self.saturation].map(factor);
        let grey = |pixel: &[u8]| -> f32 {
            match pixel {
                &[grey] => f32::from(grey),
                _ => pixel
                    .iter()
                    .zip(LUMA)
                    .map(|(&value, part)| f32::from(value) * part)
                    .sum(),
            }
        };
        let total: f32 = image.bytes.chunks(channels).map(grey).sum();
        let mean = total / (image.height * image.width) as f32 * brightness;
        for pixel in image.bytes.chunks_mut(channels) {
            let own = mean + (grey(pixel) * brightness - mean) * contrast;
            for value in pixel {
                let contrasted = mean + (f32::from(*value) * brightness - mean) * contrast;
                let saturated = own + (contrasted - own) * saturation;
                *value = saturated.round().clamp(0.0, 255.0) as u8;
            }
        }
        Ok(image.to_tensor())
    }
}

fn factor(amount: f64) -> f32 {
    (1.0 + amount * (2.0 * random_unit() - 1.0)).max(0.0) as f32
}

/// Converts an image to a tensor: `(height, width, channels)` of `u8`, with 3 channels or 1, becomes
/// `(channels, height, width)` of `f32` from 0 to 1.
///
/// ```
/// use taper::prelude::*;
///
/// let image = full((2, 5, 3), 51.0).to_dtype(DType::U8);
/// let x = ToTensor.apply(&image)?; // (3, 2, 5)
/// assert_eq!(x.dims(), [3, 2, 5]);
/// assert!((x.mean_all().item() - 0.2).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ToTensor;

impl Transform for ToTensor {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let image = ImageBytes::of("ToTensor", image)?;
        let scale = (1.0 / 255.0) as f32;
        let mut values = Vec::with_capacity(image.bytes.len());
        for channel in 0..image.channels {
            let of_channel = image.bytes[channel..].iter().step_by(image.channels);
            values.extend(of_channel.map(|byte| f32::from(*byte) * scale));
        }
        let shape = (image.channels, image.height, image.width);
        Ok(Tensor::from_vec_on(values, shape, &image.device))
    }
}

/// Subtracts a mean from each channel and divides the result by a standard deviation. Input and
/// output are `(channels, height, width)` of a floating-point type.
///
/// ```
/// use taper::prelude::*;
///
/// let x = full((1, 2, 2), 0.75);
/// let y = Normalize::new([0.5], [0.25]).apply(&x)?;
/// assert_eq!(y.to_vec3::<f32>(), [[[1.0; 2]; 2]]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Normalize {
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl Normalize {
    /// Creates a step with one mean and one standard deviation for each channel.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let step = Normalize::new([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]); // ImageNet's
    /// assert_eq!(step.apply(&zeros((3, 8, 8)))?.dims(), [3, 8, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(mean: impl Into<Vec<f64>>, std: impl Into<Vec<f64>>) -> Self {
        Normalize {
            mean: mean.into(),
            std: std.into(),
        }
    }
}

impl Transform for Normalize {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let channels = self.check(image)?;
        let row = |values: &[f64]| {
            Tensor::from_vec_on(values.to_vec(), (channels, 1, 1), image.device())
                .to_dtype(image.dtype())
        };
        attempt(|| (image - row(&self.mean)) / row(&self.std))
    }
}

impl Normalize {
    /// Returns the number of channels of an image that fits the means and standard deviations.
    fn check(&self, image: &Tensor) -> Result<usize> {
        let &[channels, _, _] = image.dims() else {
            refuse!(shape("Normalize", image.dims());
                "an image (channels, height, width)", "Put Normalize after ToTensor");
        };
        refuse!(if !image.dtype().is_float(); dtype("Normalize", image.dtype());
            "an image of floating-point numbers", "Put Normalize after ToTensor");
        for (what, len) in [
            ("means", self.mean.len()),
            ("standard deviations", self.std.len()),
        ] {
            refuse!(if len != channels; argument("Normalize", len);
                "{channels} {what}, one for each channel",
                "Give one of each per channel, and put Normalize after ToTensor");
        }
        let is_valid = |std: &&f64| std.is_finite() && **std > 0.0;
        match self.std.iter().find(|std| !is_valid(std)) {
            None => Ok(channels),
            Some(std) => refuse!(argument("Normalize", std);
                "standard deviations above 0", "Give finite values above 0"),
        }
    }
}
