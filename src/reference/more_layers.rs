//! Further layers that take one tensor, forward and backward.

use super::layers::compare;
use super::{devices, read};
use crate::nn::*;

#[test]
fn further_layers_agree_with_pytorch() {
    for device in devices() {
        let all = read("more_layers", &device);
        compare(&all, "conv_1d", Conv1d::new(4, 6, 3));
        let settings = Conv1d::new(4, 6, 3).stride(2).padding(2).dilation(2);
        compare(&all, "conv_1d_settings", settings.groups(2).bias(false));
        compare(&all, "conv_transpose", ConvTranspose2d::new(4, 6, 3));
        let strided = ConvTranspose2d::new(4, 3, 2).stride(2).bias(false);
        compare(&all, "conv_transpose_stride", strided);
        let settings = ConvTranspose2d::new(4, 6, 3)
            .stride(3)
            .padding(1)
            .dilation(2);
        let settings = settings.output_padding(2).groups(2);
        compare(&all, "conv_transpose_settings", settings);
        compare(&all, "upsample", Upsample::new(2.0));
        compare(&all, "upsample_fraction", Upsample::new(1.7));
        compare(&all, "upsample_size", Upsample::to_size(3, 9));
        compare(
            &all,
            "upsample_bilinear",
            Upsample::new(1.7).mode(Interpolation::Bilinear),
        );
        compare(
            &all,
            "upsample_bilinear_size",
            Upsample::to_size(8, 4).mode(Interpolation::Bilinear),
        );
        compare(
            &all,
            "upsample_corners",
            Upsample::new(2.0)
                .mode(Interpolation::Bilinear)
                .align_corners(true),
        );
        compare(&all, "group_norm", GroupNorm::new(2, 4));
        compare(&all, "group_norm_rows", GroupNorm::new(4, 4).eps(0.01));
        compare(&all, "rms_norm", RMSNorm::new(7));
        compare(&all, "rms_norm_eps", RMSNorm::new(7).eps(0.1));
        compare(&all, "leaky_relu", LeakyReLU::new());
        compare(
            &all,
            "leaky_relu_slope",
            LeakyReLU::new().negative_slope(0.3),
        );
        compare(&all, "elu", ELU::new());
        compare(&all, "elu_alpha", ELU::new().alpha(0.7));
        compare(&all, "identity", Identity);
    }
}
