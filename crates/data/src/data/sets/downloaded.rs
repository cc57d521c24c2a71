//! The well-known data sets, which `taper data get` downloads.

use super::location::data_folder;
use crate::data::ImageDataset;
use crate::data::module::data_module;
use crate::error::{Error, Result, problem, refuse};
use crate::tensor::Tensor;
use candle_core::{DType, Device, safetensors};
use std::path::Path;

/// Defines a data set that is downloaded: its name in Rust and on the command line, the shape of an
/// image, the number of training images, the classes.
macro_rules! downloaded {
    ($(#[$doc:meta])* $set:ident = $name:literal, $shape:expr, $count:literal, $classes:expr) => {
        settings! {
            $(#[$doc])*
            ///
            #[doc = concat!("It is downloaded once, in a terminal: `cargo taper data get ", $name, "`.")]
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let data = ", stringify!($set), "::new().batch_size(256);")]
            /// match data.train() {
            #[doc = concat!("    Ok(train) => assert_eq!(train.len(), ", stringify!($count), "),")]
            ///     Err(error) => println!("{error}"), // the command that downloads it
            /// }
            /// ```
            #[derive(Clone, Debug)]
            pub struct $set {
                /// Creates the data set, with batches of 64. Nothing is read yet.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let data = ", stringify!($set), "::new();")]
                /// assert!(format!("{data:?}").contains("batch_size: 64"));
                /// ```
                new;

                /// Sets the number of images in a batch.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let data = ", stringify!($set), "::new().batch_size(256);")]
                /// assert!(format!("{data:?}").contains("batch_size: 256"));
                /// ```
                set batch_size: usize = 64,
            }
        }

        impl $set {
            /// The names of the classes 0 to 9.
            pub const CLASSES: [&str; 10] = $classes;

            /// Returns the images for training.
            ///
            /// # Errors
            /// If the files are missing or damaged; the message contains the command that downloads them.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("if let Err(error) = ", stringify!($set), "::new().train() {")]
            #[doc = concat!("    assert!(error.to_string().ends_with(\"\\ncargo taper data get ", $name, "\"));")]
            /// }
            /// ```
            pub fn train(&self) -> Result<ImageDataset> {
                part(stringify!($set), $name, "train", $shape)
            }

            /// Returns the images for validation: the official test set.
            ///
            /// # Errors
            /// As for [`train`](Self::train).
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("if let Ok(val) = ", stringify!($set), "::new().val() {")]
            ///     assert_eq!(val.len(), 10000);
            /// }
            /// ```
            pub fn val(&self) -> Result<ImageDataset> {
                part(stringify!($set), $name, "test", $shape)
            }
        }

        data_module!($set);
    };
}

downloaded! {
    /// Handwritten digits: 60,000 training images and 10,000 test images of 28 by 28 pixels.
    ///
    /// Inputs are `(batch, 1, 28, 28)`, `f32` from 0 (paper) to 1 (ink); targets `(batch,)`, `u32`.
    /// Source: Y. LeCun, C. Cortes and C. Burges, *The MNIST database of handwritten digits* (1998), licence
    /// CC BY-SA 3.0. [`SmallMnist`](super::SmallMnist) is a part of it that needs no download.
    Mnist = "mnist", [1, 28, 28], 60000,
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
}

downloaded! {
    /// Images of clothes and shoes, which are harder to classify than digits: 60,000 training images and
    /// 10,000 test images of 28 by 28 pixels.
    ///
    /// Inputs are `(batch, 1, 28, 28)`, `f32` from 0 (background) to 1; targets `(batch,)`, `u32`,
    /// which [`FashionMnist::CLASSES`] names. Source: H. Xiao, K. Rasul and R. Vollgraf,
    /// *Fashion-MNIST* (2017), licence MIT.
    FashionMnist = "fashion-mnist", [1, 28, 28], 60000,
    [
        "t-shirt", "trouser", "pullover", "dress", "coat",
        "sandal", "shirt", "sneaker", "bag", "ankle boot",
    ]
}

downloaded! {
    /// Colour photographs of animals and vehicles: 50,000 training images and 10,000 test images of 32 by
    /// 32 pixels.
    ///
    /// Inputs are `(batch, 3, 32, 32)`, `f32` from 0 to 1, red, green and blue; targets `(batch,)`,
    /// `u32`, which [`Cifar10::CLASSES`] names. Source: A. Krizhevsky, *Learning Multiple Layers of
    /// Features from Tiny Images* (2009). [`Shapes`](super::Shapes) is a
    /// replacement that needs no download.
    Cifar10 = "cifar10", [3, 32, 32], 50000,
    [
        "airplane", "automobile", "bird", "cat", "deer",
        "dog", "frog", "horse", "ship", "truck",
    ]
}

/// Reads one part of a data set from the data folder.
fn part(set: &str, name: &str, part: &str, shape: [usize; 3]) -> Result<ImageDataset> {
    let folder = data_folder()?.join(name);
    // The second line of the message is the command alone, for copying.
    let command = format!("cargo taper data get {name}");
    let file = folder.join(part).with_extension("safetensors");
    refuse!(if !file.exists();
        file(&format!("read {set} in"), &folder, "it is not there yet. Type this in a terminal:");
        command);
    read(&file, shape).map_err(|error| {
        problem!(file("read", &file, format_args!("{error}. Download it again, in a terminal:"));
            command)
    })
}

/// Reads a file with `images`, `(n, channels, height, width)`, and `labels`, `(n,)`, both `u8`.
fn read(file: &Path, shape: [usize; 3]) -> Result<ImageDataset> {
    let mut tensors = safetensors::load_buffer(&crate::input::read(file)?, &Device::Cpu)?;
    let mut take = |name| {
        let tensor = tensors.remove(name);
        tensor
            .map(Tensor::from)
            .ok_or_else(|| Error::msg(format_args!("it has no {name}")))
    };
    let (images, labels) = (take("images")?, take("labels")?);
    let [channels, height, width] = shape;
    let n = images.dims().first().copied().unwrap_or(0);
    check("images", &images, &[n, channels, height, width])?;
    check("labels", &labels, &[n])?;
    if n == 0 || labels.max_all().to_scalar::<u8>() > 9 {
        return Err(Error::msg("its labels are not 0 to 9"));
    }
    ImageDataset::new(images, labels)
}

fn check(name: &str, tensor: &Tensor, dims: &[usize]) -> Result<()> {
    if tensor.dims() == dims && tensor.dtype() == DType::U8 {
        return Ok(());
    }
    let (found, dtype) = (tensor.dims(), tensor.dtype().as_str());
    Err(Error::msg(format_args!(
        "its {name} are {found:?} of {dtype} instead of {dims:?} of u8"
    )))
}

#[cfg(test)]
mod tests;
