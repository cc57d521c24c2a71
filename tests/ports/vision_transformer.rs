//! A vision transformer.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Vit {
    patches: Conv2d,
    token: Parameter,
    positions: Parameter,
    encoder: TransformerEncoder,
    head: Sequential,
}

impl Vit {
    fn new(patch: usize, count: usize, width: usize, classes: usize) -> Self {
        let layer = || {
            let layer = TransformerEncoderLayer::new(width, 4).dim_feedforward(2 * width).dropout(0.0);
            layer.activation(GELU).norm_first(true).batch_first(true)
        };
        Vit {
            patches: Conv2d::new(1, width, patch).stride(patch),
            token: Parameter::new(&zeros((1, 1, width))),
            positions: Parameter::new(&(randn((1, count + 1, width)) * 0.02)),
            encoder: TransformerEncoder::new(2, layer),
            head: seq![LayerNorm::new(width), Linear::new(width, classes)],
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.patches.forward(x).flatten_from(2).transpose(1, 2); // (batch, patches, width)
        let token = self.token.tensor().repeat((x.dim(0), 1, 1));
        let x = cat(&[token, x], 1) + self.positions.tensor();
        let h = self.encoder.forward(&x, &AttentionMask::none());
        self.head.forward(&h.i((.., 0)))
    }
}
// end

#[test]
fn vision_transformer() {
    compare("vision_transformer", |run| {
        let model = Vit::new(4, 4, 16, 3);
        run.weights("model", &model);
        let mut optimizer = AdamW::new(model.parameters(), 0.003);
        for _ in 0..STEPS {
            let (x, y) = (rand((16, 1, 8, 8)), randint(0, 3, 16));
            run.input("x", &x);
            run.input("y", &y);
            let loss = CrossEntropyLoss::new().label_smoothing(0.1);
            let loss = loss.forward(&model.forward(&x), &y);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
