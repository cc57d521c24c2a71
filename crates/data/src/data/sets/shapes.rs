//! Small coloured images that need no download.

use super::drawing::{Color, ImageRng, mix};
use crate::data::ImageDataset;
use crate::data::module::data_module;
use crate::error::Result;
use crate::tensor::Tensor;
use candle_core::Device;
use rayon::prelude::*;
use std::f32::consts::PI;

const SIDE: usize = 32;

settings! {
    /// Ten kinds of shapes and textures in images of 32 by 32 pixels, drawn by Taper: a replacement for
    /// CIFAR-10 that needs no download.
    ///
    /// Inputs are `(batch, 3, 32, 32)`, `f32` from 0 to 1, targets `(batch,)`, `u32`, which
    /// [`Shapes::CLASSES`] names. Place, size, angle and colours vary, the background is uneven, and
    /// there is noise, so that colours or single pixels do not reveal the class. A seed fixes every
    /// image.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = Shapes::new().num_train(64).num_val(10);
    /// let batch = data.train_dataloader()?.into_iter().next().expect("a batch")?;
    /// assert_eq!(batch.x.dims(), [64, 3, 32, 32]);
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct Shapes {
        /// Creates a data set with 5,000 images for training and 1,000 for validation, in batches of
        /// 64.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = Shapes::new();
        /// assert_eq!(Shapes::CLASSES[4], "triangle");
        /// ```
        new;

        /// Sets the number of training images.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Shapes::new().num_train(20).train()?.len(), 20);
        /// # Ok::<(), Error>(())
        /// ```
        set num_train: usize = 5000,

        /// Sets the number of validation images.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Shapes::new().num_val(20).val()?.len(), 20);
        /// # Ok::<(), Error>(())
        /// ```
        set num_val: usize = 1000,

        /// Sets the number of images in a batch.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let data = Shapes::new().num_train(20).batch_size(5);
        /// assert_eq!(data.train_dataloader()?.num_batches(), 4);
        /// # Ok::<(), Error>(())
        /// ```
        set batch_size: usize = 64,

        /// Sets the seed that fixes the images, 0 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let first = |seed| Shapes::new().num_train(1).seed(seed).train()?.get(&[0]);
        /// assert_ne!(first(0)?.x.to_vec::<f32>(), first(1)?.x.to_vec::<f32>());
        /// # Ok::<(), Error>(())
        /// ```
        set seed: u64 = 0,
    }
}

impl Shapes {
    /// The names of the classes 0 to 9.
    pub const CLASSES: [&str; 10] = [
        "disc", "ring", "square", "frame", "triangle", "plus", "star", "stripes", "checks", "dots",
    ];

    /// Draws the training images.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let first = Shapes::new().num_train(10).train()?.get(&[0])?;
    /// assert_eq!(first.x.dims(), [1, 3, 32, 32]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn train(&self) -> Result<ImageDataset> {
        self.draw_all(self.num_train, 0)
    }

    /// Draws the validation images.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Shapes::new().num_val(10).val()?.len(), 10);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn val(&self) -> Result<ImageDataset> {
        // Far above the indices of the training images, so that the sets do not overlap.
        self.draw_all(self.num_val, 1 << 40)
    }

    fn draw_all(&self, count: usize, first: usize) -> Result<ImageDataset> {
        let drawn = (0..count).into_par_iter();
        let drawn: Vec<(usize, Vec<u8>)> = drawn
            .map(|i| draw(&mut ImageRng::new(self.seed, first + i)))
            .collect();
        let labels: Vec<u32> = drawn.iter().map(|(class, _)| *class as u32).collect();
        let pixels: Vec<u8> = drawn.into_iter().flat_map(|(_, pixels)| pixels).collect();
        let x = Tensor::from_vec_on(pixels, (count, 3, SIDE, SIDE), &Device::Cpu);
        ImageDataset::new(x, Tensor::from_vec_on(labels, count, &Device::Cpu))
    }
}

data_module!(Shapes);

