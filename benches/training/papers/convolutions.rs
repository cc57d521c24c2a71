//! Convolutions: a temporal network (Bai et al., 2018), U-Net (Ronneberger et al., 2015), and odd sizes.

use taper::prelude::*;

layer! {
    /// A convolution that sees only the steps before, with the weight normalised.
    struct Causal(inputs: usize, outputs: usize, dilation: usize) {
        let conv = Conv1d::new(inputs, outputs, 3).padding(2 * dilation);
        conv = WeightNorm::new(conv.dilation(dilation)),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        self.conv.forward(x).i((.., .., ..x.dim(2))).contiguous()
    }
}

fn temporal_block(inputs: usize, outputs: usize, dilation: usize) -> Sequential {
    let layer = |inputs| {
        let conv = Causal::new(inputs, outputs, dilation);
        seq![conv, ReLU, Dropout::new(0.1)]
    };
    let body = seq![layer(inputs), layer(outputs)];
    let shortcut = (inputs != outputs).then(|| Conv1d::new(inputs, outputs, 1));
    seq![Residual::new(body).shortcut(shortcut), ReLU]
}

pub(super) fn tcn() -> Sequential {
    let level = |i: usize| temporal_block(if i == 0 { 16 } else { 32 }, 32, 1 << i);
    let blocks: Sequential = (0..6).map(level).collect();
    seq![
        blocks,
        Lambda::new(|x| x.i((.., .., -1))),
        Linear::new(32, 10)
    ]
}

fn block(inputs: usize, outputs: usize) -> Sequential {
    let conv = |inputs| Conv2d::new(inputs, outputs, 3).padding(1);
    seq![conv(inputs), ReLU, conv(outputs), ReLU]
}

layer! {
    pub(super) struct UNet {
        down: Vec<Sequential> = vec![block(1, 16), block(16, 32), block(32, 64), block(64, 128)],
        larger: [ConvTranspose2d; 3] =
            [64, 32, 16].map(|n| ConvTranspose2d::new(2 * n, n, 2).stride(2)),
        up: [Sequential; 3] = [64, 32, 16].map(|n| block(2 * n, n)),
        head = Conv2d::new(16, 1, 1),
        pool = MaxPool2d::new(2),
    }
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
        for ((larger, block), level) in self.larger.iter().zip(&self.up).zip(levels.iter().rev()) {
            x = block.forward(&cat(&[level, &larger.forward(&x)], 1));
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
