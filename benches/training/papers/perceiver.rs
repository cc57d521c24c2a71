//! Perceiver (Jaegle et al., 2021).

use taper::prelude::*;

/// Attention of `x` to `context`, after a normalisation, as a residual.
#[derive(Parameters)]
struct Attention {
    norm: LayerNorm,
    norm_context: Option<LayerNorm>,
    query: Linear,
    key_value: Linear,
    output: Linear,
    heads: usize,
}

impl Attention {
    fn new(width: usize, context: Option<usize>, heads: usize) -> Self {
        Attention {
            norm: LayerNorm::new(width),
            norm_context: context.map(LayerNorm::new),
            query: Linear::new(width, width).bias(false),
            key_value: Linear::new(context.unwrap_or(width), 2 * width).bias(false),
            output: Linear::new(width, width),
            heads,
        }
    }

    fn forward(&self, x: &Tensor, context: &Tensor) -> Tensor {
        let y = self.norm.forward(x);
        let context = match &self.norm_context {
            Some(norm) => norm.forward(context),
            None => y.clone(),
        };
        let (batch, steps, width) = x.dims3();
        let each = width / self.heads;
        let split = |x: &Tensor| {
            x.reshape((batch, x.dim(1), self.heads, each))
                .transpose(1, 2)
        };
        let query = split(&self.query.forward(&y)); // (batch, heads, latents, each)
        let parts = self.key_value.forward(&context).chunk(2, -1);
        let (key, value) = (split(&parts[0]), split(&parts[1]));
        let weights = (query.matmul(&key.t()) * (each as f64).powf(-0.5)).softmax(-1);
        let y = weights.matmul(&value).transpose(1, 2);
        x + self.output.forward(&y.reshape((batch, steps, width)))
    }
}

/// A network for each position, with a gated GELU.
#[derive(Parameters)]
struct FeedForward {
    norm: LayerNorm,
    first: Linear,
    second: Linear,
}

impl FeedForward {
    fn new(width: usize) -> Self {
        FeedForward {
            norm: LayerNorm::new(width),
            first: Linear::new(width, 8 * width),
            second: Linear::new(4 * width, width),
        }
    }
}

impl Layer for FeedForward {
    fn forward(&self, x: &Tensor) -> Tensor {
        let parts = self.first.forward(&self.norm.forward(x)).chunk(2, -1);
        x + self.second.forward(&(&parts[0] * parts[1].gelu()))
    }
}

#[derive(Parameters)]
pub(super) struct Perceiver {
    latents: Parameter,
    positions: Parameter,
    cross: Vec<(Attention, FeedForward)>,
    within: Vec<(Attention, FeedForward)>,
    norm: LayerNorm,
    head: Linear,
}

impl Perceiver {
    pub(super) fn new() -> Self {
        let layer = |context, heads| (Attention::new(128, context, heads), FeedForward::new(128));
        Perceiver {
            latents: Parameter::new(&(randn((16, 128)) * 0.02)),
            positions: Parameter::new(&(randn((512, 64)) * 0.02)),
            cross: (0..3).map(|_| layer(Some(64), 1)).collect(),
            within: (0..3).map(|_| layer(None, 8)).collect(),
            norm: LayerNorm::new(128),
            head: Linear::new(128, 10),
        }
    }
}

impl Layer for Perceiver {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.positions.tensor(); // (batch, 512, 64)
        let mut z = self.latents.tensor().broadcast_as((x.dim(0), 16, 128));
        for (cross, within) in self.cross.iter().zip(&self.within) {
            z = cross.1.forward(&cross.0.forward(&z, &x));
            z = within.1.forward(&within.0.forward(&z, &z));
        }
        self.head.forward(&self.norm.forward(&z.mean(1)))
    }
}
