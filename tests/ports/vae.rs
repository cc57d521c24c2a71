//! A variational autoencoder of small images.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Vae {
    encoder: Sequential,
    mean: Linear,
    log_var: Linear,
    decoder: Sequential,
}

impl Vae {
    fn new() -> Self {
        let [mean, log_var] = [0, 1].map(|_| Linear::new(32, 4));
        let decoder = seq![Linear::new(4, 32), ReLU, Linear::new(32, 64), Sigmoid];
        Vae { encoder: seq![Linear::new(64, 32), ReLU], mean, log_var, decoder }
    }

    fn loss(&self, x: &Tensor, noise: &Tensor) -> Tensor {
        let h = self.encoder.forward(x);
        let (mean, log_var) = (self.mean.forward(&h), self.log_var.forward(&h));
        let z = &mean + noise * (&log_var * 0.5).exp();
        let bce = BCELoss::new().reduction(Reduction::Sum);
        let kl = (1.0 + &log_var - mean.sqr() - log_var.exp()).sum_all() * -0.5;
        bce.forward(&self.decoder.forward(&z), x) + kl
    }
}
// end

#[test]
fn vae() {
    compare("vae", |run| {
        let model = Vae::new();
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.001);
        for _ in 0..STEPS {
            // Horizontal bars.
            let bars = rand((32, 8, 1)).gt(0.7).to_dtype(DType::F32);
            let x = (bars * ones((1, 1, 8))).reshape((32, 64));
            let noise = randn((32, 4));
            run.input("x", &x);
            run.input("noise", &noise);
            let loss = model.loss(&x, &noise);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
