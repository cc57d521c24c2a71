//! Flow matching: a network learns the velocity that moves noise to data.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
fn velocity() -> Sequential {
    seq![Linear::new(3, 64), Mish, Linear::new(64, 64), Mish, Linear::new(64, 2)]
}

fn loss(net: &Sequential, x: &Tensor, noise: &Tensor, t: &Tensor) -> Tensor {
    let between = (1.0 - t) * noise + t * x;
    mse_loss(&net.forward(&cat(&[&between, t], 1)), &(x - noise))
}

fn sample(net: &Sequential, noise: &Tensor, steps: usize) -> Tensor {
    let mut x = noise.clone();
    for i in 0..steps {
        let t = full((x.dim(0), 1), i as f64 / steps as f64);
        x = &x + net.forward(&cat(&[&x, &t], 1)) / steps as f64;
    }
    x
}
// end

#[test]
fn flow_matching() {
    compare("flow_matching", |run| {
        let net = velocity();
        run.weights("model", &net);
        let mut optimizer = Adam::new(net.parameters(), 0.002);
        for _ in 0..STEPS {
            let (x, noise, t) = (rand((64, 2)).round() * 2.0, randn((64, 2)), rand((64, 1)));
            run.input("x", &x);
            run.input("noise", &noise);
            run.input("t", &t);
            let loss = loss(&net, &x, &noise, &t);
            optimizer.step(&loss.backward());
            let mean = no_grad(|| sample(&net, &noise, 4)).mean_all();
            run.step(&[&loss, &mean]);
        }
    });
}
