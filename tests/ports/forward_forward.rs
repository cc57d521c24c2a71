//! The forward-forward algorithm: each layer learns by itself to tell right examples from wrong ones.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct FfLayer {
    linear: Linear,
}

impl FfLayer {
    fn forward(&self, x: &Tensor) -> Tensor {
        let length = x.sqr().sum_keepdim(1).sqrt() + 1e-4;
        self.linear.forward(&(x / length)).relu()
    }

    fn loss(&self, positive: &Tensor, negative: &Tensor) -> Tensor {
        let good = |x: &Tensor| self.forward(x).sqr().mean(1);
        let margins = cat(&[2.0 - good(positive), good(negative) - 2.0], 0);
        softplus(&margins, 1.0, 20.0).mean_all()
    }
}
// end

#[test]
fn forward_forward() {
    compare("forward_forward", |run| {
        let layers: Vec<FfLayer> =
            [(16, 32), (32, 32)].map(|(inputs, outputs)| FfLayer { linear: Linear::new(inputs, outputs) }).into();
        run.weights("model", &layers);
        let mut optimizers: Vec<Adam> = { layers.iter() }.map(|layer| Adam::new(layer.parameters(), 0.03)).collect();
        for _ in 0..STEPS {
            let (mut positive, mut negative) = (rand((32, 16)), rand((32, 16)) * linspace(0.0, 1.0, 16));
            run.input("positive", &positive);
            run.input("negative", &negative);
            let mut losses = vec![];
            for (layer, optimizer) in layers.iter().zip(&mut optimizers) {
                let loss = layer.loss(&positive, &negative);
                optimizer.step(&loss.backward());
                (positive, negative) = no_grad(|| (layer.forward(&positive), layer.forward(&negative)));
                losses.push(loss);
            }
            run.step(&[&losses[0], &losses[1]]);
        }
    });
}
