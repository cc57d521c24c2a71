//! Denoising diffusion (Ho et al., 2020).

use taper::prelude::*;

const TIMES: usize = 1000;

/// Returns sines and cosines of each time: (batch, width).
fn time_embedding(t: &Tensor, width: usize) -> Tensor {
    let half = width / 2;
    let scale = -(10_000f64.ln()) / (half - 1) as f64;
    let angles = t.unsqueeze(1) * (arange(0, half) * scale).exp(); // (batch, half)
    cat(&[angles.sin(), angles.cos()], 1)
}

fn conv(inputs: usize, outputs: usize) -> Conv2d {
    Conv2d::new(inputs, outputs, 3).padding(1)
}

/// A convolution after normalisation and activation.
fn layer(inputs: usize, outputs: usize) -> Sequential {
    seq![GroupNorm::new(8, inputs), SiLU, conv(inputs, outputs)]
}

layer! {
    struct ResBlock(inputs: usize, outputs: usize) {
        first: Sequential = layer(inputs, outputs),
        time = seq![SiLU, Linear::new(128, outputs)],
        second: Sequential = layer(outputs, outputs),
        shortcut: Option<Conv2d> = (inputs != outputs).then(|| Conv2d::new(inputs, outputs, 1)),
    }
    fn forward(&self, x: &Tensor, time: &Tensor) -> Tensor {
        let time = self.time.forward(time).unsqueeze(-1).unsqueeze(-1);
        let h = self.first.forward(x) + time;
        self.second.forward(&h) + self.shortcut.forward(x)
    }
}

layer! {
    /// Attention between the pixels.
    struct PixelAttention(channels: usize) {
        norm = GroupNorm::new(8, channels),
        qkv = Conv2d::new(channels, 3 * channels, 1),
        output = Conv2d::new(channels, channels, 1),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let qkv = self.qkv.forward(&self.norm.forward(x));
        let [query, key, value] = qkv.flatten_from(2).chunks(1); // each (batch, channels, pixels)
        let weights = (query.t().matmul(&key) * (x.dim(1) as f64).powf(-0.5)).softmax(-1);
        let y = value.matmul(&weights.t()).reshape(x.shape());
        x + self.output.forward(&y)
    }
}

layer! {
    pub(super) struct Diffusion {
        passed = Buffer::new(&(1.0 - linspace(1e-4, 0.02, TIMES)).cumprod(0)),
        time = seq![Linear::new(32, 128), SiLU, Linear::new(128, 128)],
        first: Conv2d = conv(3, 32),
        down: [(ResBlock, Conv2d); 2] =
            [32, 64].map(|width| (ResBlock::new(32, width), conv(width, width).stride(2))),
        before = ResBlock::new(64, 128),
        attention = PixelAttention::new(128),
        after = ResBlock::new(128, 64),
        let larger = |width| seq![Upsample::new(2.0), conv(width, width)];
        up: [(Sequential, ResBlock); 2] =
            [64, 32].map(|width| (larger(width), ResBlock::new(2 * width, 32))),
        head: Sequential = layer(32, 3),
    }
    /// Returns the loss.
    fn forward(&self, x: &Tensor) -> Tensor {
        let t = randint(0, TIMES, x.dim(0));
        let passed = self.passed.tensor().i(&t).reshape((-1, 1, 1, 1));
        let noise = x.randn_like();
        let noisy = x * passed.sqrt() + &noise * (1.0 - passed).sqrt();
        mse_loss(&self.noise(&noisy, &t), &noise)
    }
    fn noise(&self, x: &Tensor, t: &Tensor) -> Tensor {
        let time = self.time.forward(&time_embedding(t, 32));
        let (mut x, mut levels) = (self.first.forward(x), vec![]);
        for (block, smaller) in &self.down {
            let h = block.forward(&x, &time);
            x = smaller.forward(&h);
            levels.push(h);
        }
        x = self.attention.forward(&self.before.forward(&x, &time));
        x = self.after.forward(&x, &time);
        for ((larger, block), level) in self.up.iter().zip(levels.iter().rev()) {
            x = block.forward(&cat(&[&larger.forward(&x), level], 1), &time);
        }
        self.head.forward(&x)
    }
}
