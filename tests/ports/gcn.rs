//! A graph convolutional network.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct GraphConv {
    linear: Linear,
}

impl GraphConv {
    fn forward(&self, x: &Tensor, adjacency: &Tensor) -> Tensor {
        adjacency.matmul(&self.linear.forward(x))
    }
}

#[derive(Parameters)]
struct Gcn {
    first: GraphConv,
    second: GraphConv,
}

impl Gcn {
    fn new(features: usize, hidden: usize, classes: usize) -> Self {
        let layer = |inputs, outputs| GraphConv { linear: Linear::new(inputs, outputs) };
        Gcn { first: layer(features, hidden), second: layer(hidden, classes) }
    }

    fn forward(&self, x: &Tensor, adjacency: &Tensor) -> Tensor {
        self.second.forward(&self.first.forward(x, adjacency).relu(), adjacency)
    }
}

/// Adds loops, and divides by the roots of the degrees.
fn normalized(adjacency: &Tensor) -> Tensor {
    let looped = adjacency + eye(adjacency.dim(0));
    let root = looped.sum(1).sqrt();
    &looped / root.unsqueeze(0) / root.unsqueeze(1)
}
// end

/// Returns a random graph of 24 nodes with their features, and classes of which some are known.
pub(crate) fn graph() -> [Tensor; 4] {
    let edges = rand((24, 24)).gt(0.8).to_dtype(DType::F32);
    let adjacency = edges.maximum(edges.t()) * (1.0 - eye(24));
    let (x, y) = (randn((24, 8)), randint(0, 3, 24));
    [adjacency, x, y, arange(0, 12)]
}

#[test]
fn gcn() {
    compare("gcn", |run| {
        let [adjacency, x, y, known] = graph();
        let model = Gcn::new(8, 16, 3);
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.01).weight_decay(5e-4);
        for _ in 0..STEPS {
            run.input("adjacency", &adjacency);
            run.input("x", &x);
            run.input("y", &y);
            run.input("known", &known);
            let logits = model.forward(&x, &normalized(&adjacency));
            let loss = cross_entropy(&logits.i(&known), &y.i(&known));
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
