use super::*;
use crate::error::attempt;
use crate::ops::pair::Pair;
use crate::ops::testing::{Case, compare, variable};
use crate::tensor::{ones, rand, randn, tensor, zeros};
use candle_core::DType;

mod depthwise;
mod winograd;

/// Returns random settings, the shape of the weight, and the channels, height and width of the images.
fn random(case: &mut Case) -> Option<(Conv2dSpec, [usize; 4], [usize; 3])> {
    let groups = case.one_of(&[1, 1, 1, 2, 3]);
    // With these, each method for the gradients of weights is used at each length of vectors.
    let out_channels = groups * case.one_of(&[1, 2, 3, 5, 8, 11, 16, 35, 52]);
    let mut kernel = Pair::from(case.between(1, 5));
    let mut spec = Conv2dSpec::new()
        .stride(case.one_of(&[1, 1, 2, 3]))
        .padding(case.between(0, 4))
        .dilation(case.one_of(&[1, 1, 2, 3]))
        .groups(groups);
    if case.one_of(&[true, false]) {
        kernel.width = case.between(1, 5);
        spec.stride.width = case.between(1, 3);
        spec.padding.width = case.between(0, 4);
        spec.dilation.width = case.between(1, 3);
    }
    let in_channels = case.one_of(&[1, 2, 3, 4, 7, 12]);
    let size = [case.between(1, 40), case.between(1, 40)];
    let (extent, padding) = (spec.extent(kernel.both()), spec.padding.both());
    let fits = [0, 1].map(|i| size[i] + 2 * padding[i] >= extent[i]);
    let weight = [out_channels, in_channels, kernel.height, kernel.width];
    (fits == [true; 2]).then_some((spec, weight, [groups * in_channels, size[0], size[1]]))
}

