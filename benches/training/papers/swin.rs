//! Swin Transformer (Liu et al., 2021).

use taper::prelude::*;

const WINDOW: usize = 4;

/// Returns the windows of feature maps: (batch · windows, 16, channels).
fn windows(x: &Tensor) -> Tensor {
    let (batch, height, width, channels) = x.dims4();
    x.reshape(vec![
        batch,
        height / WINDOW,
        WINDOW,
        width / WINDOW,
        WINDOW,
        channels,
    ])
    .permute([0, 1, 3, 2, 4, 5])
    .reshape(((), WINDOW * WINDOW, channels))
}

/// Returns the feature maps of such windows.
fn joined(x: &Tensor, height: usize, width: usize) -> Tensor {
    let channels = x.dim(-1);
    let batch = x.dim(0) * WINDOW * WINDOW / (height * width);
    x.reshape(vec![
        batch,
        height / WINDOW,
        width / WINDOW,
        WINDOW,
        WINDOW,
        channels,
    ])
    .permute([0, 1, 3, 2, 4, 5])
    .reshape((batch, height, width, channels))
}

/// Returns for each pair of pixels in a window the row of their distance in the table of biases.
fn distances() -> Tensor {
    let size = WINDOW as i64;
    let at = |i: i64| (i / size, i % size);
    let rows = (0..size * size).map(|i| {
        let row = (0..size * size).map(|j| {
            let ((y, x), (v, u)) = (at(i), at(j));
            (y - v + size - 1) * (2 * size - 1) + x - u + size - 1
        });
        row.collect::<Vec<i64>>()
    });
    tensor(rows.flatten().collect::<Vec<i64>>())
}

/// Returns what is added to the scores of shifted windows: −100 between pixels that were not neighbours.
fn shift_mask(side: usize, shift: usize) -> Tensor {
    let part = |i: usize| (i >= side - WINDOW) as i64 + (i >= side - shift) as i64;
    let parts = (0..side * side).map(|i| 3 * part(i / side) + part(i % side));
    let parts = tensor(parts.collect::<Vec<i64>>()).reshape((1, side, side, 1));
    let parts = windows(&parts).squeeze(-1); // (windows, 16)
    let apart = parts.unsqueeze(1).ne(parts.unsqueeze(2));
    apart.to_dtype(DType::F32) * -100.0
}

#[derive(Parameters)]
struct SwinBlock {
    norm: LayerNorm,
    qkv: Linear,
    biases: Parameter,
    distances: Buffer,
    mask: Option<Buffer>,
    output: Linear,
    pixels: Sequential,
    heads: usize,
    shift: usize,
}

impl SwinBlock {
    fn new(side: usize, width: usize, heads: usize, shift: usize) -> Self {
        SwinBlock {
            norm: LayerNorm::new(width),
            qkv: Linear::new(width, 3 * width),
            biases: Parameter::new(&(randn(((2 * WINDOW - 1).pow(2), heads)) * 0.02)),
            distances: Buffer::new(&distances()),
            mask: (shift > 0).then(|| Buffer::new(&shift_mask(side, shift))),
            output: Linear::new(width, width),
            pixels: seq![
                LayerNorm::new(width),
                Linear::new(width, 4 * width),
                GELU,
                Linear::new(4 * width, width)
            ],
            heads,
            shift,
        }
    }

    /// Attention within windows.
    fn attention(&self, x: &Tensor) -> Tensor {
        let (count, pixels, width) = x.dims3();
        let qkv = self.qkv.forward(x);
        let qkv = qkv.reshape((count, pixels, 3, self.heads, width / self.heads));
        let qkv = qkv.permute((2, 0, 3, 1, 4)); // (3, windows, heads, pixels, each)
        let (query, key, value) = (qkv.i(0), qkv.i(1), qkv.i(2));
        let scale = ((width / self.heads) as f64).powf(-0.5);
        let biases = self
            .biases
            .tensor()
            .index_select(&self.distances.tensor(), 0);
        let biases = biases
            .reshape((pixels, pixels, self.heads))
            .permute((2, 0, 1));
        let mut scores = (query * scale).matmul(&key.t()) + biases; // (windows, heads, pixels, pixels)
        if let Some(mask) = &self.mask {
            let mask = mask.tensor();
            let each = mask.dim(0);
            let shape = (count / each, each, self.heads, pixels, pixels);
            scores = (scores.reshape(shape) + mask.unsqueeze(1).unsqueeze(0)).flatten_to(1);
        }
        let y = scores.softmax(-1).matmul(&value).transpose(1, 2);
        self.output.forward(&y.reshape((count, pixels, width)))
    }
}

impl Layer for SwinBlock {
    fn forward(&self, x: &Tensor) -> Tensor {
        let (_, height, width, _) = x.dims4();
        let shift = self.shift as i64;
        let mut y = self.norm.forward(x);
        if shift > 0 {
            y = y.roll(-shift, 1).roll(-shift, 2);
        }
        let mut y = joined(&self.attention(&windows(&y)), height, width);
        if shift > 0 {
            y = y.roll(shift, 1).roll(shift, 2);
        }
        let x = x + y;
        &x + self.pixels.forward(&x)
    }
}

/// Joins each four neighbours.
#[derive(Parameters)]
struct Merging {
    norm: LayerNorm,
    linear: Linear,
}

impl Layer for Merging {
    fn forward(&self, x: &Tensor) -> Tensor {
        let (batch, height, width, channels) = x.dims4();
        let x = x.reshape(vec![batch, height / 2, 2, width / 2, 2, channels]);
        let x = x.permute([0, 1, 3, 4, 2, 5]);
        let x = x.reshape((batch, height / 2, width / 2, 4 * channels));
        self.linear.forward(&self.norm.forward(&x))
    }
}

#[derive(Parameters)]
pub(super) struct Swin {
    patches: Conv2d,
    body: Sequential,
    norm: LayerNorm,
    head: Linear,
}

impl Swin {
    pub(super) fn new() -> Self {
        Swin {
            patches: Conv2d::new(3, 64, 2).stride(2),
            body: seq![
                SwinBlock::new(16, 64, 2, 0),
                SwinBlock::new(16, 64, 2, WINDOW / 2),
                Merging {
                    norm: LayerNorm::new(256),
                    linear: Linear::new(256, 128).bias(false)
                },
                SwinBlock::new(8, 128, 4, 0),
                SwinBlock::new(8, 128, 4, WINDOW / 2)
            ],
            norm: LayerNorm::new(128),
            head: Linear::new(128, 10),
        }
    }
}

impl Layer for Swin {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.patches.forward(x).permute((0, 2, 3, 1)); // (batch, 16, 16, 64)
        let x = self.norm.forward(&self.body.forward(&x));
        self.head.forward(&x.mean((1, 2)))
    }
}
