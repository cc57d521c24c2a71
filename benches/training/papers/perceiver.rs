//! Perceiver (Jaegle et al., 2021).

use taper::prelude::*;

layer! {
    /// Attention of `x` to `context`, after a normalisation, as a residual.
    struct Attention(width: usize, context: Option<usize>, heads: usize) {
        norm = LayerNorm::new(width),
        norm_context: Option<LayerNorm> = context.map(LayerNorm::new),
        query = Linear::new(width, width).bias(false),
        key_value = Linear::new(context.unwrap_or(width), 2 * width).bias(false),
        output = Linear::new(width, width),
        heads: usize,
    }
    fn forward(&self, x: &Tensor, context: &Tensor) -> Tensor {
        let y = self.norm.forward(x);
        let context = match &self.norm_context {
            Some(norm) => norm.forward(context),
            None => y.clone(),
        };
        let batch = x.dim(0);
        let split = |x: Tensor| x.reshape((batch, x.dim(1), self.heads, -1)).transpose(1, 2);
        let query = split(self.query.forward(&y)); // (batch, heads, latents, each)
        let [key, value] = self.key_value.forward(&context).chunks(-1).map(split);
        let weights = (query.matmul(&key.t()) * (query.dim(-1) as f64).powf(-0.5)).softmax(-1);
        let y = weights.matmul(&value).transpose(1, 2).flatten_from(2);
        x + self.output.forward(&y)
    }
}

layer! {
    /// A network for each position, with a gated GELU.
    struct FeedForward(width: usize) {
        norm = LayerNorm::new(width),
        first = Linear::new(width, 8 * width),
        second = Linear::new(4 * width, width),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let [values, gate] = self.first.forward(&self.norm.forward(x)).chunks(-1);
        x + self.second.forward(&(values * gate.gelu()))
    }
}

fn block(context: Option<usize>, heads: usize) -> (Attention, FeedForward) {
    (Attention::new(128, context, heads), FeedForward::new(128))
}

layer! {
    pub(super) struct Perceiver {
        latents = Parameter::new(&(randn((16, 128)) * 0.02)),
        positions = Parameter::new(&(randn((512, 64)) * 0.02)),
        cross: Vec<(Attention, FeedForward)> = (0..3).map(|_| block(Some(64), 1)).collect(),
        within: Vec<(Attention, FeedForward)> = (0..3).map(|_| block(None, 8)).collect(),
        norm = LayerNorm::new(128),
        head = Linear::new(128, 10),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut z = self.latents.tensor().broadcast_as((x.dim(0), -1, -1));
        let x = x + self.positions.tensor(); // (batch, 512, 64)
        for (cross, within) in self.cross.iter().zip(&self.within) {
            z = cross.1.forward(&cross.0.forward(&z, &x));
            z = within.1.forward(&within.0.forward(&z, &z));
        }
        self.head.forward(&self.norm.forward(&z.mean(1)))
    }
}
