//! An autoencoder whose codes come from a table.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct VqVae {
    encoder: Sequential,
    codes: Embedding,
    decoder: Sequential,
}

impl VqVae {
    fn new(codes: usize, width: usize) -> Self {
        let first = Conv2d::new(1, 16, 4).stride(2).padding(1);
        let last = ConvTranspose2d::new(16, 1, 4).stride(2).padding(1);
        let encoder = seq![first, ReLU, Conv2d::new(16, width, 3).padding(1)];
        let decoder = seq![Conv2d::new(width, 16, 3).padding(1), ReLU, last];
        VqVae { encoder, codes: Embedding::new(codes, width), decoder }
    }

    /// Returns the nearest code of each place.
    fn quantize(&self, z: &Tensor) -> Tensor {
        let places = z.movedim(1, -1);
        let nearest = places.flatten(0, 2).cdist(&self.codes.parameter("weight").tensor()).argmin(1);
        self.codes.forward(&nearest).reshape(places.shape()).movedim(-1, 1)
    }

    fn loss(&self, x: &Tensor) -> Tensor {
        let z = self.encoder.forward(x);
        let q = self.quantize(&z);
        let straight = &z + (&q - &z).detach();
        let committed = mse_loss(&q, &z.detach()) + mse_loss(&z, &q.detach()) * 0.25;
        mse_loss(&self.decoder.forward(&straight), x) + committed
    }
}
// end

#[test]
fn vq_vae() {
    compare("vq_vae", |run| {
        let mut model = VqVae::new(16, 4);
        model.to_dtype(DType::F64); // the nearest code must not depend on rounding
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.003);
        for _ in 0..STEPS {
            let x = rand((8, 1, 4, 4)).round().to_dtype(DType::F64);
            let x = x.repeat_interleave(2, 2).repeat_interleave(2, 3);
            run.input("x", &x);
            let loss = model.loss(&x);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
