//! The data sets of `candle-datasets`; needs the feature `candle-datasets`.

use super::ImageDataset;
use crate::error::{Result, attempt, refuse};
use crate::tensor::Tensor;
use candle_core::DType;
use candle_datasets::vision::Dataset;

impl ImageDataset {
    /// Returns the training set and the test set of a data set that `candle-datasets` has loaded, such as
    /// MNIST, Fashion-MNIST or CIFAR-10.
    ///
    /// That crate holds images as `f32` from 0 to 1, those of MNIST as `(n, height · width)`; here they are
    /// `(n, channels, height, width)` of `u8` again.
    ///
    /// # Errors
    /// If the images are neither `(n, channels, height, width)` nor `(n, side · side)`, or there are fewer or
    /// more labels.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let files = candle_datasets::vision::mnist::load_dir("mnist")?; // the four files, unpacked
    /// let (train, test) = ImageDataset::from_candle(&files)?;
    /// assert_eq!((train.len(), test.len()), (60_000, 10_000));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_candle(files: &Dataset) -> Result<(ImageDataset, ImageDataset)> {
        let set = |x: &candle_core::Tensor, y: &candle_core::Tensor| {
            ImageDataset::new(bytes(&x.into())?, y.into())
        };
        Ok((
            set(&files.train_images, &files.train_labels)?,
            set(&files.test_images, &files.test_labels)?,
        ))
    }
}

/// Returns the images as `u8`, as they were in the file: `(n, channels, height, width)`.
fn bytes(images: &Tensor) -> Result<Tensor> {
    let images = match *images.dims() {
        [_, _, _, _] => images.clone(),
        [n, pixels] if pixels.isqrt().pow(2) == pixels => {
            images.reshape((n, 1, pixels.isqrt(), pixels.isqrt()))
        }
        _ => {
            refuse!(shape("ImageDataset", images.dims());
                "images (n, channels, height, width) or (n, side · side)",
                "Reshape them: images.reshape((n, channels, height, width))");
        }
    };
    attempt(|| (images * 255.0).round().to_dtype(DType::U8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset as _;
    use candle_core::Device;
    use std::path::Path;

    /// Writes a file of the IDX format, in which MNIST is published.
    fn write_idx(file: &Path, magic: u32, dims: &[u32], data: &[u8]) {
        let header = [magic].into_iter().chain(dims.iter().copied());
        let header = header.flat_map(u32::to_be_bytes);
        let content: Vec<u8> = header.chain(data.iter().copied()).collect();
        std::fs::write(file, content).expect("the file is written");
    }

    #[test]
    fn files_of_mnist_come_back_byte_by_byte() {
        let folder = std::env::temp_dir().join(format!("taper_mnist_{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let pixels: Vec<u8> = (0..5 * 28 * 28).map(|i| (i % 256) as u8).collect();
        for (name, n) in [("train", 5_u32), ("t10k", 3)] {
            let file = |kind: &str| folder.join(format!("{name}-{kind}-ubyte"));
            let data = &pixels[..n as usize * 784];
            write_idx(&file("images-idx3"), 2051, &[n, 28, 28], data);
            let labels: Vec<u8> = (0..n as u8).map(|i| 9 - i).collect();
            write_idx(&file("labels-idx1"), 2049, &[n], &labels);
        }
        let files = candle_datasets::vision::mnist::load_dir(&folder).expect("they load");
        std::fs::remove_dir_all(&folder).expect("it is removed");
        let (train, test) = ImageDataset::from_candle(&files).expect("they are images");
        assert_eq!((train.len(), test.len()), (5, 3));
        let batch = train.get(&[4, 0]).expect("a batch");
        assert_eq!(batch.x.dims(), [2, 1, 28, 28]);
        assert_eq!(batch.y.to_vec1::<u32>(), [5, 9]);
        let x = (batch.x * 255.0).round().flatten_all().to_vec1::<f32>();
        let x: Vec<u8> = x.iter().map(|&x| x as u8).collect();
        assert_eq!(x, [&pixels[4 * 784..], &pixels[..784]].concat());
    }

    #[test]
    fn coloured_images_keep_their_shape_and_odd_ones_are_refused() {
        let dataset = |dims: &[usize]| {
            let images = candle_core::Tensor::ones(dims, DType::F32, &Device::Cpu).expect("images");
            let labels =
                candle_core::Tensor::zeros(dims[0], DType::U8, &Device::Cpu).expect("labels");
            Dataset {
                train_images: images.clone(),
                train_labels: labels.clone(),
                test_images: images,
                test_labels: labels,
                labels: 10,
            }
        };
        let (train, _) = ImageDataset::from_candle(&dataset(&[2, 3, 32, 32])).expect("CIFAR-10");
        let batch = train.get(&[1]).expect("a batch");
        assert_eq!(batch.x.dims(), [1, 3, 32, 32]);
        let error = ImageDataset::from_candle(&dataset(&[2, 783])).expect_err("no square");
        assert!(error.to_string().contains("(n, side · side)"), "{error}");
    }
}
