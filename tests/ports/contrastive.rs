//! Contrastive pairs: two views of an example are closer to each other than to all others.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
fn encoder() -> Sequential {
    seq![Linear::new(10, 32), BatchNorm1d::new(32), ReLU, Linear::new(32, 8)]
}

fn info_nce(a: &Tensor, b: &Tensor, temperature: f64) -> Tensor {
    let both = cat(&[a, b], 0);
    let z = &both / both.norm(1).unsqueeze(1);
    let (n, count) = (a.dim(0), z.dim(0));
    let similar = z.matmul(&z.t()) / temperature;
    let logits = similar.masked_fill(&eye(count).gt(0), f64::NEG_INFINITY);
    cross_entropy(&logits, &arange(0, count as i64).roll(n as i64, 0))
}
// end

#[test]
fn contrastive() {
    compare("contrastive", |run| {
        let net = encoder();
        run.weights("model", &net);
        let mut optimizer = Adam::new(net.parameters(), 0.003);
        for _ in 0..STEPS {
            let x = randn((24, 10));
            let [a, b] = [0.2, 0.2].map(|noise| &x + randn((24, 10)) * noise);
            run.input("a", &a);
            run.input("b", &b);
            let loss = info_nce(&net.forward(&a), &net.forward(&b), 0.2);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
