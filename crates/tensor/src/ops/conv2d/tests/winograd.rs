use crate::ops::conv2d::{Conv2dSpec, conv2d, conv2d_as, conv2d_with_candle};
use crate::ops::testing::compare;
use crate::tensor::{Raw, Tensor, full, randn};
use candle_core::DType;

#[test]
fn the_kernel_agrees_with_candle() {
    compare("conv2d by Winograd's method", 40, |case| {
        let groups = case.one_of(&[1, 1, 2]);
        let spec = Conv2dSpec::new()
            .padding((case.between(0, 4), case.between(0, 4)))
            .groups(groups);
        let (ins, outs) = (case.between(48, 60), case.between(48, 100));
        let (height, width) = (case.between(3, 30), case.between(3, 30));
        let squares = height.div_ceil(2) * width.div_ceil(2);
        let batch = 200usize.div_ceil(squares);
        let mut inputs = vec![
            case.input(randn((batch, groups * ins, height, width))),
            case.input(randn((groups * outs, ins, 3, 3))),
        ];
        if case.one_of(&[true, false]) {
            inputs.push(case.input(randn(groups * outs)));
        }
        let kernel = move |x: &[Raw]| conv2d_as(&"", &x[0], &x[1], x.get(2), spec);
        let candle = move |x: &[Raw]| conv2d_with_candle(&x[0], &x[1], x.get(2), spec);
        Some((inputs, Box::new(kernel), Box::new(candle)))
    });
}

/// Random images and weights in `f64`.
fn random() -> [Tensor; 2] {
    crate::tensor::manual_seed(5);
    let x = randn((2, 64, 20, 20));
    let weight = randn((64, 64, 3, 3));
    [x, weight].map(|tensor| tensor.to_dtype(DType::F64))
}

fn convolve(x: &Tensor, weight: &Tensor, dtype: DType) -> Vec<f64> {
    let [x, weight] = [x, weight].map(|tensor| tensor.to_dtype(dtype));
    let y = conv2d(&x, &weight, None, Conv2dSpec::new());
    y.to_dtype(DType::F64).to_vec()
}

/// The sums have 576 terms of magnitude 1, so they are about 24.
#[test]
fn single_precision_keeps_six_digits() {
    let [x, weight] = random();
    let exact = convolve(&x, &weight, DType::F64);
    for (got, want) in convolve(&x, &weight, DType::F32).iter().zip(&exact) {
        assert!((got - want).abs() < 5e-5, "{want}, not {got}");
    }
}

/// The first pixel meets only the first output of each channel.
#[test]
fn an_extreme_pixel_changes_only_the_outputs_that_meet_it() {
    let [x, weight] = random();
    let exact = convolve(&x, &weight, DType::F64);
    for extreme in [f64::NAN, f64::INFINITY, 1e30, -1e6] {
        let pixel = full((2, 64, 1, 1), extreme).to_dtype(DType::F64);
        let (all, first) = (x.raw(), [0..2, 0..64, 0..1, 0..1]);
        let x = all.slice_assign(&first, pixel.raw()).unwrap();
        let got = convolve(&x.into(), &weight, DType::F32);
        for (i, (got, want)) in got.iter().zip(&exact).enumerate() {
            assert!(
                i % (18 * 18) == 0 || (got - want).abs() < 1e-4,
                "{extreme}: output {i} is {want}, not {got}"
            );
        }
    }
}

/// The products of transformed values would exceed the range of `f32`.
#[test]
fn sums_near_the_end_of_the_range_are_finite() {
    let x = full((1, 64, 20, 20), 1e37);
    let weight = full((64, 64, 3, 3), 1e-2);
    let want = 576.0 * 1e35;
    for got in convolve(&x, &weight, DType::F32) {
        assert!((got - want).abs() < 1e-5 * want, "{want}, not {got}");
    }
}
