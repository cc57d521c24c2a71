//! Networks of images.

use super::{Mean, conv, encoder_layer};
use taper::prelude::*;

#[derive(Parameters)]
pub(super) struct Vit {
    patches: Conv2d,
    positions: Parameter,
    encoder: TransformerEncoder,
    head: Linear,
}

impl Vit {
    pub(super) fn new() -> Self {
        Vit {
            patches: conv(3, 128, 4, 4),
            positions: Parameter::new(&(randn((1, 64, 128)) * 0.02)),
            encoder: TransformerEncoder::new(4, || encoder_layer(128, 512)),
            head: Linear::new(128, 10),
        }
    }
}

impl Layer for Vit {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.patches.forward(x).flatten_from(2).transpose(1, 2) + self.positions.tensor();
        let x = self.encoder.forward(&x, &AttentionMask::none());
        self.head.forward(&x.mean(1))
    }
}

#[derive(Parameters)]
pub(super) struct ConvNext {
    apart: Conv2d,
    pixels: Sequential,
}

impl ConvNext {
    pub(super) fn new() -> Self {
        ConvNext {
            apart: Conv2d::new(64, 64, 7).padding(3).groups(64),
            pixels: seq![
                LayerNorm::new(64),
                Linear::new(64, 256),
                GELU,
                Linear::new(256, 64)
            ],
        }
    }
}

impl Layer for ConvNext {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.apart.forward(x).permute((0, 2, 3, 1)); // (batch, height, width, channels)
        x + self.pixels.forward(&y).permute((0, 3, 1, 2))
    }
}

#[derive(Parameters)]
pub(super) struct Mixer {
    across: Sequential,
    within: Sequential,
}

impl Mixer {
    pub(super) fn new() -> Self {
        Mixer {
            across: seq![Linear::new(64, 128), GELU, Linear::new(128, 64)],
            within: seq![
                LayerNorm::new(128),
                Linear::new(128, 512),
                GELU,
                Linear::new(512, 128)
            ],
        }
    }
}

impl Layer for Mixer {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.across.forward(&x.transpose(1, 2)).transpose(1, 2); // (batch, patches, width)
        &x + self.within.forward(&x)
    }
}

pub(super) fn mixer() -> Sequential {
    let patches = Lambda::new(|x| x.flatten_from(2).transpose(1, 2));
    let mean = Lambda::new(|x| x.mean(1));
    seq![
        conv(3, 128, 4, 4),
        patches,
        Mixer::new(),
        Mixer::new(),
        Mixer::new(),
        Mixer::new(),
        LayerNorm::new(128),
        mean,
        Linear::new(128, 10)
    ]
}

