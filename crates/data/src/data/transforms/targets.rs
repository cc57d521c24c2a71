//! Boxes and masks that go through transforms with their image.

use crate::error::{Result, attempt, refuse};
use crate::tensor::Tensor;
use candle_core::Device;

/// The boxes of an image and its mask, which [`Transform::apply_with`](super::Transform::apply_with) moves with the pixels.
///
/// ```
/// use taper::data::transforms::Targets;
/// use taper::prelude::*;
///
/// let image = zeros((40, 60, 3)).to_dtype(DType::U8); // (height, width, 3)
/// let boxes = tensor(&[[10.0, 0.0, 30.0, 20.0]]); // (1, 4)
/// let mut targets = Targets { boxes: Some(boxes), mask: Some(zeros((40, 60))) };
/// let steps = compose![RandomHorizontalFlip::new().p(1.0), Resize::new(20), CenterCrop::new(20), ToTensor];
/// let x = steps.apply_with(&image, &mut targets)?; // (3, 20, 20)
/// assert_eq!(targets.boxes.unwrap().to_vec2::<f32>(), [[10.0, 0.0, 20.0, 10.0]]);
/// assert_eq!(targets.mask.unwrap().dims(), [20, 20]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// The edges of each box in pixels, `(n, 4)` of floating-point numbers: left, top, right, bottom. A crop cuts boxes off
    /// at its edges; the edges of a box outside become equal.
    pub boxes: Option<Tensor>,
    /// A value for each pixel, such as its class: `(height, width)`. A resize takes the nearest one, and padding is 0.
    pub mask: Option<Tensor>,
}

impl Targets {
    /// Mirrors the targets of an image.
    pub(super) fn flip(&mut self, image: &Tensor) -> Result<()> {
        let width = image.dims()[1] as f64;
        let exchanged =
            |boxes: &Tensor| boxes.index_select(&indices(vec![2, 1, 0, 3], boxes.device()), 1);
        self.change(image, exchanged, |mask| mask.flip(1))?;
        self.scale([-1.0, 1.0], [width, 0.0])
    }

    /// Crops a square of `size` pixels at a place that may begin in the padding.
    pub(super) fn crop(&mut self, image: &Tensor, place: Crop) -> Result<()> {
        self.change(image, Tensor::clone, |mask| place.of(mask))?;
        let offset = place.start.map(|start| place.padding as f64 - start as f64);
        self.scale([1.0, 1.0], [offset[1], offset[0]])?;
        if let Some(boxes) = &mut self.boxes {
            *boxes = attempt(|| boxes.clamp(0.0, place.size as f64))?;
        }
        Ok(())
    }

    /// Resizes the targets of an image to a height and a width.
    pub(super) fn resize(&mut self, image: &Tensor, size: [usize; 2]) -> Result<()> {
        let old = [image.dims()[0], image.dims()[1]];
        let nearest = |pixels: &Tensor, dim: usize| {
            let index = |i: usize| (i * old[dim] / size[dim]) as u32;
            let index = (0..size[dim]).map(index).collect();
            pixels.index_select(&indices(index, pixels.device()), dim)
        };
        self.change(image, Tensor::clone, |mask| nearest(&nearest(mask, 0), 1))?;
        let scale = |dim: usize| size[dim] as f64 / old[dim] as f64;
        self.scale([scale(1), scale(0)], [0.0, 0.0])
    }

    /// Checks the shapes, and replaces boxes and mask.
    fn change(
        &mut self,
        image: &Tensor,
        of_boxes: impl FnOnce(&Tensor) -> Tensor,
        of_mask: impl FnOnce(&Tensor) -> Tensor,
    ) -> Result<()> {
        if let Some(boxes) = &mut self.boxes {
            let advice = "Give left, top, right and bottom edge of each box, as f32";
            refuse!(if !matches!(boxes.dims(), [_, 4]); shape("Targets", boxes.dims());
                "boxes (n, 4)", advice);
            if !boxes.dtype().is_float() {
                let expected = "boxes of floating-point numbers";
                refuse!(dtype("Targets", boxes.dtype()); expected, advice);
            }
            *boxes = attempt(|| of_boxes(boxes))?;
        }
        if let Some(mask) = &mut self.mask {
            refuse!(if mask.dims() != &image.dims()[..2]; shape("Targets", mask.dims());
                ("a mask of the image's height and width, {:?}", &image.dims()[..2]),
                "Give a value for each pixel of the image, before the transforms");
            *mask = attempt(|| of_mask(mask))?;
        }
        Ok(())
    }

    /// Multiplies the edges of boxes, left and right by one factor, top and bottom by another, and adds offsets.
    fn scale(&mut self, factor: [f64; 2], offset: [f64; 2]) -> Result<()> {
        if let Some(boxes) = &mut self.boxes {
            let of = |[x, y]: [f64; 2]| Tensor::from_vec_on(vec![x, y, x, y], 4, boxes.device());
            let [factor, offset] = [of(factor), of(offset)].map(|it| it.to_dtype(boxes.dtype()));
            *boxes = attempt(|| &*boxes * factor + offset)?;
        }
        Ok(())
    }
}

fn indices(values: Vec<u32>, device: &Device) -> Tensor {
    let count = values.len();
    Tensor::from_vec_on(values, count, device)
}

/// A square in an image with padding on each side.
#[derive(Clone, Copy)]
pub(super) struct Crop {
    /// The first row and column, counted in the padded image.
    pub(super) start: [usize; 2],
    pub(super) size: usize,
    pub(super) padding: usize,
}

impl Crop {
    /// Returns the part of an image or of a mask.
    pub(super) fn of(self, pixels: &Tensor) -> Tensor {
        let mut cropped = pixels.clone();
        for (dim, start) in self.start.into_iter().enumerate() {
            let padded = match self.padding {
                0 => cropped,
                padding => cropped.pad_with_zeros(dim, padding, padding),
            };
            cropped = padded.narrow(dim, start, self.size);
        }
        cropped.contiguous()
    }
}
