//! Super-resolution by sub-pixel convolution.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
fn upscaler(factor: usize) -> Sequential {
    let net = seq![
        Conv2d::new(1, 16, 5).padding(2),
        ReLU,
        Conv2d::new(16, 8, 3).padding(1),
        ReLU,
        Conv2d::new(8, factor * factor, 3).padding(1),
        PixelShuffle::new(factor),
    ];
    net.init_weights(Init::Orthogonal(2f64.sqrt()));
    net
}
// end

#[test]
fn super_resolution() {
    compare("super_resolution", |run| {
        let net = upscaler(2);
        run.weights("model", &net);
        let mut optimizer = Adam::new(net.parameters(), 0.001);
        for _ in 0..STEPS {
            let (y, small) = (rand((4, 1, 12, 12)), AvgPool2d::new(2));
            let x = small.forward(&y);
            run.input("x", &x);
            run.input("y", &y);
            let loss = mse_loss(&net.forward(&x), &y);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
