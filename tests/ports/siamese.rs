//! A siamese network, which decides whether two images show the same thing.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Siamese {
    features: Sequential,
    head: Sequential,
}

impl Siamese {
    fn new() -> Self {
        let features = seq![Conv2d::new(1, 8, 3), ReLU, MaxPool2d::new(2), Flatten];
        Siamese { features, head: seq![Linear::new(144, 32), ReLU, Linear::new(32, 1)] }
    }

    fn loss(&self, a: &Tensor, b: &Tensor, y: &Tensor) -> Tensor {
        let features = [a, b].map(|x| self.features.forward(x));
        bce_with_logits(&self.head.forward(&cat(&features, 1)), y)
    }
}
// end

#[test]
fn siamese() {
    compare("siamese", |run| {
        let model = Siamese::new();
        run.weights("model", &model);
        let mut optimizer = Adadelta::new(model.parameters(), 1.0);
        for _ in 0..STEPS {
            let (shapes, y) = (rand((16, 1, 8, 8)).round(), rand((16, 1)).round());
            let same = y.reshape((16, 1, 1, 1));
            let b = &same * &shapes + (1.0 - &same) * rand((16, 1, 8, 8)).round();
            run.input("a", &shapes);
            run.input("b", &b);
            run.input("y", &y);
            let loss = model.loss(&shapes, &b, &y);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