/// Draws an image; returns its class and its pixels, `(3, 32, 32)`.
fn draw(rng: &mut ImageRng) -> (usize, Vec<u8>) {
    let class = rng.below(Shapes::CLASSES.len());
    let (under, over) = colors(rng);
    let (x0, y0) = (rng.between(11.0, 21.0), rng.between(11.0, 21.0));
    let size = rng.between(7.0, 12.0);
    let (sin, cos) = rng.between(-0.4, 0.4).sin_cos();
    let (slope, wave) = (rng.between(-0.25, 0.25), rng.between(0.0, 2.0 * PI));

    let mut pixels = vec![0; 3 * SIDE * SIDE];
    for row in 0..SIDE {
        for column in 0..SIDE {
            // Four samples per pixel, for smooth edges.
            let quarters = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)];
            let inside = quarters.into_iter().filter(|(right, down)| {
                let (x, y) = (column as f32 + right - x0, row as f32 + down - y0);
                let (u, v) = ((x * cos + y * sin) / size, (y * cos - x * sin) / size);
                covers(class, u, v)
            });
            let part = inside.count() as f32 / 4.0;
            let light =
                1.0 + slope * (0.3 * column as f32 + wave).sin() + slope * row as f32 / 32.0;
            let color = mix(under.map(|c| c * light), over, part);
            for (channel, value) in color.into_iter().enumerate() {
                let noisy = (value + rng.noise(0.06)).clamp(0.0, 1.0);
                pixels[(channel * SIDE + row) * SIDE + column] = (noisy * 255.0).round() as u8;
            }
        }
    }
    (class, pixels)
}

/// Returns two colours that clearly differ.
fn colors(rng: &mut ImageRng) -> (Color, Color) {
    loop {
        let [under, over] = [(); 2].map(|()| rng.color([0.05; 3], [0.95; 3]));
        let distance: f32 = under.iter().zip(over).map(|(a, b)| (a - b).abs()).sum();
        if distance > 0.7 {
            return (under, over);
        }
    }
}

/// Returns whether a point belongs to the shape, whose size is about 1.
fn covers(class: usize, u: f32, v: f32) -> bool {
    let radius = u.hypot(v);
    let square = u.abs().max(v.abs());
    // The distance of a point from the centre of its field in a 3 × 3 grid.
    let from_middle = |value: f32| (value * 1.5 + 8.5).fract() - 0.5;
    let odd = |value: f32| (value.floor() as i32).rem_euclid(2) == 1;
    match Shapes::CLASSES[class] {
        "disc" => radius < 1.0,
        "ring" => (0.6..1.0).contains(&radius),
        "square" => square < 0.85,
        "frame" => (0.5..0.9).contains(&square),
        "triangle" => v < 0.7 && u.abs() < (v + 1.0) * 0.6,
        "plus" => square < 1.0 && u.abs().min(v.abs()) < 0.28,
        "star" => radius < 0.62 + 0.38 * (5.0 * u.atan2(-v)).cos(),
        "stripes" => square < 1.05 && odd(v * 2.9 + 0.5),
        "checks" => square < 1.05 && odd(u * 1.9) != odd(v * 1.9),
        "dots" => square < 1.05 && from_middle(u).hypot(from_middle(v)) < 0.33,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;

    fn read(set: &ImageDataset) -> (Vec<f32>, Vec<u32>) {
        let all: Vec<usize> = (0..set.len()).collect();
        let batch = set.get(&all).unwrap();
        let pixels = batch.x.to_vec();
        (pixels, batch.y.to_vec1())
    }

    #[test]
    fn a_seed_fixes_each_image_whatever_the_size_of_the_set() {
        let few = read(&Shapes::new().num_train(5).train().unwrap());
        let more = read(&Shapes::new().num_train(9).train().unwrap());
        assert_eq!(few.0[..], more.0[..few.0.len()]);
        assert_eq!(few.1[..], more.1[..5]);
        assert_ne!(few, read(&Shapes::new().num_val(5).val().unwrap()));
        assert_ne!(
            few,
            read(&Shapes::new().seed(1).num_train(5).train().unwrap())
        );
    }

    #[test]
    fn classes_are_balanced_and_values_are_colours() {
        let (pixels, labels) = read(&Shapes::new().num_train(500).train().unwrap());
        for class in 0..10 {
            let count = labels.iter().filter(|&&label| label == class).count();
            assert!((25..80).contains(&count), "{class}: {count}");
        }
        assert!(pixels.iter().all(|value| (0.0..=1.0).contains(value)));
    }
}