#[test]
fn the_kernel_agrees_with_candle() {
    compare("conv2d", 120, |case| {
        let (spec, weight, [channels, height, width]) = random(case)?;
        let batch = case.one_of(&[1, 2, 5, 20]);
        let x = case.input(randn((batch, channels, height, width)));
        let mut inputs = vec![x, case.input(rand(&weight[..]))];
        if case.one_of(&[true, false]) {
            inputs.push(case.input(randn(weight[0])));
        }
        let kernel = move |x: &[Raw]| conv2d_as(&"", &x[0], &x[1], x.get(2), spec);
        let candle = move |x: &[Raw]| conv2d_with_candle(&x[0], &x[1], x.get(2), spec);
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}

/// Channels of so few pixels are computed as one vector of outputs.
#[test]
fn small_channels_apart_agree_with_candle() {
    compare("conv2d with small channels", 60, |case| {
        let (channels, batch) = (case.one_of(&[1, 5, 40]), case.between(1, 5));
        let (height, width) = (case.between(1, 6), case.between(1, 6));
        let kernel = case.one_of(&[1, 2, 3, 5]);
        let spec = Conv2dSpec::new()
            .stride(case.one_of(&[1, 2, 3]))
            .padding(kernel / 2)
            .dilation(case.one_of(&[1, 1, 2]))
            .groups(channels);
        let extent = spec.extent([kernel, kernel]);
        if height + kernel / 2 * 2 < extent[0] || width + kernel / 2 * 2 < extent[1] {
            return None;
        }
        let inputs = vec![
            case.input(randn((batch, channels, height, width))),
            case.input(rand((channels, 1, kernel, kernel))),
            case.input(randn(channels)),
        ];
        let kernel = move |x: &[Raw]| conv2d_as(&"", &x[0], &x[1], x.get(2), spec);
        let candle = move |x: &[Raw]| conv2d_with_candle(&x[0], &x[1], x.get(2), spec);
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}

/// With this number of channels, a product of matrices is summed in several parts.
#[test]
fn many_channels_agree_with_candle() {
    compare("conv2d with many channels", 12, |case| {
        let size = case.one_of(&[3, 8, 11, 16]);
        let kernel = case.one_of(&[1, 3, 4]).min(size);
        let spec = Conv2dSpec::new()
            .stride(case.one_of(&[1, 2, 3]))
            .padding(kernel / 2);
        let (ins, outs) = (case.one_of(&[64, 70]), case.one_of(&[64, 100, 144]));
        let batch = case.between(1, 3);
        let inputs = vec![
            case.input(randn((batch, ins, size, size))),
            case.input(rand((outs, ins, kernel, kernel))),
        ];
        let kernel = move |x: &[Raw]| conv2d_as(&"", &x[0], &x[1], None, spec);
        let candle = move |x: &[Raw]| conv2d_with_candle(&x[0], &x[1], None, spec);
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}

/// One pixel is infinite. The gradient of a weight is infinite where the weight meets that pixel.
#[test]
fn a_pixel_changes_only_the_weights_that_meet_it() {
    // With few channels, with many, and with enough of narrow images: each has its own method.
    let methods = [(1, 1, 1), (4, 16, 1), (8, 32, 8)];
    // The pixel, and the weight that meets it: at the end of a row, other weights meet it beyond the output's row.
    for ((ins, outs, batch), (pixel, tap)) in methods
        .iter()
        .flat_map(|method| [(*method, (0, 0)), (*method, (3, 2))])
    {
        let mut values = vec![1f32; batch * ins * 16];
        values[pixel] = f32::INFINITY;
        let x = Tensor::from_vec(values, (batch, ins, 4, 4));
        let weight = variable(&ones((outs, ins, 3, 3)));
        let y = conv2d(&x, &weight, None, Conv2dSpec::new()); // (batch, outs, 2, 2)
        let gradient = y.sum_all().backward().of(&weight).to_vec::<f32>();
        for (i, got) in gradient.iter().enumerate() {
            let want = if i % (9 * ins) == tap {
                f32::INFINITY
            } else {
                4.0 * batch as f32
            };
            assert_eq!(*got, want, "{ins} channels, weight {i}");
        }
    }
}

#[test]
fn an_empty_batch_stays_empty() {
    let (x, weight) = (zeros((0, 2, 3, 3)), zeros((2, 1, 3, 3)));
    let y = conv2d(&x, &weight, None, Conv2dSpec::new().groups(2));
    assert_eq!(y.dims(), [0, 2, 1, 1]);
}

/// As in PyTorch.
#[test]
fn a_weight_without_output_channels_is_refused() {
    let (x, weight) = (zeros((1, 1, 8, 8)), zeros((0, 1, 3, 3)));
    let message = attempt(|| conv2d(&x, &weight, None, Conv2dSpec::new())).unwrap_err();
    assert_eq!(
        message.to_string(),
        "conv2d: out_channels is 0\nGive out_channels a value of at least 1"
    );
}

#[test]
fn without_input_channels_the_output_is_the_bias() {
    let (x, weight) = (zeros((1, 0, 4, 3)), zeros((2, 0, 3, 3)));
    let bias = variable(&tensor(&[1.0, 2.0]));
    let y = conv2d(&x, &weight, Some(&bias), Conv2dSpec::new()); // (1, 2, 2, 1)
    assert_eq!(y.dims(), [1, 2, 2, 1]);
    assert_eq!(y.to_vec::<f32>(), [1.0, 1.0, 2.0, 2.0]);
    let gradients = y.sum_all().backward();
    assert_eq!(gradients.of(&bias).to_vec::<f32>(), [2.0, 2.0]);
    let [x, weight, bias] = [&x, &weight, &bias].map(|tensor| tensor.to_dtype(DType::BF16));
    let y = conv2d(&x, &weight, Some(&bias), Conv2dSpec::new());
    assert_eq!(y.dtype(), DType::BF16);
}

#[test]
fn a_wrong_weight_is_not_called_an_image() {
    let (x, weight) = (zeros((1, 1, 8, 8)), zeros((1, 3, 3)));
    let message = attempt(|| conv2d(&x, &weight, None, Conv2dSpec::new()));
    assert_eq!(
        message.unwrap_err().to_string(),
        "conv2d cannot take a weight of shape [1, 3, 3]\n\
         Expected a weight (out, in / groups, rows, columns)"
    );
}

#[test]
fn invalid_settings_are_errors() {
    let (x, weight) = (zeros((1, 1, 8, 8)), zeros((1, 1, 3, 3)));
    let spec = Conv2dSpec::new();
    for wrong in [
        spec.stride(0),
        spec.padding(usize::MAX),
        spec.padding((1 << 40, 0)),
        spec.dilation(1 << 63),
        spec.dilation(usize::MAX),
        spec.groups(0),
        spec.groups(usize::MAX),
    ] {
        let message = attempt(|| conv2d(&x, &weight, None, wrong)).unwrap_err();
        let message = message.to_string();
        assert_eq!(message.lines().count(), 2, "{wrong:?}: {message}");
    }
    let far = conv2d(&x, &weight, None, spec.stride(usize::MAX));
    assert_eq!(far.dims(), [1, 1, 1, 1]);
    let bias = zeros(2);
    let message = attempt(|| conv2d(&x, &weight, Some(&bias), spec));
    assert!(message.unwrap_err().to_string().contains("bias"));
}
