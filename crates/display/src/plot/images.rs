//! Grids of images.

use super::render::UNIT;
use super::render::output::{Graphic, graphic};
use super::render::palette::INK;
use super::render::scene::Scene;
use super::render::text::{ROW, shortened};
use crate::erased::{Erased, outlined, texts};
use crate::error::{Result, attempt, problem, refuse};
use crate::image::RgbImage;
use crate::notebook::Show;
use crate::tensor::Tensor;
use candle_core::{DType, Device};
use plotters_backend::text_anchor::HPos;

/// The gap between images, in plotters' units.
const GAP: i32 = 6 * UNIT;
/// The maximum number of images that are drawn.
const MAX_IMAGES: usize = 100;

/// Images for [`show_images`]: a tensor with a batch of images, or a list of tensors with one image
/// each.
///
/// An image has the shape `(height, width)`, `(1, height, width)` or `(3, height, width)`, with values
/// from 0 to 1 or of type `u8`, or `(height, width, 3)` of `u8`. An image with values outside of 0 to
/// 1, such as a normalised one, is rescaled: its lowest value becomes 0, its highest 1.
///
/// ```
/// use taper::prelude::*;
/// use taper::plot::Images;
///
/// assert_eq!(rand((5, 1, 8, 8)).images()?.len(), 5);
/// assert_eq!(vec![rand((8, 8))].images()?.len(), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait Images {
    /// Returns a tensor for each image.
    ///
    /// # Errors
    /// Returns an error if a tensor does not have the shape of a batch of images.
    ///
    /// ```
    /// use taper::prelude::*;
    /// use taper::plot::Images;
    ///
    /// let batch = rand((2, 3, 32, 32));
    /// assert_eq!(batch.images()?[1].dims(), [3, 32, 32]);
    /// # Ok::<(), Error>(())
    /// ```
    fn images(&self) -> Result<Vec<Tensor>>;
}

impl Images for Tensor {
    fn images(&self) -> Result<Vec<Tensor>> {
        match self.dims().len() {
            3 | 4 => Ok((0..self.dims()[0]).map(|i| self.get(i)).collect()),
            _ => refuse!(
                ("show_images: expected a batch of images, found a tensor of shape {:?}", self.dims());
                "Pass (n, height, width) or (n, channels, height, width), or a list: &[x]"),
        }
    }
}

impl Images for [Tensor] {
    fn images(&self) -> Result<Vec<Tensor>> {
        Ok(self.to_vec())
    }
}

impl<const COUNT: usize> Images for [Tensor; COUNT] {
    fn images(&self) -> Result<Vec<Tensor>> {
        self.as_slice().images()
    }
}

impl Images for Vec<Tensor> {
    fn images(&self) -> Result<Vec<Tensor>> {
        self.as_slice().images()
    }
}

impl<T: Images + ?Sized> Images for &T {
    fn images(&self) -> Result<Vec<Tensor>> {
        (**self).images()
    }
}

/// Images in rows, with titles above them. Returned by [`show_images`].
///
/// ```
/// use taper::prelude::*;
///
/// let batch = Digits::new().train()?.get(&[0, 1, 2])?;
/// let grid = show_images(&batch.x).columns(3);
/// assert_eq!(grid.show_text(), "3 images of 8 by 8 pixels");
/// # Ok::<(), Error>(())
/// ```
#[must_use = "a figure is shown as the value of a cell, or by .show()"]
pub struct ImageGrid {
    images: Erased<Vec<RgbImage>>,
    /// The number of images, including those that are not drawn.
    total: usize,
    titles: Erased<Vec<String>>,
    columns: usize,
    /// The drawn width of an image, in pixels.
    width: u32,
    problem: Option<String>,
}

/// Shows images side by side, in as many rows as they need. Of more than 100 images, shows the first.
///
/// See [`Images`] for the shapes of images. Pixels keep sharp edges at every size.
///
/// ```
/// use taper::prelude::*;
///
/// let batch = Digits::new().val()?.get(&[0, 1, 2, 3])?;
/// let labels = batch.y.to_vec1::<u32>();
/// let grid = show_images(&batch.x).titles(&labels);
/// assert!(grid.show_text().starts_with("4 images of 8 by 8 pixels: "));
/// # Ok::<(), Error>(())
/// ```
pub fn show_images<I: Images + ?Sized>(images: &I) -> ImageGrid {
    grid(images.images())
}

fn grid(images: Result<Vec<Tensor>>) -> ImageGrid {
    let read = images.and_then(|images| {
        let pixels = images
            .iter()
            .take(MAX_IMAGES)
            .map(pixels)
            .collect::<Result<Vec<_>>>()?;
        Ok((images.len(), pixels))
    });
    let ((total, images), problem) = match read {
        Ok(read) => (read, None),
        Err(error) => ((0, Vec::new()), Some(error.to_string())),
    };
    let widest = images.iter().map(|image| image.width).max().unwrap_or(1);
    ImageGrid {
        images: images.into(),
        total,
        titles: Vec::new().into(),
        columns: 8,
        width: (widest as u32 * 2).clamp(64, 160),
        problem,
    }
}

