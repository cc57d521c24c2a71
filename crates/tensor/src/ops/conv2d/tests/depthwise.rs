use crate::ops::conv2d::{Conv2dSpec, conv2d_as, conv2d_with_candle};
use crate::ops::testing::compare;
use crate::tensor::{Raw, rand, randn};

/// Forward and backward, where the gradient of the input is such a convolution as well.
#[test]
fn single_channels_agree_with_candle() {
    compare("conv2d of single channels", 80, |case| {
        let kernel = case.one_of(&[1, 2, 3, 3, 5, 5, 7, 11]);
        let spec = Conv2dSpec::new()
            .stride(case.one_of(&[1, 1, 2, 3]))
            .padding(case.between(0, 2).max(kernel / 2 * case.between(0, 1)))
            .dilation(case.one_of(&[1, 1, 1, 2]));
        let channels = case.one_of(&[1, 2, 7, 19]);
        let spec = spec.groups(channels);
        // Heights that are not a multiple of a tile's, and widths around the length of each vector.
        let size = [
            case.between(1, 21),
            case.one_of(&[1, 4, 7, 8, 9, 15, 16, 17, 24, 33, 40]),
        ];
        let extent = spec.extent([kernel; 2]);
        let room = [0, 1].map(|i| size[i] + 2 * spec.padding.both()[i] >= extent[i]);
        if room != [true; 2] {
            return None;
        }
        let batch = case.one_of(&[1, 3, 40]);
        let mut inputs = vec![
            case.input(randn((batch, channels, size[0], size[1]))),
            case.input(rand((channels, 1, kernel, kernel))),
        ];
        if case.one_of(&[true, false]) {
            inputs.push(case.input(randn(channels)));
        }
        let kernel = move |x: &[Raw]| conv2d_as(&"", &x[0], &x[1], x.get(2), spec);
        let candle = move |x: &[Raw]| conv2d_with_candle(&x[0], &x[1], x.get(2), spec);
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}

/// An image with more rows than a chunk: each chunk has its own padding.
#[test]
fn a_tall_image_agrees_with_candle() {
    compare("conv2d of a tall image", 8, |case| {
        let spec = Conv2dSpec::new()
            .stride(case.one_of(&[1, 2]))
            .padding(case.one_of(&[0, 1, 2]))
            .groups(3);
        let (height, width) = (case.between(90, 130), case.between(60, 90));
        let inputs = vec![
            case.input(randn((2, 3, height, width))),
            case.input(rand((3, 1, 5, 5))),
        ];
        let kernel = move |x: &[Raw]| conv2d_as(&"", &x[0], &x[1], None, spec);
        let candle = move |x: &[Raw]| conv2d_with_candle(&x[0], &x[1], None, spec);
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}
