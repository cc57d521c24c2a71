//! A Wasserstein GAN whose critic is penalised for gradients that are not of length 1.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
fn net(inputs: usize, outputs: usize) -> Sequential {
    seq![Linear::new(inputs, 32), Tanh, Linear::new(32, 32), SiLU, Linear::new(32, outputs)]
}

fn penalty(critic: &Sequential, real: &Tensor, fake: &Tensor, share: &Tensor) -> Tensor {
    let x = Parameter::new(&(share * real + (1.0 - share) * fake)).tensor();
    let slopes = &grad_graph(&critic.forward(&x).sum_all(), &[&x])[0];
    (slopes.norm(1) - 1.0).sqr().mean_all()
}

fn critic_loss(critic: &Sequential, real: &Tensor, fake: &Tensor, share: &Tensor) -> Tensor {
    let difference = critic.forward(fake).mean_all() - critic.forward(real).mean_all();
    difference + penalty(critic, real, fake, share) * 10.0
}
// end

#[test]
fn wgan_gp() {
    compare("wgan_gp", |run| {
        let (generator, critic) = (net(4, 2), net(2, 1));
        run.weights("generator", &generator);
        run.weights("critic", &critic);
        let mut of_g = Adam::new(generator.parameters(), 0.001);
        let mut of_c = Adam::new(critic.parameters(), 0.001);
        for _ in 0..STEPS {
            let angles = rand((64, 1)) * std::f64::consts::TAU;
            let real = cat(&[angles.sin(), angles.cos()], 1);
            let (z, share) = (randn((64, 4)), rand((64, 1)));
            run.input("real", &real);
            run.input("z", &z);
            run.input("share", &share);
            let fake = generator.forward(&z);
            let loss = critic_loss(&critic, &real, &fake.detach(), &share);
            of_c.step(&loss.backward());
            let g_loss = -critic.forward(&fake).mean_all();
            of_g.step(&g_loss.backward());
            run.step(&[&loss, &g_loss]);
        }
    });
}
