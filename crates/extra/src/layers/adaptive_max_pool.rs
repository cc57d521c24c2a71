//! Maximum pooling to a given size.

use crate::error::{OrRaise, raise};
use crate::layer;
use crate::nn::{Parameters, as_rows, check, record_output};
use crate::ops::{self, OutputSize, Pair, Pool2dSpec};
use crate::tensor::Tensor;

layer! {
    /// Takes the maximum of patches that cover the image, so that the output has the given size whatever the size of the
    /// input. Neighbouring patches overlap where the sizes do not divide evenly. Of equal elements, the first gets the
    /// gradient.
    ///
    /// # Shapes
    /// `(batch, channels, height, width)` to `(batch, channels, size, size)`; a pair as size sets the height and the width,
    /// where `None` keeps the size of the input. The batch may be missing.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0).reshape((1, 1, 4, 4));
    /// let y = AdaptiveMaxPool2d::new(2).forward(&x); // (1, 1, 2, 2)
    /// assert_eq!(y.to_vec::<f32>(), [5.0, 7.0, 13.0, 15.0]);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if a size is 0.
    #[derive(Clone, Copy)]
    #[describe(output_size = self.size)]
    pub struct AdaptiveMaxPool2d(size: impl Into<OutputSize>) {
        size: OutputSize = size.into(),
        check::positive("AdaptiveMaxPool2d", &[("size", size.least())]);
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        if input.rank() == 3 {
            return self.forward(&input.unsqueeze(0)).squeeze(0);
        }
        let (_, _, height, width) = check::image(self, input);
        if height == 0 || width == 0 {
            let expected = "Its images must have at least one pixel";
            raise(check::refused(self, input, expected))
        }
        let y = maxima(self, input, self.size.of(height, width));
        record_output(self, y)
    }
}

layer! {
    /// Takes the maximum of patches that cover a sequence; otherwise as [`AdaptiveAvgPool1d`](crate::nn::AdaptiveAvgPool1d).
    /// Of equal elements, the first gets the gradient.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = AdaptiveMaxPool1d::new(2).forward(&arange(0.0, 6.0).reshape((1, 1, 6))); // (1, 1, 2)
    /// assert_eq!(y.to_vec::<f32>(), [2.0, 5.0]);
    /// ```
    ///
    /// # Shapes
    /// `(batch, channels, length)` to `(batch, channels, size)`; the batch may be missing.
    ///
    /// # Panics
    /// [`new`](Self::new) panics if `size` is 0.
    #[derive(Clone, Copy)]
    #[describe(output_size = self.size)]
    pub struct AdaptiveMaxPool1d(size: usize) {
        check::positive("AdaptiveMaxPool1d", &[("size", size)]);
        size: usize,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let size = (1, self.size).into();
        as_rows(self, input, 1, |x| Ok(maxima(self, x, size).into()))
    }
}

/// Returns the maxima of patches that cover images `(batch, channels, height, width)`.
fn maxima(layer: &dyn Parameters, x: &Tensor, size: Pair) -> Tensor {
    let (height, width) = (x.dim(2), x.dim(3));
    let [rows, columns] = size.both();
    let shape = [x.dim(0), x.dim(1), rows, columns];
    ops::check::output(&check::name(layer), &shape, x.raw()).or_raise();
    match height.is_multiple_of(rows) && width.is_multiple_of(columns) {
        true => {
            let spec = Pool2dSpec::new((height / rows, width / columns));
            let y = ops::max_pool2d_as(&check::name(layer), x.raw(), spec);
            y.or_raise().into()
        }
        false => uneven(x, size),
    }
}

/// Returns the maxima of patches of different sizes.
fn uneven(x: &Tensor, size: Pair) -> Tensor {
    let [rows, columns] = [0, 1].map(|i| patches(x.dim(2 + i), size.both()[i]));
    let mut maxima = vec![];
    for (top, height) in rows {
        for (left, width) in &columns {
            let patch = x.narrow(2, top, height).narrow(3, *left, *width);
            maxima.push(patch.flatten(2, 3).max(2)); // (batch, channels)
        }
    }
    let [height, width] = size.both();
    Tensor::stack(&maxima, 2).reshape((x.dim(0), x.dim(1), height, width))
}

/// Returns where the patches of a dimension begin, and their sizes.
fn patches(size: usize, outputs: usize) -> Vec<(usize, usize)> {
    let patch = |i: usize| {
        let start = i * size / outputs;
        (start, ((i + 1) * size).div_ceil(outputs) - start)
    };
    (0..outputs).map(patch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layer;
    use crate::tensor::{arange, zeros};
    use taper_tensor::testing::message_of;

    #[test]
    fn patches_of_different_sizes_overlap() {
        assert_eq!(patches(5, 3), [(0, 2), (1, 3), (3, 2)]);
        let x = arange(0.0, 5.0).reshape((1, 1, 1, 5));
        let y = AdaptiveMaxPool2d::new((1, 3)).forward(&x);
        assert_eq!(y.to_vec::<f32>(), [1.0, 3.0, 4.0]);
        let y = AdaptiveMaxPool2d::new((2, 6)).forward(&x); // larger than the image
        assert_eq!(y.dims(), [1, 1, 2, 6]);
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let layer = AdaptiveMaxPool2d::new(2);
        let message = message_of(|| layer.forward(&zeros((4, 4))));
        assert!(message.contains("(batch, channels, height, width)"));
        let message = message_of(|| layer.forward(&zeros((1, 1, 0, 4))));
        assert!(message.ends_with("at least one pixel"), "{message}");
        let message = message_of(|| AdaptiveMaxPool2d::new((2, 0)));
        assert!(message.starts_with("AdaptiveMaxPool2d: size is 0\n"));
        let layer = AdaptiveMaxPool1d::new(2);
        for shape in [vec![], vec![8], vec![1, 1, 1, 8], vec![1, 2, 0]] {
            let message = message_of(|| layer.forward(&zeros(shape.clone())));
            let expected = format!("cannot take an input of shape {shape:?}\n");
            assert!(message.contains(&expected), "{message}");
            assert!(message.ends_with("of a length of at least 1"), "{message}");
        }
        assert_eq!(layer.forward(&zeros((0, 2, 1))).dims(), [0, 2, 2]);
    }
}