outlined!(Clone Debug for ImageGrid { images, total, titles, columns, width, problem });

impl ImageGrid {
    setters! {
        /// Sets a title above each image: a text, or a number such as a label.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let images = rand((2, 8, 8));
        /// let grid = show_images(&images).titles(["noise", "more noise"]);
        /// assert_eq!(grid.show_text(), "2 images of 8 by 8 pixels: noise, more noise");
        /// ```
        pub fn titles<T: ToString>(self, titles: impl IntoIterator<Item = T>):
            *self.titles = texts(&mut titles.into_iter().map(|title| title.to_string()));

        /// Sets the number of images in a row; the default is 8.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let grid = show_images(&rand((9, 8, 8))).width(100).columns(3);
        /// assert!(grid.svg().contains("width=\"324\"")); // with gaps of 6 pixels
        /// ```
        pub fn columns(self, columns: usize): self.columns = columns.max(1);

        /// Sets the width of each image in pixels. The default is twice its own width, from 64 to 160.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let grid = show_images(&rand((1, 8, 8))).width(200);
        /// assert!(grid.svg().contains("width=\"212\"")); // with gaps of 6 pixels
        /// ```
        pub fn width(self, pixels: u32): self.width = pixels.clamp(8, 1000);
    }
}

graphic!(ImageGrid, "show_images(&rand((1, 8, 8)))");

impl Graphic for ImageGrid {
    fn scene(&self) -> Scene {
        let width = self.width as i32 * UNIT;
        let height = |image: &RgbImage| width * image.height as i32 / image.width as i32;
        let tallest = self.images.iter().map(height).max().unwrap_or(0);
        let title_height = if self.titles.is_empty() { 0 } else { ROW };
        let step = (width + GAP, tallest + title_height + GAP);
        let columns = self.columns.min(self.images.len()).max(1);
        let rows = self.images.len().div_ceil(columns) as i32;
        let size = (step.0 * columns as i32 + GAP, step.1 * rows + GAP);
        let size = ((size.0 / UNIT) as u32, (size.1 / UNIT) as u32);

        let mut scene = Scene::new(size, self.show_text());
        for (i, image) in self.images.iter().enumerate() {
            let (column, row) = ((i % columns) as i32, (i / columns) as i32);
            let (left, top) = (GAP + column * step.0, GAP + row * step.1);
            if let Some(title) = self.titles.get(i) {
                let position = (left + width / 2, top + ROW / 2 - UNIT);
                scene.write(
                    &shortened(title, width + GAP / 2),
                    position,
                    HPos::Center,
                    INK,
                );
            }
            scene.draw_image(image, (left, top + title_height), (width, height(image)));
        }
        scene
    }

    fn description(&self) -> String {
        let shown = self.images.len();
        let mut text = match (self.total, self.images.first()) {
            (_, None) => "no images".to_owned(),
            (1, Some(image)) => format!("1 image of {} by {} pixels", image.height, image.width),
            (n, Some(image)) => format!("{n} images of {} by {} pixels", image.height, image.width),
        };
        if shown < self.total {
            text += &format!(", of which the first {shown} are shown");
        }
        if !self.titles.is_empty() {
            let titles = &self.titles[..self.titles.len().min(shown)];
            text += &format!(": {}", titles.join(", "));
        }
        text
    }

    fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

/// Converts a tensor to an image; see [`Images`].
#[doc(hidden)]
pub fn pixels(image: &Tensor) -> Result<RgbImage> {
    let not_an_image = || {
        problem!(
            ("show_images: expected an image, found a tensor of shape {:?}", image.dims());
            "An image is (height, width), (1 or 3, height, width), or (height, width, 3) of u8")
    };
    let channels = match *image.dims() {
        [_, _, 3] if image.dtype() == DType::U8 => image.clone(), // (height, width, 3)
        [_, _] => image.unsqueeze(2),                             // (height, width, 1)
        [1 | 3, _, _] => image.permute((1, 2, 0)),
        _ => return Err(not_an_image()),
    };
    let (height, width, depth) = channels.dims3();
    if height == 0 || width == 0 {
        return Err(not_an_image());
    }
    let bytes = attempt(|| bytes(&channels))?;
    let rgb = match depth {
        1 => bytes.into_iter().flat_map(|grey| [grey; 3]).collect(),
        _ => bytes,
    };
    Ok(RgbImage { width, height, rgb })
}

fn bytes(image: &Tensor) -> Vec<u8> {
    let image = image.to_device(&Device::Cpu);
    if image.dtype() == DType::U8 {
        return image.to_vec();
    }
    let values: Vec<f32> = image.to_dtype(DType::F32).to_vec();
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(0.0, f32::min), finite().fold(0.0, f32::max));
    let (low, range) = match low < -1e-3 || high > 1.001 {
        true => {
            let low = finite().fold(f32::INFINITY, f32::min);
            (low, (high.max(low) - low).max(f32::MIN_POSITIVE))
        }
        false => (0.0, 1.0),
    };
    let byte = |value: &f32| ((value - low) / range * 255.0).round().clamp(0.0, 255.0) as u8;
    values.iter().map(byte).collect()
}

#[cfg(test)]
mod tests;
