//! Denoising diffusion (Ho et al., 2020).

use taper::prelude::*;

const TIMES: usize = 1000;

/// Returns sines and cosines of each time: (batch, width).
fn time_embedding(t: &Tensor, width: usize) -> Tensor {
    let half = width / 2;
    let scale = -(10_000f64.ln()) / (half - 1) as f64;
    let frequencies = (arange(0, half as i64).to_dtype(DType::F32) * scale).exp();
    let angles = t.to_dtype(DType::F32).unsqueeze(1) * frequencies.unsqueeze(0);
    cat(&[angles.sin(), angles.cos()], 1)
}

#[derive(Parameters)]
struct ResBlock {
    first: Sequential,
    time: Sequential,
    second: Sequential,
    shortcut: Option<Conv2d>,
}

impl ResBlock {
    fn new(inputs: usize, outputs: usize) -> Self {
        ResBlock {
            first: seq![
                GroupNorm::new(8, inputs),
                SiLU,
                Conv2d::new(inputs, outputs, 3).padding(1)
            ],
            time: seq![SiLU, Linear::new(128, outputs)],
            second: seq![
                GroupNorm::new(8, outputs),
                SiLU,
                Conv2d::new(outputs, outputs, 3).padding(1)
            ],
            shortcut: (inputs != outputs).then(|| Conv2d::new(inputs, outputs, 1)),
        }
    }

    fn forward(&self, x: &Tensor, time: &Tensor) -> Tensor {
        let time = self.time.forward(time).unsqueeze(-1).unsqueeze(-1);
        let h = self.second.forward(&(self.first.forward(x) + time));
        match &self.shortcut {
            Some(shortcut) => h + shortcut.forward(x),
            None => h + x,
        }
    }
}

/// Attention between the pixels.
#[derive(Parameters)]
struct PixelAttention {
    norm: GroupNorm,
    qkv: Conv2d,
    output: Conv2d,
}

impl PixelAttention {
    fn new(channels: usize) -> Self {
        PixelAttention {
            norm: GroupNorm::new(8, channels),
            qkv: Conv2d::new(channels, 3 * channels, 1),
            output: Conv2d::new(channels, channels, 1),
        }
    }
}

impl Layer for PixelAttention {
    fn forward(&self, x: &Tensor) -> Tensor {
        let channels = x.dim(1);
        let qkv = self.qkv.forward(&self.norm.forward(x)).flatten_from(2);
        let qkv = qkv.chunk(3, 1); // each (batch, channels, pixels)
        let scores = qkv[0].t().matmul(&qkv[1]) * (channels as f64).powf(-0.5);
        let y = qkv[2].matmul(&scores.softmax(-1).t());
        x + self.output.forward(&y.reshape(x.dims()))
    }
}

#[derive(Parameters)]
pub(super) struct Diffusion {
    passed: Buffer,
    time: Sequential,
    first: Conv2d,
    down: Vec<(ResBlock, Conv2d)>,
    middle: (ResBlock, PixelAttention, ResBlock),
    up: Vec<(Sequential, ResBlock)>,
    head: Sequential,
}

impl Diffusion {
    pub(super) fn new() -> Self {
        let smaller = |channels| Conv2d::new(channels, channels, 3).stride(2).padding(1);
        let larger = |channels| {
            seq![
                Upsample::new(2.0),
                Conv2d::new(channels, channels, 3).padding(1)
            ]
        };
        Diffusion {
            passed: Buffer::new(&(1.0 - linspace(1e-4, 0.02, TIMES)).cumprod(0)),
            time: seq![Linear::new(32, 128), SiLU, Linear::new(128, 128)],
            first: Conv2d::new(3, 32, 3).padding(1),
            down: vec![
                (ResBlock::new(32, 32), smaller(32)),
                (ResBlock::new(32, 64), smaller(64)),
            ],
            middle: (
                ResBlock::new(64, 128),
                PixelAttention::new(128),
                ResBlock::new(128, 64),
            ),
            up: vec![
                (larger(64), ResBlock::new(128, 32)),
                (larger(32), ResBlock::new(64, 32)),
            ],
            head: seq![
                GroupNorm::new(8, 32),
                SiLU,
                Conv2d::new(32, 3, 3).padding(1)
            ],
        }
    }

    fn noise(&self, x: &Tensor, t: &Tensor) -> Tensor {
        let time = self.time.forward(&time_embedding(t, 32));
        let (mut x, mut levels) = (self.first.forward(x), vec![]);
        for (block, smaller) in &self.down {
            let h = block.forward(&x, &time);
            x = smaller.forward(&h);
            levels.push(h);
        }
        let (before, attention, after) = &self.middle;
        x = attention.forward(&before.forward(&x, &time));
        x = after.forward(&x, &time);
        for (larger, block) in &self.up {
            let level = levels.pop().expect("one level for each block");
            x = block.forward(&cat(&[larger.forward(&x), level], 1), &time);
        }
        self.head.forward(&x)
    }
}

impl Layer for Diffusion {
    /// Returns the loss.
    fn forward(&self, x: &Tensor) -> Tensor {
        let t = randint(0, TIMES as i64, x.dim(0));
        let passed = self
            .passed
            .tensor()
            .index_select(&t, 0)
            .reshape(((), 1, 1, 1));
        let noise = x.randn_like();
        let noisy = x * passed.sqrt() + &noise * (1.0 - passed).sqrt();
        mse_loss(&self.noise(&noisy, &t), &noise)
    }
}
