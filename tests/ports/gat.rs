//! A graph attention network.

use crate::gcn::graph;
use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct GraphAttention {
    linear: Linear,
    source: Linear,
    target: Linear,
}

impl GraphAttention {
    fn new(inputs: usize, outputs: usize) -> Self {
        let linear = Linear::new(inputs, outputs).bias(false);
        let [source, target] = [0, 1].map(|_| Linear::new(outputs, 1).bias(false));
        GraphAttention { linear, source, target }
    }

    fn forward(&self, x: &Tensor, adjacency: &Tensor) -> Tensor {
        let h = self.linear.forward(x);
        let scores = leaky_relu(&(self.source.forward(&h) + self.target.forward(&h).t()), 0.2);
        let weights = scores.masked_fill(&adjacency.eq(0), f64::NEG_INFINITY).softmax(1);
        weights.matmul(&h)
    }
}

#[derive(Parameters)]
struct Gat {
    heads: Vec<GraphAttention>,
    output: GraphAttention,
}

impl Gat {
    fn new(features: usize, hidden: usize, heads: usize, classes: usize) -> Self {
        let output = GraphAttention::new(hidden * heads, classes);
        Gat { heads: (0..heads).map(|_| GraphAttention::new(features, hidden)).collect(), output }
    }

    fn forward(&self, x: &Tensor, adjacency: &Tensor) -> Tensor {
        let heads: Vec<Tensor> = self.heads.iter().map(|head| head.forward(x, adjacency)).collect();
        self.output.forward(&elu(&cat(&heads, 1), 1.0), adjacency)
    }
}
// end

#[test]
fn gat() {
    compare("gat", |run| {
        let [adjacency, x, y, known] = graph();
        let adjacency = adjacency + eye(24);
        let model = Gat::new(8, 8, 4, 3);
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.005);
        for _ in 0..STEPS {
            run.input("adjacency", &adjacency);
            run.input("x", &x);
            run.input("y", &y);
            run.input("known", &known);
            let logits = model.forward(&x, &adjacency);
            let loss = cross_entropy(&logits.i(&known), &y.i(&known));
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