pub(super) fn hard_sigmoid(x: &Tensor) -> Tensor {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

/// Weights each channel by what its mean says.
#[derive(Parameters)]
pub(super) struct SqueezeExcite(Conv2d, Conv2d);

impl Layer for SqueezeExcite {
    fn forward(&self, x: &Tensor) -> Tensor {
        let mean = x.mean_keepdim((2, 3)); // (batch, channels, 1, 1)
        x * hard_sigmoid(&self.1.forward(&self.0.forward(&mean).relu()))
    }
}

#[derive(Parameters)]
pub(super) struct Inverted {
    wide: Sequential,
    apart: Sequential,
    weights: SqueezeExcite,
    narrow: Sequential,
}

impl Inverted {
    pub(super) fn new(channels: usize, size: usize) -> Self {
        let wide = 4 * channels;
        let apart = Conv2d::new(wide, wide, size)
            .padding(size / 2)
            .groups(wide)
            .bias(false);
        Inverted {
            wide: seq![
                conv(channels, wide, 1, 1).bias(false),
                BatchNorm2d::new(wide)
            ],
            apart: seq![apart, BatchNorm2d::new(wide)],
            weights: SqueezeExcite(conv(wide, channels, 1, 1), conv(channels, wide, 1, 1)),
            narrow: seq![
                conv(wide, channels, 1, 1).bias(false),
                BatchNorm2d::new(channels)
            ],
        }
    }
}

impl Layer for Inverted {
    fn forward(&self, x: &Tensor) -> Tensor {
        let hard_swish = |x: Tensor| &x * hard_sigmoid(&x);
        let y = hard_swish(self.wide.forward(x));
        let y = self.weights.forward(&hard_swish(self.apart.forward(&y)));
        x + self.narrow.forward(&y)
    }
}

pub(super) fn mobilenet_v3() -> Sequential {
    seq![
        conv(3, 32, 3, 2).padding(1),
        Inverted::new(32, 3),
        Inverted::new(32, 5),
        Inverted::new(32, 5),
        Mean,
        Linear::new(32, 10)
    ]
}

#[derive(Parameters)]
pub(super) struct Gan {
    generator: Sequential,
    critic: Sequential,
}

impl Gan {
    pub(super) fn new() -> Self {
        let up = |inputs, outputs| {
            ConvTranspose2d::new(inputs, outputs, 4)
                .stride(2)
                .padding(1)
                .bias(false)
        };
        let down = |inputs, outputs| {
            Conv2d::new(inputs, outputs, 4)
                .stride(2)
                .padding(1)
                .bias(false)
        };
        Gan {
            generator: seq![
                ConvTranspose2d::new(64, 128, 4).bias(false),
                BatchNorm2d::new(128),
                ReLU,
                up(128, 64),
                BatchNorm2d::new(64),
                ReLU,
                up(64, 32),
                BatchNorm2d::new(32),
                ReLU,
                up(32, 1),
                Tanh
            ],
            critic: seq![
                down(1, 32),
                LeakyReLU::new().negative_slope(0.2),
                down(32, 64),
                BatchNorm2d::new(64),
                LeakyReLU::new().negative_slope(0.2),
                down(64, 128),
                BatchNorm2d::new(128),
                LeakyReLU::new().negative_slope(0.2),
                Conv2d::new(128, 1, 4),
                Flatten
            ],
        }
    }
}

impl Layer for Gan {
    /// Returns the sum of both losses.
    fn forward(&self, x: &Tensor) -> Tensor {
        let false_images = self
            .generator
            .forward(&randn((x.dim(0), 64, 1, 1)).to_device(x.device()));
        let (yes, no) = (ones((x.dim(0), 1)), zeros((x.dim(0), 1)));
        let critic = bce_with_logits(&self.critic.forward(x), &yes)
            + bce_with_logits(&self.critic.forward(&false_images.detach()), &no);
        critic + bce_with_logits(&self.critic.forward(&false_images), &yes)
    }
}

/// A residual block with instance normalisation and reflected borders.
#[derive(Parameters)]
pub(super) struct StyleBlock(pub(super) Sequential);

impl Layer for StyleBlock {
    fn forward(&self, x: &Tensor) -> Tensor {
        x + self.0.forward(x)
    }
}

pub(super) fn style() -> Sequential {
    let reflected = |inputs: usize, outputs: usize, size: usize, stride: usize| {
        conv(inputs, outputs, size, stride)
            .padding(size / 2)
            .padding_mode(PaddingMode::Reflect)
    };
    let layer = |inputs, outputs, size, stride| {
        seq![
            reflected(inputs, outputs, size, stride),
            InstanceNorm2d::new(outputs).affine(true),
            ReLU
        ]
    };
    let block = || {
        StyleBlock(seq![
            layer(64, 64, 3, 1),
            reflected(64, 64, 3, 1),
            InstanceNorm2d::new(64).affine(true)
        ])
    };
    let up = |inputs, outputs| seq![Upsample::new(2.0), layer(inputs, outputs, 3, 1)];
    seq![
        layer(3, 16, 9, 1),
        layer(16, 32, 3, 2),
        layer(32, 64, 3, 2),
        block(),
        block(),
        block(),
        up(64, 32),
        up(32, 16),
        reflected(16, 3, 9, 1)
    ]
}

pub(super) fn super_resolution() -> Sequential {
    seq![
        conv(1, 64, 5, 1).padding(2),
        ReLU,
        conv(64, 64, 3, 1).padding(1),
        ReLU,
        conv(64, 32, 3, 1).padding(1),
        ReLU,
        conv(32, 9, 3, 1).padding(1),
        PixelShuffle::new(3)
    ]
}

#[derive(Parameters)]
pub(super) struct Bottleneck(pub(super) Sequential);

impl Bottleneck {
    pub(super) fn new() -> Self {
        Bottleneck(seq![
            conv(256, 64, 1, 1).bias(false),
            BatchNorm2d::new(64),
            ReLU,
            conv(64, 64, 3, 1).padding(1).bias(false),
            BatchNorm2d::new(64),
            ReLU,
            conv(64, 256, 1, 1).bias(false),
            BatchNorm2d::new(256)
        ])
    }
}

impl Layer for Bottleneck {
    fn forward(&self, x: &Tensor) -> Tensor {
        (x + self.0.forward(x)).relu()
    }
}
