//! Images in memory.

use crate::data::dataset::stack;
use crate::data::transforms::Transform;
use crate::data::{Batch, Dataset, TensorDataset};
use crate::error::{Result, attempt, refuse};
use crate::tensor::Tensor;
use candle_core::DType;
use std::fmt;
use std::sync::Arc;

/// Images with their classes, stored as bytes: a quarter of the memory that `f32` needs.
///
/// A batch has inputs `(batch, channels, height, width)` of `f32` from 0 to 1, and targets
/// `(batch,)`, `u32`.
///
/// ```
/// use taper::prelude::*;
///
/// let images = full((100, 3, 32, 32), 255.0).to_dtype(DType::U8); // (n, channels, height, width)
/// let labels = zeros(100).to_dtype(DType::U32); // (n,)
/// let batch = ImageDataset::new(images, labels)?.get(&[3, 1])?;
/// assert_eq!(batch.x.dims(), [2, 3, 32, 32]);
/// assert_eq!(batch.x.max_all().item(), 1.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct ImageDataset {
    bytes: TensorDataset,
    transform: Option<Arc<dyn Transform>>,
}

impl ImageDataset {
    /// Creates a data set of images, `(n, channels, height, width)` of `u8`, and classes, `(n,)`.
    ///
    /// # Errors
    /// If the images have another shape or type, the classes are not integers, or there are fewer or more of
    /// them.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = ImageDataset::new(zeros((4, 28, 28)), zeros(4)).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "ImageDataset: expected images (n, channels, height, width), found shape [4, 28, 28]\n\
    ///      Add a dimension for the channels: images.unsqueeze(1)"
    /// );
    /// ```
    pub fn new(images: Tensor, labels: Tensor) -> Result<Self> {
        let &[n, _, _, _] = images.dims() else {
            refuse!(shape("ImageDataset", images.dims());
                "images (n, channels, height, width)",
                "Add a dimension for the channels: images.unsqueeze(1)");
        };
        refuse!(if images.dtype() != DType::U8; dtype("ImageDataset", images.dtype());
            "images of u8, from 0 to 255", "Convert them first: images.to_dtype(DType::U8)");
        refuse!(if labels.dims() != [n]; shape("ImageDataset", labels.dims());
            "one label for each image, ({n},)", "Give a tensor with one label for each image");
        refuse!(if !labels.dtype().is_int(); dtype("ImageDataset", labels.dtype());
            "classes of an integer type", "Convert them first: labels.to_dtype(DType::U32)");
        let labels = attempt(|| labels.to_dtype(DType::U32))?;
        let bytes = TensorDataset::new(images, labels)?;
        let transform = None;
        Ok(ImageDataset { bytes, transform })
    }

    setters! {
        /// Sets the transform of each image, which begins as `(height, width, channels)` of `u8`. The
        /// default is [`ToTensor`](crate::data::transforms::ToTensor) alone.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let steps = compose![
        ///     RandomHorizontalFlip::new(),
        ///     ToTensor,
        ///     Normalize::new([0.5, 0.5, 0.5], [0.25, 0.25, 0.25]),
        /// ];
        /// let data = Shapes::new().num_train(8).train()?.transform(steps);
        /// let x = data.get(&[0, 1])?.x; // (2, 3, 32, 32)
        /// assert!(x.min_all().item() < 0.0); // normalized
        /// # Ok::<(), Error>(())
        /// ```
        pub fn transform(self, transform: impl Transform + 'static): self.transform = Some(Arc::new(transform));
    }
}

impl Dataset for ImageDataset {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn get(&self, indices: &[usize]) -> Result<Batch> {
        let Batch { x, y } = self.bytes.get(indices)?;
        let Some(transform) = &self.transform else {
            let x = attempt(|| x.to_dtype(DType::F32) / 255.0)?;
            return Ok(Batch { x, y });
        };
        let images = x.permute((0, 2, 3, 1)); // (batch, height, width, channels)
        let images = (0..indices.len()).map(|i| transform.apply(&images.get(i)));
        let x = stack(&images.collect::<Result<Vec<_>>>()?)?;
        Ok(Batch { x, y })
    }
}

impl fmt::Debug for ImageDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImageDataset({} images)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose;
    use crate::data::transforms::*;
    use crate::tensor::{tensor, zeros};

