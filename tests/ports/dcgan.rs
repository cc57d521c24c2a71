//! A deep convolutional GAN.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
fn generator() -> Sequential {
    seq![
        ConvTranspose2d::new(8, 16, 4).bias(false),
        BatchNorm2d::new(16),
        ReLU,
        ConvTranspose2d::new(16, 1, 4).stride(2).padding(1).bias(false),
        Tanh,
    ]
}

fn discriminator() -> Sequential {
    seq![
        Conv2d::new(1, 16, 4).stride(2).padding(1).bias(false),
        LeakyReLU::new().negative_slope(0.2),
        Conv2d::new(16, 1, 4).bias(false),
        Sigmoid,
        Flatten,
    ]
}

fn loss_of(probabilities: &Tensor, label: f64) -> Tensor {
    BCELoss::new().forward(probabilities, &(probabilities.ones_like() * label))
}
// end

#[test]
fn dcgan() {
    compare("dcgan", |run| {
        let (mut generator, mut discriminator) = (generator(), discriminator());
        for net in [&mut generator, &mut discriminator] {
            net.init_weights(Init::Normal(0.02));
            net.to_dtype(DType::F64);
        }
        run.weights("generator", &generator);
        run.weights("discriminator", &discriminator);
        let mut of_g = Adam::new(generator.parameters(), 0.0002).betas(0.5, 0.999);
        let mut of_d = Adam::new(discriminator.parameters(), 0.0002).betas(0.5, 0.999);
        for _ in 0..STEPS {
            let x = (rand((16, 1, 8, 8)).round() * 2.0 - 1.0).to_dtype(DType::F64);
            let z = randn((16, 8, 1, 1)).to_dtype(DType::F64);
            run.input("x", &x);
            run.input("z", &z);
            let fake = generator.forward(&z);
            let real = loss_of(&discriminator.forward(&x), 1.0);
            let d_loss = real + loss_of(&discriminator.forward(&fake.detach()), 0.0);
            of_d.step(&d_loss.backward());
            let g_loss = loss_of(&discriminator.forward(&fake), 1.0);
            of_g.step(&g_loss.backward());
            run.step(&[&d_loss, &g_loss]);
        }
    });
}
