//! EfficientNet-B0 (Tan and Le, 2019).

use taper::prelude::*;

/// A convolution with a normalisation.
fn conv(inputs: usize, outputs: usize, size: usize, stride: usize, groups: usize) -> Sequential {
    let conv = Conv2d::new(inputs, outputs, size).padding(size / 2);
    let conv = conv.stride(stride).groups(groups).bias(false);
    seq![conv, BatchNorm2d::new(outputs)]
}

layer! {
    struct SqueezeExcite(channels: usize, squeezed: usize) {
        scale = seq![
            AdaptiveAvgPool2d::new(1),
            Conv2d::new(channels, squeezed, 1),
            SiLU,
            Conv2d::new(squeezed, channels, 1),
            Sigmoid
        ],
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        x * self.scale.forward(x)
    }
}

fn mb_conv(inputs: usize, outputs: usize, size: usize, stride: usize, factor: usize) -> Sequential {
    let wide = factor * inputs;
    let body = seq![
        (factor > 1).then(|| seq![conv(inputs, wide, 1, 1, 1), SiLU]),
        conv(wide, wide, size, stride, wide),
        SiLU,
        SqueezeExcite::new(wide, inputs / 4),
        conv(wide, outputs, 1, 1, 1)
    ];
    match stride == 1 && inputs == outputs {
        true => seq![Residual::new(body)],
        false => body,
    }
}

pub(super) fn efficient_net() -> Sequential {
    let mut net = seq![conv(3, 32, 3, 2, 1), SiLU];
    // The factor, the outputs, the number of blocks, the first stride, the size of the kernels.
    let levels = [
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ];
    let mut inputs = 32;
    for (factor, outputs, count, stride, size) in levels {
        for i in 0..count {
            let stride = if i == 0 { stride } else { 1 };
            net.push(mb_conv(inputs, outputs, size, stride, factor));
            inputs = outputs;
        }
    }
    net.push(conv(320, 1280, 1, 1, 1));
    net.push(seq![SiLU, AdaptiveAvgPool2d::new(1), Flatten]);
    net.push(seq![Dropout::new(0.2), Linear::new(1280, 10)]);
    net
}
