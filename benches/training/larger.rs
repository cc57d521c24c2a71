//! More kinds of networks: many channels, groups, concatenation, sequences.

use taper::prelude::*;

pub(crate) fn wide_mlp() -> Sequential {
    seq![
        LazyLinear::new(1024),
        ReLU,
        LazyLinear::new(1024),
        ReLU,
        LazyLinear::new(10)
    ]
}

pub(crate) fn vgg() -> Sequential {
    let block = |channels| {
        seq![
            LazyConv2d::new(channels, 3).padding(1),
            ReLU,
            LazyConv2d::new(channels, 3).padding(1),
            ReLU,
            MaxPool2d::new(2),
        ]
    };
    seq![
        block(32),
        block(64),
        block(128),
        Flatten,
        LazyLinear::new(256),
        ReLU,
        LazyLinear::new(10)
    ]
}

fn conv(channels: usize, size: usize, stride: usize) -> Sequential {
    seq![
        LazyConv2d::new(channels, size)
            .stride(stride)
            .padding(size / 2)
            .bias(false),
        LazyBatchNorm2d::new()
    ]
}

/// Returns a network of depthwise-separable convolutions: first each channel by itself, then all channels of
/// each pixel.
pub(crate) fn depthwise() -> Sequential {
    let block = |inputs: usize, outputs: usize, stride: usize| {
        let apart = Conv2d::new(inputs, inputs, 3)
            .groups(inputs)
            .stride(stride)
            .padding(1)
            .bias(false);
        let (first, second) = (BatchNorm2d::new(inputs), conv(outputs, 1, 1));
        seq![apart, first, ReLU, second, ReLU]
    };
    seq![
        conv(32, 3, 1),
        ReLU,
        block(32, 64, 1),
        block(64, 128, 2),
        block(128, 128, 1),
        block(128, 256, 2),
        AdaptiveAvgPool2d::new(1),
        Flatten,
        LazyLinear::new(10),
    ]
}

/// A residual block: the output of the body is added to the input, or to a shortcut of it.
#[derive(Parameters)]
struct Sum {
    body: Sequential,
    shortcut: Option<Sequential>,
}

impl Layer for Sum {
    fn forward(&self, x: &Tensor) -> Tensor {
        let shortcut = match &self.shortcut {
            Some(shortcut) => shortcut.forward(x),
            None => x.clone(),
        };
        (self.body.forward(x) + shortcut).relu()
    }
}

/// Returns ResNet-18 for small images.
pub(crate) fn resnet18(width: usize) -> Sequential {
    let block = |channels: usize, stride: usize, same: bool| Sum {
        body: seq![conv(channels, 3, stride), ReLU, conv(channels, 3, 1)],
        shortcut: (!same).then(|| conv(channels, 1, stride)),
    };
    let level = |channels: usize, stride: usize| {
        seq![
            block(channels, stride, stride == 1),
            block(channels, 1, true)
        ]
    };
    seq![
        conv(width, 3, 1),
        ReLU,
        level(width, 1),
        level(2 * width, 2),
        level(4 * width, 2),
        level(8 * width, 2),
        AdaptiveAvgPool2d::new(1),
        Flatten,
        LazyLinear::new(10),
    ]
}

/// A dense block: the output of the layers is concatenated to the input.
#[derive(Parameters)]
struct Joined(Sequential);

impl Layer for Joined {
    fn forward(&self, x: &Tensor) -> Tensor {
        cat(&[x, &self.0.forward(x)], 1)
    }
}

pub(crate) fn dense() -> Sequential {
    let joined = || {
        Joined(seq![
            LazyBatchNorm2d::new(),
            ReLU,
            LazyConv2d::new(16, 3).padding(1)
        ])
    };
    let level = |channels| {
        seq![
            joined(),
            joined(),
            joined(),
            joined(),
            LazyBatchNorm2d::new(),
            ReLU,
            LazyConv2d::new(channels, 1),
            AvgPool2d::new(2)
        ]
    };
    seq![
        LazyConv2d::new(32, 3).padding(1),
        level(48),
        level(56),
        LazyBatchNorm2d::new(),
        ReLU,
        AdaptiveAvgPool2d::new(1),
        Flatten,
        LazyLinear::new(10),
    ]
}

/// A U-Net of three levels, each half the size of the one before. The way up concatenates the features of the
/// way down.
#[derive(Parameters)]
pub(crate) struct UNet {
    down: Vec<Sequential>,
    up: Vec<(ConvTranspose2d, Sequential)>,
    head: Conv2d,
}

impl UNet {
    pub(crate) fn new() -> Self {
        let block = |channels| seq![conv(channels, 3, 1), ReLU, conv(channels, 3, 1), ReLU];
        let up = |channels| {
            (
                LazyConvTranspose2d::new(channels, 2).stride(2),
                block(channels),
            )
        };
        UNet {
            down: [16, 32, 64].map(block).into(),
            up: [32, 16].map(up).into(),
            head: LazyConv2d::new(1, 1),
        }
    }
}

impl Layer for UNet {
    fn forward(&self, x: &Tensor) -> Tensor {
        let (mut x, mut levels) = (x.clone(), vec![]);
        for (i, block) in self.down.iter().enumerate() {
            if i > 0 {
                x = MaxPool2d::new(2).forward(&x);
            }
            x = block.forward(&x);
            levels.push(x.clone());
        }
        for ((larger, block), level) in self.up.iter().zip(levels.iter().rev().skip(1)) {
            x = block.forward(&cat(&[level, &larger.forward(&x)], 1));
        }
        self.head.forward(&x)
    }
}

#[derive(Parameters)]
pub(crate) struct Lstm {
    lstm: LSTM,
    head: Linear,
}

impl Lstm {
    pub(crate) fn new() -> Self {
        Lstm {
            lstm: LSTM::new(64, 256).batch_first(true),
            head: Linear::new(256, 10),
        }
    }
}

impl Layer for Lstm {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.lstm.forward(x, None).0; // (batch, steps, 256)
        self.head.forward(&y.i((.., -1)))
    }
}

#[derive(Parameters)]
pub(crate) struct Gpt {
    tokens: Embedding,
    positions: LearnedPositionalEncoding,
    blocks: TransformerEncoder,
    head: Linear,
}

impl Gpt {
    pub(crate) fn new(width: usize) -> Self {
        let block = || {
            let layer = TransformerEncoderLayer::new(width, 4).dim_feedforward(4 * width);
            layer
                .dropout(0.0)
                .activation(GELU)
                .norm_first(true)
                .batch_first(true)
        };
        Gpt {
            tokens: Embedding::new(65, width),
            positions: LearnedPositionalEncoding::new(width / 2, width).batch_first(true),
            blocks: TransformerEncoder::new(4, block).norm(LayerNorm::new(width)),
            head: Linear::new(width, 65).bias(false),
        }
    }
}

impl Layer for Gpt {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.positions.forward(&self.tokens.forward(x)); // (batch, steps, width)
        let x = self.blocks.forward(&x, &AttentionMask::causal());
        self.head.forward(&x).flatten_to(1) // (batch · steps, 65)
    }
}
