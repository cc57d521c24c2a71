//! Fast style transfer: a network learns to draw images in the style of one.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
fn conv(inputs: usize, outputs: usize, kernel: usize, stride: usize) -> Sequential {
    let layer = Conv2d::new(inputs, outputs, kernel).stride(stride).padding(kernel / 2);
    seq![layer.padding_mode(PaddingMode::Reflect), InstanceNorm2d::new(outputs).affine(true)]
}

fn stylist() -> Sequential {
    let residual = || Residual::new(seq![conv(16, 16, 3, 1), ReLU, conv(16, 16, 3, 1)]);
    seq![
        conv(3, 8, 9, 1),
        ReLU,
        conv(8, 16, 3, 2),
        ReLU,
        residual(),
        residual(),
        Upsample::new(2.0),
        conv(16, 8, 3, 1),
        ReLU,
        Conv2d::new(8, 3, 9).padding(4).padding_mode(PaddingMode::Reflect),
    ]
}

/// In place of the first layers of VGG.
fn stages() -> [Sequential; 2] {
    let first = seq![Conv2d::new(3, 8, 3).padding(1), ReLU];
    [first, seq![MaxPool2d::new(2), Conv2d::new(8, 16, 3).padding(1), ReLU]]
}

fn features(stages: &[Sequential; 2], x: &Tensor) -> [Tensor; 2] {
    let first = stages[0].forward(x);
    [first.clone(), stages[1].forward(&first)]
}

fn gram(x: &Tensor) -> Tensor {
    let flat = x.flatten_from(2);
    flat.matmul(&flat.transpose(1, 2)) / flat.i(0).elem_count() as f64
}

fn loss(stylist: &Sequential, stages: &[Sequential; 2], x: &Tensor, style: &Tensor) -> Tensor {
    let [ours, content, style] = [&stylist.forward(x), x, style].map(|image| features(stages, image));
    let [a, b] = [0, 1].map(|i| (gram(&ours[i]) - gram(&style[i])).sqr().mean_all());
    mse_loss(&ours[1], &content[1]) * 1e2 + (a + b) * 1e4
}
// end

#[test]
fn style_transfer() {
    compare("style_transfer", |run| {
        let (model, fixed) = (stylist(), stages());
        run.weights("model", &model);
        run.weights("stages", &fixed);
        let mut optimizer = Adam::new(model.parameters(), 0.001);
        // Stripes in two colours.
        let stripes = (arange(0, 16).to_dtype(DType::F32) * 1.5).sin().reshape((1, 1, 1, 16));
        let style = stripes * rand((1, 3, 16, 1)).round();
        for _ in 0..STEPS {
            let x = rand((4, 3, 16, 16));
            run.input("x", &x);
            run.input("style", &style);
            let loss = loss(&model, &fixed, &x, &style);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