    #[test]
    fn bytes_become_values_from_0_to_1_in_the_order_of_the_indices() {
        let pixels: Vec<u8> = vec![0, 51, 102, 153, 204, 255];
        let images = Tensor::from_vec(pixels, (3, 1, 1, 2));
        let labels = tensor(&[7u8, 8, 9]);
        let data = ImageDataset::new(images, labels).unwrap();
        let batch = data.get(&[2, 0]).unwrap();
        let values: Vec<f32> = batch.x.to_vec();
        let expected = [204.0, 255.0, 0.0, 51.0].map(|byte: f32| byte / 255.0);
        for (value, expected) in values.into_iter().zip(expected) {
            assert!((value - expected).abs() < 1e-7, "{value} {expected}");
        }
        assert_eq!(batch.y.to_vec1::<u32>(), [9, 7]);
        assert!(data.get(&[3]).is_err());
    }

    #[test]
    fn a_transform_sees_every_image_grey_or_coloured() -> Result<()> {
        for channels in [1u8, 3] {
            let pixels: Vec<u8> = (0..2 * channels * 6).map(|i| i * 5).collect();
            let shape = (2, usize::from(channels), 2, 3);
            let images = Tensor::from_vec(pixels, shape);
            let labels = zeros(2).to_dtype(DType::U32);
            let plain = ImageDataset::new(images, labels)?;
            let numbers =
                |data: &ImageDataset| -> Result<Vec<f32>> { Ok(data.get(&[1, 0])?.x.to_vec()) };
            let expected = numbers(&plain)?;
            let same = numbers(&plain.clone().transform(ToTensor))?;
            let far = same
                .iter()
                .zip(&expected)
                .any(|(a, b)| (a - b).abs() > 1e-6);
            assert!(!far, "{same:?} {expected:?}");

            let steps = compose![
                Resize::exact(4, 6),
                CenterCrop::new(4),
                ColorJitter::new().brightness(0.2).saturation(0.2),
                RandomHorizontalFlip::new().p(1.0),
                ToTensor
            ];
            let x = plain.transform(steps).get(&[0])?.x;
            assert_eq!(x.dims(), [1, usize::from(channels), 4, 4]);
            let row: Vec<f32> = x.flatten_all().narrow(0, 0, 4).to_vec1();
            assert!(row[0] > row[3], "mirrored: {row:?}");
        }
        Ok(())
    }

    #[test]
    fn each_image_needs_a_label() {
        let images = zeros((3, 1, 2, 2)).to_dtype(DType::U8);
        let labels = zeros(2).to_dtype(DType::U32);
        let message = ImageDataset::new(images, labels).unwrap_err().to_string();
        assert!(
            message.contains("expected one label for each image, (3,), found shape [2]\n"),
            "{message}"
        );
    }

    #[test]
    fn classes_are_integers() {
        let images = zeros((2, 1, 2, 2)).to_dtype(DType::U8);
        let labels = tensor(&[0.7f32, 1.0]);
        let message = ImageDataset::new(images, labels).unwrap_err().to_string();
        let first = "ImageDataset: expected classes of an integer type, found f32\n";
        assert!(message.starts_with(first), "{message}");
    }

    #[test]
    fn a_batch_without_images_is_empty_unless_a_transform_decides_its_shape() -> Result<()> {
        let images = zeros((2, 1, 2, 3)).to_dtype(DType::U8);
        let data = ImageDataset::new(images, zeros(2).to_dtype(DType::U32))?;
        assert_eq!(data.get(&[])?.x.dims(), [0, 1, 2, 3]);
        let message = data.transform(ToTensor).get(&[]).unwrap_err().to_string();
        let first = "get: expected at least one index, found none\n";
        assert!(message.starts_with(first), "{message}");
        Ok(())
    }
}
