//! Denoising diffusion of points in the plane.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Denoiser {
    times: Embedding,
    input: Linear,
    blocks: Sequential,
    output: Linear,
}

impl Denoiser {
    fn new(steps: usize, width: usize) -> Self {
        let block = || Residual::new(seq![LayerNorm::new(width), Linear::new(width, width), SiLU]);
        Denoiser {
            times: Embedding::new(steps, width),
            input: Linear::new(2, width),
            blocks: seq![block(), block()],
            output: Linear::new(width, 2),
        }
    }

    fn forward(&self, x: &Tensor, t: &Tensor) -> Tensor {
        let h = self.input.forward(x) + self.times.forward(t);
        self.output.forward(&self.blocks.forward(&h))
    }

    fn loss(&self, x: &Tensor, t: &Tensor, noise: &Tensor, kept: &Tensor) -> Tensor {
        let kept = kept.i(t).unsqueeze(1);
        let noisy = kept.sqrt() * x + (1.0 - &kept).sqrt() * noise;
        mse_loss(&self.forward(&noisy, t), noise)
    }
}

/// Returns how much of the variance of the data each step keeps.
fn schedule(steps: usize) -> Tensor {
    let betas = linspace(1e-4, 0.2, steps);
    (1.0 - betas).log().cumsum(0).exp()
}
// end

#[test]
fn ddpm() {
    compare("ddpm", |run| {
        let (model, kept) = (Denoiser::new(20, 32), schedule(20));
        run.weights("model", &model);
        let mut optimizer = AdamW::new(model.parameters(), 0.002);
        for _ in 0..STEPS {
            let angles = rand((64, 1)) * std::f64::consts::TAU;
            let x = cat(&[angles.sin(), angles.cos()], 1);
            let (t, noise) = (randint(0, 20, 64), randn((64, 2)));
            run.input("x", &x);
            run.input("t", &t);
            run.input("noise", &noise);
            let loss = model.loss(&x, &t, &noise, &kept);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
