//! Steps that move pixels.

use super::targets::Crop;
use super::{ImageBytes, Targets, Transform, no_pixels, with_targets};
use crate::error::{Result, refuse};
use crate::tensor::Tensor;
use crate::tensor::{check_size, random_unit};
use candle_core::Device;

/// Resizes an image. Input and output are `(height, width, 3)` of `u8`.
///
/// Interpolates bilinearly. If the image becomes smaller, it is smoothed as well (antialiasing), as in
/// Pillow.
///
/// ```
/// use taper::prelude::*;
///
/// let image = zeros((300, 400, 3)).to_dtype(DType::U8);
/// assert_eq!(Resize::new(150).apply(&image)?.dims(), [150, 200, 3]);
/// assert_eq!(Resize::exact(50, 60).apply(&image)?.dims(), [50, 60, 3]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Resize {
    size: TargetSize,
}

#[derive(Clone, Debug)]
enum TargetSize {
    ShortSide(usize),
    Exact(usize, usize),
}

impl Resize {
    /// Creates a step that makes the shorter side `size` pixels long and keeps the aspect ratio.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let image = zeros((100, 60, 3)).to_dtype(DType::U8);
    /// assert_eq!(Resize::new(30).apply(&image)?.dims(), [50, 30, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(size: usize) -> Self {
        Resize {
            size: TargetSize::ShortSide(size),
        }
    }

    /// Creates a step that resizes every image to this height and width, in pixels, whatever its aspect
    /// ratio.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let image = zeros((100, 60, 3)).to_dtype(DType::U8);
    /// assert_eq!(Resize::exact(32, 32).apply(&image)?.dims(), [32, 32, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn exact(height: usize, width: usize) -> Self {
        Resize {
            size: TargetSize::Exact(height, width),
        }
    }

    /// Returns the new height and width of an image with this height and width.
    fn target(&self, height: usize, width: usize) -> (usize, usize) {
        let scaled =
            |long: usize, short: usize, size: usize| (long.saturating_mul(size) / short).max(1);
        match self.size {
            TargetSize::Exact(height, width) => (height, width),
            TargetSize::ShortSide(size) if height < width => (size, scaled(width, height, size)),
            TargetSize::ShortSide(size) => (scaled(height, width, size), size),
        }
    }
}

with_targets! { Resize,
    fn apply_with(&self, input: &Tensor, targets: &mut Targets) -> Result<Tensor> {
        let mut image = ImageBytes::of("Resize", input)?;
        let (height, width, channels) = (image.height, image.width, image.channels);
        let (new_height, new_width) = self.target(height, width);
        if new_height == 0 || new_width == 0 {
            return Err(no_pixels("Resize"));
        }
        if (new_height, new_width) == (height, width) {
            return Ok(input.clone());
        }
        // Two copies in `f32` are made on the way.
        let largest = [new_height.max(height), new_width.max(width), channels];
        check_size("Resize", &largest, 2 * size_of::<f32>(), &Device::Cpu)?;
        targets.resize(input, [new_height, new_width])?;
        let samples: Vec<f32> = image.bytes.iter().copied().map(f32::from).collect();
        // First along the rows, whose elements are pixels, then along the columns, whose elements are rows.
        let wide = resample(&samples, height, width, channels, new_width);
        let both = resample(&wide, 1, height, channels * new_width, new_height);
        let bytes = both.into_iter().map(|sample| sample.round() as u8);
        image.bytes = bytes.collect();
        (image.height, image.width) = (new_height, new_width);
        Ok(image.to_tensor())
    }
}

/// Resamples `lines` lines from `old` to `new` elements of `depth` values each.
fn resample(samples: &[f32], lines: usize, old: usize, depth: usize, new: usize) -> Vec<f32> {
    let weights: Vec<(usize, Vec<f32>)> = (0..new).map(|i| weights(i, old, new)).collect();
    let mut result = vec![0.0; lines * new * depth];
    for (line, target) in samples
        .chunks(old * depth)
        .zip(result.chunks_mut(new * depth))
    {
        for ((first, weights), target) in weights.iter().zip(target.chunks_mut(depth)) {
            for (weight, source) in weights.iter().zip(line[first * depth..].chunks(depth)) {
                for (target, source) in target.iter_mut().zip(source) {
                    *target += weight * source;
                }
            }
        }
    }
    result
}

