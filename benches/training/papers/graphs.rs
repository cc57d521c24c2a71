//! Graph attention (Veličković et al., 2018).

use taper::prelude::*;

layer! {
    struct GatLayer(inputs: usize, heads: usize, width: usize) {
        let vector = || Parameter::new(&(randn((1, heads, width)) * 0.1));
        linear = Linear::new(inputs, heads * width).bias(false),
        source: Parameter = vector(),
        target: Parameter = vector(),
        heads: usize,
        width: usize,
    }
    fn forward(&self, x: &Tensor, from: &Tensor, to: &Tensor) -> Tensor {
        let h = self.linear.forward(x);
        let h = h.reshape((-1, self.heads, self.width)); // (nodes, heads, width)
        let source = (&h * self.source.tensor()).sum(-1); // (nodes, heads)
        let target = (&h * self.target.tensor()).sum(-1);
        let scores = source.index_select(from, 0) + target.index_select(to, 0); // (edges, heads)
        let scores = leaky_relu(&scores, 0.2);
        let exps = (&scores - scores.max_all().detach()).exp();
        let each = to.unsqueeze(1).broadcast_as(exps.shape());
        let sums = source.zeros_like().scatter_add(&each, &exps, 0); // (nodes, heads)
        let weights = exps / (sums.index_select(to, 0) + 1e-16);
        let messages = h.index_select(from, 0) * weights.unsqueeze(-1); // (edges, heads, width)
        let each = to.reshape((-1, 1, 1)).broadcast_as(messages.shape());
        h.zeros_like().scatter_add(&each, &messages, 0)
    }
}

layer! {
    /// The graph has 1000 nodes and 5000 edges.
    pub(super) struct Gat {
        first = GatLayer::new(128, 4, 16),
        second = GatLayer::new(64, 4, 7),
        from = Buffer::new(&randint(0, 1000, 5000)),
        to = Buffer::new(&randint(0, 1000, 5000)),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let (from, to) = (self.from.tensor(), self.to.tensor());
        let h = self.first.forward(x, &from, &to).flatten_from(1).elu();
        self.second.forward(&h, &from, &to).mean(1) // (nodes, classes)
    }
}
