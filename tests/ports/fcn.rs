//! A fully convolutional network, which names the class of each pixel.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
fn fcn(classes: usize) -> Sequential {
    let down =
        |inputs, outputs| seq![Conv2d::new(inputs, outputs, 3).stride(2).padding(1), BatchNorm2d::new(outputs), ReLU];
    let up = ConvTranspose2d::new(classes, classes, 8).stride(4).padding(2);
    up.parameter("weight").set(&bilinear(classes, 8));
    seq![down(1, 16), down(16, 32), Conv2d::new(32, classes, 1), up]
}

/// Returns the kernel that interpolates.
fn bilinear(channels: usize, size: usize) -> Tensor {
    let distance = (linspace(0.0, size as f64 - 1.0, size) - (size as f64 - 1.0) / 2.0).abs();
    let line = 1.0 - distance / (size / 2) as f64;
    eye(channels).reshape((channels, channels, 1, 1)) * line.outer(&line)
}

fn loss(net: &Sequential, x: &Tensor, y: &Tensor) -> Tensor {
    cross_entropy(&net.forward(x), y)
}
// end

#[test]
fn fcn_names_pixels() {
    compare("fcn", |run| {
        let model = fcn(3);
        run.weights("model", &model);
        let mut optimizer = SGD::new(model.parameters(), 0.1).weight_decay(0.001);
        for _ in 0..STEPS {
            // Horizontal bands of two brightnesses on a dark ground.
            let y = randint(0, 3, (8, 4, 1)).repeat_interleave(4, 1).repeat((1, 1, 16));
            let x = y.to_dtype(DType::F32).unsqueeze(1) + randn((8, 1, 16, 16)) * 0.3;
            run.input("x", &x);
            run.input("y", &y);
            let loss = loss(&model, &x, &y);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
