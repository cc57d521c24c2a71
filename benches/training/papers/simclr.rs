//! SimCLR (Chen et al., 2020).

use taper::prelude::*;

/// Returns images with another brightness and noise, half of them mirrored.
fn augmented(x: &Tensor) -> Tensor {
    let scale = rand((x.dim(0), 1, 1, 1)) * 0.8 + 0.6;
    let mirrored = rand((x.dim(0), 1, 1, 1)).lt(0.5);
    let x = mirrored.where_cond(x.flip(-1), x);
    &x * scale + x.randn_like() * 0.1
}

/// Returns the normalised temperature-scaled cross-entropy; image `i` belongs to `i + n / 2`.
fn nt_xent(z: &Tensor, temperature: f64) -> Tensor {
    let cosines = z.unsqueeze(1).cosine_similarity(&z.unsqueeze(0), -1); // (n, n)
    let same = eye(z.dim(0)).gt(0.5);
    let logits = cosines.masked_fill(&same, -9e15) / temperature;
    (logits.logsumexp(-1) - logits.i(&same.roll(z.dim(0) / 2, 0))).mean_all()
}

fn block(inputs: usize, outputs: usize, stride: usize) -> Sequential {
    let conv = Conv2d::new(inputs, outputs, 3).stride(stride).padding(1);
    seq![conv.bias(false), BatchNorm2d::new(outputs), ReLU]
}

layer! {
    pub(super) struct SimClr {
        encoder = seq![
            block(3, 32, 1),
            block(32, 64, 2),
            block(64, 128, 2),
            AdaptiveAvgPool2d::new(1),
            Flatten
        ],
        head = seq![Linear::new(128, 128), ReLU, Linear::new(128, 64)],
    }
    /// Returns the loss.
    fn forward(&self, x: &Tensor) -> Tensor {
        let views = cat(&[augmented(x), augmented(x)], 0);
        nt_xent(&self.head.forward(&self.encoder.forward(&views)), 0.07)
    }
}
