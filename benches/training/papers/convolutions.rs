//! Convolutions: a temporal network (Bai et al., 2018), U-Net (Ronneberger et al., 2015), and odd sizes.

use taper::prelude::*;

/// A convolution that sees only the steps before, with the weight normalised.
#[derive(Parameters)]
struct Causal {
    conv: WeightNorm,
    padding: usize,
}

impl Causal {
    fn new(inputs: usize, outputs: usize, dilation: usize) -> Self {
        let padding = 2 * dilation;
        let conv = Conv1d::new(inputs, outputs, 3).dilation(dilation);
        Causal {
            conv: WeightNorm::new(conv.padding(padding)),
            padding,
        }
    }
}

impl Layer for Causal {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.conv.forward(x);
        y.i((.., .., ..y.dim(2) - self.padding)).contiguous()
    }
}

#[derive(Parameters)]
struct TemporalBlock {
    body: Sequential,
    shortcut: Option<Conv1d>,
}

impl TemporalBlock {
    fn new(inputs: usize, outputs: usize, dilation: usize) -> Self {
        TemporalBlock {
            body: seq![
                Causal::new(inputs, outputs, dilation),
                ReLU,
                Dropout::new(0.1),
                Causal::new(outputs, outputs, dilation),
                ReLU,
                Dropout::new(0.1)
            ],
            shortcut: (inputs != outputs).then(|| Conv1d::new(inputs, outputs, 1)),
        }
    }
}

impl Layer for TemporalBlock {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.body.forward(x);
        match &self.shortcut {
            Some(shortcut) => (y + shortcut.forward(x)).relu(),
            None => (y + x).relu(),
        }
    }
}

pub(super) fn tcn() -> Sequential {
    let mut net = seq![];
    for level in 0..6 {
        let inputs = if level == 0 { 16 } else { 32 };
        net.push(TemporalBlock::new(inputs, 32, 1 << level));
    }
    net.push(Lambda::new(|x| x.i((.., .., -1))));
    net.push(Linear::new(32, 10));
    net
}

#[derive(Parameters)]
pub(super) struct UNet {
    down: Vec<Sequential>,
    larger: Vec<ConvTranspose2d>,
    up: Vec<Sequential>,
    head: Conv2d,
    pool: MaxPool2d,
}

impl UNet {
    pub(super) fn new() -> Self {
        let block = |inputs, outputs| {
            seq![
                Conv2d::new(inputs, outputs, 3).padding(1),
                ReLU,
                Conv2d::new(outputs, outputs, 3).padding(1),
                ReLU
            ]
        };
        let larger = |outputs| ConvTranspose2d::new(2 * outputs, outputs, 2).stride(2);
        UNet {
            down: vec![block(1, 16), block(16, 32), block(32, 64), block(64, 128)],
            larger: [64, 32, 16].map(larger).into(),
            up: [64, 32, 16]
                .map(|outputs| block(2 * outputs, outputs))
                .into(),
            head: Conv2d::new(16, 1, 1),
            pool: MaxPool2d::new(2),
        }
    }
}

impl Layer for UNet {
    /// Returns the loss for an empty mask.
    fn forward(&self, x: &Tensor) -> Tensor {
        let (mut x, mut levels) = (x.clone(), vec![]);
        for (i, block) in self.down.iter().enumerate() {
            if i > 0 {
                levels.push(x.clone());
                x = self.pool.forward(&x);
            }
            x = block.forward(&x);
        }
        for (larger, block) in self.larger.iter().zip(&self.up) {
            let level = levels.pop().expect("one level for each block");
            x = block.forward(&cat(&[level, larger.forward(&x)], 1));
        }
        let y = self.head.forward(&x);
        bce_with_logits(&y, &y.zeros_like())
    }
}

pub(super) fn odd_sizes() -> Sequential {
    let block = |inputs, outputs, stride| {
        let conv = Conv2d::new(inputs, outputs, 3).stride(stride).padding(1);
        seq![conv, BatchNorm2d::new(outputs), ReLU]
    };
    seq![
        block(3, 13, 1),
        block(13, 27, 2),
        block(27, 51, 2),
        block(51, 51, 1),
        AdaptiveAvgPool2d::new(1),
        Flatten,
        Linear::new(51, 7)
    ]
}
