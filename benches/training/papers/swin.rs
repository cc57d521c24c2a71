//! Swin Transformer (Liu et al., 2021).

use taper::prelude::*;

const WINDOW: usize = 4;

/// Returns the windows of feature maps: (batch · windows, 16, channels).
fn windows(x: &Tensor) -> Tensor {
    let (batch, _, width, channels) = x.dims4();
    let x = x.reshape((batch, -1, WINDOW, width / WINDOW, WINDOW, channels));
    x.transpose(2, 3).flatten(3, 4).flatten_to(2)
}

/// Returns the feature maps of such windows.
fn joined(x: &Tensor, height: usize, width: usize) -> Tensor {
    let (rows, columns) = (height / WINDOW, width / WINDOW);
    let x = x.reshape((-1, rows, columns, WINDOW, WINDOW, x.dim(-1)));
    x.transpose(2, 3).flatten(3, 4).flatten(1, 2)
}

/// Returns for each pair of pixels in a window the row of their distance in the table of biases.
fn distances() -> Tensor {
    let side = arange(0, WINDOW);
    let apart = |at: Tensor| at.unsqueeze(1) - at.unsqueeze(0) + (WINDOW - 1); // (16, 16)
    let rows = apart(side.repeat_interleave(WINDOW, 0));
    (rows * (2 * WINDOW - 1) + apart(side.repeat(WINDOW))).flatten_all()
}

/// Returns what is added to the scores of shifted windows: −100 between pixels that were not neighbours.
fn shift_mask(side: usize, shift: usize) -> Tensor {
    let at = arange(0, side);
    let part = at.ge(side - WINDOW) + at.ge(side - shift);
    let parts = (part.unsqueeze(1) * 3 + part).reshape((1, side, side, 1));
    let parts = windows(&parts).squeeze(-1); // (windows, 16)
    parts.unsqueeze(1).ne(parts.unsqueeze(2)) * -100.0
}

layer! {
    struct SwinBlock(side: usize, width: usize, heads: usize, shift: usize) {
        norm = LayerNorm::new(width),
        qkv = Linear::new(width, 3 * width),
        biases = Parameter::new(&(randn(((2 * WINDOW - 1).pow(2), heads)) * 0.02)),
        distances = Buffer::new(&distances()),
        mask: Option<Buffer> = (shift > 0).then(|| Buffer::new(&shift_mask(side, shift))),
        output = Linear::new(width, width),
        pixels = seq![
            LayerNorm::new(width),
            Linear::new(width, 4 * width),
            GELU,
            Linear::new(4 * width, width)
        ],
        heads: usize,
        shift: i64 = shift as i64,
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let (_, height, width, _) = x.dims4();
        let y = self.norm.forward(x).roll([-self.shift; 2], (1, 2));
        let y = joined(&self.attention(&windows(&y)), height, width);
        let x = x + y.roll([self.shift; 2], (1, 2));
        &x + self.pixels.forward(&x)
    }
    /// Attention within windows.
    fn attention(&self, x: &Tensor) -> Tensor {
        let (count, pixels, width) = x.dims3();
        let qkv = self.qkv.forward(x);
        let qkv = qkv.reshape((count, pixels, 3, self.heads, -1));
        let qkv = qkv.permute((2, 0, 3, 1, 4)); // (3, windows, heads, pixels, each)
        let (query, key, value) = (qkv.i(0), qkv.i(1), qkv.i(2));
        let scale = ((width / self.heads) as f64).powf(-0.5);
        let biases = self.biases.tensor().i(&self.distances.tensor());
        let biases = biases.reshape((pixels, pixels, -1)).permute((2, 0, 1));
        let mut scores = (query * scale).matmul(&key.t()) + biases; // (windows, heads, pixels, pixels)
        if let Some(mask) = &self.mask {
            let mask = mask.tensor().unsqueeze(1); // (windows of an image, 1, pixels, pixels)
            let scores_of_each = scores.reshape((-1, mask.dim(0), self.heads, pixels, pixels));
            scores = (scores_of_each + mask).flatten_to(1);
        }
        let y = scores.softmax(-1).matmul(&value).transpose(1, 2);
        self.output.forward(&y.flatten_from(2))
    }
}

layer! {
    /// Joins each four neighbours.
    struct Merging(width: usize) {
        norm = LayerNorm::new(4 * width),
        linear = Linear::new(4 * width, 2 * width).bias(false),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let (batch, height, width, channels) = x.dims4();
        let x = x.reshape((batch, height / 2, 2, width / 2, 2, channels));
        let x = x.permute([0, 1, 3, 4, 2, 5]).flatten_from(3);
        self.linear.forward(&self.norm.forward(&x))
    }
}

pub(super) fn swin() -> Sequential {
    seq![
        Conv2d::new(3, 64, 2).stride(2),
        Lambda::new(|x| x.permute((0, 2, 3, 1))),
        SwinBlock::new(16, 64, 2, 0),
        SwinBlock::new(16, 64, 2, WINDOW / 2),
        Merging::new(64),
        SwinBlock::new(8, 128, 4, 0),
        SwinBlock::new(8, 128, 4, WINDOW / 2),
        LayerNorm::new(128),
        Lambda::new(|x| x.mean((1, 2))),
        Linear::new(128, 10)
    ]
}