/// Returns the weights of the old elements in the new element at `index`: the index of the first old
/// element, and the weights of this one and the following ones.
fn weights(index: usize, old: usize, new: usize) -> (usize, Vec<f32>) {
    let scale = old as f32 / new as f32;
    let reach = scale.max(1.0);
    let center = (index as f32 + 0.5) * scale;
    let first = ((center - reach).max(0.0)) as usize;
    let last = ((center + reach).ceil() as usize).min(old);
    let part = |i: usize| (1.0 - (i as f32 + 0.5 - center).abs() / reach).max(0.0);
    let parts: Vec<f32> = (first..last).map(part).collect();
    let sum: f32 = parts.iter().sum();
    (first, parts.into_iter().map(|part| part / sum).collect())
}

/// Crops the centre of an image. Input and output are `(height, width, 3)` of `u8`.
///
/// ```
/// use taper::prelude::*;
///
/// let image = zeros((300, 400, 3)).to_dtype(DType::U8);
/// assert_eq!(CenterCrop::new(128).apply(&image)?.dims(), [128, 128, 3]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CenterCrop {
    size: usize,
}

impl CenterCrop {
    /// Creates a step that crops a square of `size` by `size` pixels.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let small = zeros((100, 60, 3)).to_dtype(DType::U8);
    /// let error = CenterCrop::new(64).apply(&small).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "CenterCrop: expected an image of at least 64 by 64 pixels, found shape [100, 60, 3]\n\
    ///      Put Resize::new(64) before it"
    /// );
    /// ```
    pub fn new(size: usize) -> Self {
        CenterCrop { size }
    }
}

with_targets! { CenterCrop,
    fn apply_with(&self, image: &Tensor, targets: &mut Targets) -> Result<Tensor> {
        let ImageBytes { height, width, .. } = ImageBytes::of("CenterCrop", image)?;
        let size = self.size;
        if size == 0 {
            return Err(no_pixels("CenterCrop"));
        }
        refuse!(if size > height || size > width; shape("CenterCrop", image.dims());
            "an image of at least {size} by {size} pixels", "Put Resize::new({size}) before it");
        let start = [half(height - size), half(width - size)];
        let crop = Crop {
            start,
            size,
            padding: 0,
        };
        targets.crop(image, crop)?;
        Ok(crop.of(image))
    }
}

/// Returns half of a margin; a half pixel is rounded to the nearest even number, as in torchvision.
fn half(margin: usize) -> usize {
    margin / 2 + usize::from(margin % 4 == 3)
}

/// Flips an image horizontally (left to right), with a probability of 0.5 by default. Input and output
/// are `(height, width, 3)` of `u8`.
///
/// ```
/// use taper::prelude::*;
///
/// let image = tensor(&[[[1u8, 1, 1], [2, 2, 2]]]); // (1, 2, 3)
/// let mirrored = RandomHorizontalFlip::new().p(1.0).apply(&image)?;
/// assert_eq!(mirrored.to_vec3::<u8>(), [[[2, 2, 2], [1, 1, 1]]]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RandomHorizontalFlip {
    p: f64,
}

impl Default for RandomHorizontalFlip {
    fn default() -> Self {
        RandomHorizontalFlip { p: 0.5 }
    }
}

impl RandomHorizontalFlip {
    /// Creates a step that flips an image with a probability of 0.5.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let image = zeros((4, 6, 3)).to_dtype(DType::U8);
    /// assert_eq!(RandomHorizontalFlip::new().apply(&image)?.dims(), [4, 6, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the probability of a flip, from 0 to 1.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let image = tensor(&[[[1u8], [2]]]); // (1, 2, 1)
        /// let never = RandomHorizontalFlip::new().p(0.0);
        /// assert_eq!(never.apply(&image)?.to_vec3::<u8>(), image.to_vec3::<u8>());
        /// # Ok::<(), Error>(())
        /// ```
        pub fn p(self, probability: f64): self.p = probability;
    }
}

with_targets! { RandomHorizontalFlip,
    fn apply_with(&self, input: &Tensor, targets: &mut Targets) -> Result<Tensor> {
        let mut image = ImageBytes::of("RandomHorizontalFlip", input)?;
        if random_unit() >= self.p {
            return Ok(input.clone());
        }
        targets.flip(input)?;
        let channels = image.channels;
        let rows = image.bytes.chunks(image.width * channels);
        let mirrored = rows.flat_map(|row| row.chunks(channels).rev().flatten().copied());
        image.bytes = mirrored.collect();
        Ok(image.to_tensor())
    }
}
