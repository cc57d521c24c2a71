//! Transforms: the steps from an image to the input of a model.
//!
//! An image begins as `(height, width, 3)` of `u8`, as in its file; a grey image in memory has 1 channel
//! instead of 3. [`Resize`], [`CenterCrop`], [`RandomCrop`],
//! [`RandomHorizontalFlip`] and [`ColorJitter`] return such an image again, [`ToTensor`] converts it to
//! `(channels, height, width)` of `f32` from 0 to 1, and [`Normalize`] shifts and scales the result.
//! [`compose!`](crate::compose) chains several steps.

mod color;
mod geometry;
mod random_crop;
mod targets;

use crate::tensor::Tensor;
pub use color::{ColorJitter, Normalize, ToTensor};
pub use geometry::{CenterCrop, RandomHorizontalFlip, Resize};
pub use random_crop::RandomCrop;
pub use targets::Targets;

use crate::error::{Error, Result, problem, refuse};
use candle_core::{DType, Device};
use std::fmt;

/// A step that turns an image into another one.
///
/// Random values come from Taper's generator; a [`DataLoader`](super::DataLoader) sets a seed for each
/// batch.
///
/// ```
/// use taper::prelude::*;
///
/// /// Dark becomes light.
/// struct Invert;
///
/// impl Transform for Invert {
///     fn apply(&self, image: &Tensor) -> Result<Tensor> {
///         Ok(1.0 - image)
///     }
/// }
///
/// let steps = compose![ToTensor, Invert];
/// let white = full((2, 2, 3), 255.0).to_dtype(DType::U8); // (height, width, 3)
/// let black = steps.apply(&white)?; // (3, height, width)
/// assert_eq!(black.sum_all().item(), 0.0);
/// # Ok::<(), Error>(())
/// ```
pub trait Transform: Send + Sync {
    /// Returns the image after this step. Each step documents the shapes of its input and output.
    ///
    /// # Errors
    /// If the step does not accept the shape or the type of the image.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let image = zeros((30, 40, 3)).to_dtype(DType::U8); // (height, width, 3)
    /// assert_eq!(Resize::new(15).apply(&image)?.dims(), [15, 20, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    fn apply(&self, image: &Tensor) -> Result<Tensor>;

    /// Returns the image after this step, and changes boxes and mask with it. A step of your own that moves pixels overrides
    /// this; the default leaves the targets as they are.
    ///
    /// # Errors
    /// As for [`apply`](Self::apply), and if the targets do not fit the image.
    ///
    /// ```
    /// use taper::data::transforms::Targets;
    /// use taper::prelude::*;
    ///
    /// let image = zeros((30, 40, 3)).to_dtype(DType::U8); // (height, width, 3)
    /// let mut targets = Targets { boxes: Some(tensor(&[[4.0, 0.0, 8.0, 6.0]])), mask: None };
    /// Resize::new(15).apply_with(&image, &mut targets)?;
    /// assert_eq!(targets.boxes.unwrap().to_vec2::<f32>(), [[2.0, 0.0, 4.0, 3.0]]);
    /// # Ok::<(), Error>(())
    /// ```
    fn apply_with(&self, image: &Tensor, targets: &mut Targets) -> Result<Tensor> {
        let _ = targets;
        self.apply(image)
    }
}

/// Implements [`Transform`] for a step that changes the targets as well.
macro_rules! with_targets {
    ($step:ident, $apply_with:item) => {
        impl Transform for $step {
            fn apply(&self, image: &Tensor) -> Result<Tensor> {
                self.apply_with(image, &mut Targets::default())
            }

            $apply_with
        }
    };
}
use with_targets;

impl<T: Transform + ?Sized> Transform for Box<T> {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        (**self).apply(image)
    }

    fn apply_with(&self, image: &Tensor, targets: &mut Targets) -> Result<Tensor> {
        (**self).apply_with(image, targets)
    }
}

/// Several steps, one after the other. [`compose!`](crate::compose) is a shorter notation.
///
/// ```
/// use taper::prelude::*;
///
/// let steps: Compose = compose![Resize::new(20), CenterCrop::new(16), ToTensor];
/// let image = zeros((30, 40, 3)).to_dtype(DType::U8); // (height, width, 3)
/// assert_eq!(steps.apply(&image)?.dims(), [3, 16, 16]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct Compose {
    steps: Vec<Box<dyn Transform>>,
}

impl Compose {
    /// Creates a transform of these steps, in this order.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let steps = Compose::new(vec![Box::new(CenterCrop::new(4)), Box::new(ToTensor)]);
    /// assert_eq!(format!("{steps:?}"), "Compose(2 steps)");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(steps: Vec<Box<dyn Transform>>) -> Self {
        Compose { steps }
    }
}

with_targets! { Compose,
    fn apply_with(&self, image: &Tensor, targets: &mut Targets) -> Result<Tensor> {
        let mut image = image.clone();
        for step in &self.steps {
            image = step.apply_with(&image, targets)?;
        }
        Ok(image)
    }
}

impl fmt::Debug for Compose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compose({} steps)", self.steps.len())
    }
}

/// Chains [`Transform`]s into a [`Compose`].
///
/// ```
/// use taper::prelude::*;
///
/// let training = compose![
///     Resize::new(224),
///     CenterCrop::new(128),
///     RandomHorizontalFlip::new(),
///     ColorJitter::new().contrast(0.05),
///     ToTensor,
///     Normalize::new([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
/// ];
/// let image = zeros((300, 400, 3)).to_dtype(DType::U8); // (height, width, 3)
/// assert_eq!(training.apply(&image)?.dims(), [3, 128, 128]);
/// # Ok::<(), Error>(())
/// ```
#[macro_export]
macro_rules! compose {
    ($($step:expr),* $(,)?) => {
        $crate::data::transforms::Compose::new(vec![$(Box::new($step)),*])
    };
}

/// The bytes of an image: red, green and blue, or grey.
struct ImageBytes {
    bytes: Vec<u8>,
    height: usize,
    width: usize,
    channels: usize,
    device: Device,
}

impl ImageBytes {
    /// Copies the input of the step with this name to memory, after a check of its shape and type.
    fn of(step: &str, image: &Tensor) -> Result<Self> {
        match image.dims() {
            &[height, width, channels @ (1 | 3)]
                if image.dtype() == DType::U8 && height > 0 && width > 0 =>
            {
                Ok(ImageBytes {
                    bytes: image.to_vec(),
                    height,
                    width,
                    channels,
                    device: image.device().clone(),
                })
            }
            _ if image.dtype() != DType::U8 && step == "ToTensor" => {
                refuse!(dtype(step, image.dtype());
                "an image (height, width, 3) of u8",
                "Use ToTensor once, or convert the image first: image.to_dtype(DType::U8)")
            }
            _ if image.dtype() != DType::U8 => refuse!(dtype(step, image.dtype());
                "an image (height, width, 3) of u8",
                "Put {step} before ToTensor, which changes shape and type"),
            dims => refuse!(shape(step, dims);
                "an image (height, width, 3) of u8",
                "Bring the channels to the end with image.permute((1, 2, 0)), and keep 3 of them with \
                 image.narrow(2, 0, 3)"),
        }
    }

    fn to_tensor(&self) -> Tensor {
        let shape = (self.height, self.width, self.channels);
        Tensor::from_vec_on(self.bytes.to_vec(), shape, &self.device)
    }
}

/// Returns the error of a step whose size is 0.
fn no_pixels(step: &str) -> Error {
    problem!(argument(step, 0); "a size of at least 1 pixel", "Choose a size above 0")
}

#[cfg(test)]
mod tests;
