//! Random crops of an image.

use super::targets::Crop;
use super::{ImageBytes, Targets, Transform, no_pixels, with_targets};
use crate::error::{Result, refuse};
use crate::tensor::Tensor;
use crate::tensor::random_unit;

/// Crops a square at a random position of an image, after [`padding`](Self::padding) has added black
/// pixels on each side. Input and output are `(height, width, 3)` of `u8`.
///
/// ```
/// use taper::prelude::*;
///
/// let image = zeros((32, 32, 3)).to_dtype(DType::U8);
/// let crop = RandomCrop::new(32).padding(4); // for CIFAR-10
/// assert_eq!(crop.apply(&image)?.dims(), [32, 32, 3]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RandomCrop {
    size: usize,
    padding: usize,
}

impl RandomCrop {
    /// Creates a step that crops a square of `size` by `size` pixels.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let small = zeros((100, 60, 3)).to_dtype(DType::U8);
    /// let error = RandomCrop::new(64).apply(&small).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "RandomCrop: expected an image of at least 64 by 64 pixels with the padding, found shape [100, 60, 3]\n\
    ///      Put Resize::new(64) before it, or add .padding(…)"
    /// );
    /// ```
    pub fn new(size: usize) -> Self {
        RandomCrop { size, padding: 0 }
    }

    setters! {
        /// Sets how many black pixels are added on each side before the crop; the default is 0.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let image = ones((2, 2, 1)).to_dtype(DType::U8);
        /// let crop = RandomCrop::new(6).padding(2).apply(&image)?; // (6, 6, 1)
        /// assert_eq!(crop.sum_all().item(), 4.0);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn padding(self, pixels: usize): self.padding = pixels;
    }
}

with_targets! { RandomCrop,
    fn apply_with(&self, image: &Tensor, targets: &mut Targets) -> Result<Tensor> {
        let ImageBytes { height, width, .. } = ImageBytes::of("RandomCrop", image)?;
        let (size, padding) = (self.size, self.padding);
        if size == 0 {
            return Err(no_pixels("RandomCrop"));
        }
        // A crop of the padding alone has no pixel of the image, and memory for the padding is limited.
        let limit = size.saturating_sub(1).min(height).min(width);
        refuse!(if padding > limit; argument("RandomCrop", padding);
            "a padding of at most {limit} pixels, below the size and not above the image's sides",
            "Choose an eighth of the size, for instance");
        let border = 2 * padding;
        refuse!(if size > height + border || size > width + border;
            shape("RandomCrop", image.dims());
            "an image of at least {size} by {size} pixels with the padding",
            "Put Resize::new({size}) before it, or add .padding(…)");
        let start = [height, width].map(|length| {
            let places = length + border - size + 1;
            ((random_unit() * places as f64) as usize).min(places - 1)
        });
        let crop = Crop {
            start,
            size,
            padding,
        };
        targets.crop(image, crop)?;
        Ok(crop.of(image))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::with_seed;
    use std::collections::BTreeSet;

    #[test]
    fn each_place_is_drawn() {
        let pixels: Vec<u8> = (0..12).collect();
        let image = Tensor::from_vec(pixels, (3, 4, 1));
        let crop = RandomCrop::new(2);
        let corner = |seed| {
            let crop = with_seed(seed, || crop.apply(&image)).unwrap();
            crop.to_vec::<u8>()[0]
        };
        let corners: BTreeSet<u8> = (0..100).map(corner).collect();
        assert_eq!(Vec::from_iter(corners), [0, 1, 2, 4, 5, 6]);
    }

    #[test]
    fn invalid_sizes_are_refused() {
        let image = crate::tensor::zeros((3, 4, 3)).to_dtype(candle_core::DType::U8);
        for crop in [
            RandomCrop::new(0),
            RandomCrop::new(usize::MAX),
            RandomCrop::new(4),
            RandomCrop::new(2).padding(usize::MAX),
            RandomCrop::new(usize::MAX).padding(usize::MAX - 1),
        ] {
            let message = crop.apply(&image).unwrap_err().to_string();
            assert_eq!(message.lines().count(), 2, "{message}");
        }
    }
}
