//! Networks of coordinates: a physics-informed one (Raissi et al., 2019) and NeRF (Mildenhall et al., 2020).

use taper::prelude::*;

/// Burgers' equation; the input is (x, t) for each point.
#[derive(Parameters)]
pub(super) struct Pinn(Sequential);

impl Pinn {
    pub(super) fn new() -> Self {
        let mut net = seq![Linear::new(2, 32), Tanh];
        for _ in 0..3 {
            net.push(Linear::new(32, 32));
            net.push(Tanh);
        }
        net.push(Linear::new(32, 1));
        Pinn(net)
    }
}

impl Layer for Pinn {
    /// Returns the loss.
    fn forward(&self, points: &Tensor) -> Tensor {
        let x = Parameter::new(&points.i((.., 0..1))).tensor();
        let t = Parameter::new(&points.i((.., 1..2))).tensor();
        let u = self.0.forward(&cat(&[&x, &t], 1)); // (points, 1)
        let first = grad_graph(&u.sum_all(), &[&x, &t]);
        let second = &grad_graph(&first[0].sum_all(), &[&x])[0];
        let residual = &first[1] + &u * &first[0] - second * (0.01 / std::f64::consts::PI);
        let start = cat(&[&x, &t.zeros_like()], 1);
        let wanted = -(&x * std::f64::consts::PI).sin();
        residual.sqr().mean_all() + mse_loss(&self.0.forward(&start), &wanted)
    }
}

const SAMPLES: usize = 64;

/// The input is a position and a direction for each sample of the rays.
#[derive(Parameters)]
pub(super) struct Nerf {
    first: Sequential,
    second: Sequential,
    density: Linear,
    features: Linear,
    color: Sequential,
}

/// Returns `x` with the sines and cosines of its multiples.
fn encoded(x: &Tensor, frequencies: i32) -> Tensor {
    let mut parts = vec![x.clone()];
    for k in 0..frequencies {
        let x = x * 2f64.powi(k);
        parts.push(x.sin());
        parts.push(x.cos());
    }
    cat(&parts, -1)
}

impl Nerf {
    pub(super) fn new() -> Self {
        let layer = |inputs| seq![Linear::new(inputs, 128), ReLU];
        Nerf {
            first: seq![layer(63), layer(128), layer(128), layer(128)],
            second: seq![layer(128 + 63), layer(128), layer(128)],
            density: Linear::new(128, 1),
            features: Linear::new(128, 128),
            color: seq![Linear::new(128 + 27, 64), ReLU, Linear::new(64, 3), Sigmoid],
        }
    }
}

impl Layer for Nerf {
    /// Returns the loss.
    fn forward(&self, x: &Tensor) -> Tensor {
        let position = encoded(&x.i((.., ..3)), 10); // (points, 63)
        let direction = encoded(&x.i((.., 3..)), 4); // (points, 27)
        let h = self.first.forward(&position);
        let h = self.second.forward(&cat(&[&h, &position], -1));
        let density = softplus(&self.density.forward(&h), 1.0, 20.0);
        let density = density.reshape(((), SAMPLES)); // (rays, samples)
        let features = self.features.forward(&h);
        let color = self.color.forward(&cat(&[features, direction], -1));
        let color = color.reshape(((), SAMPLES, 3));
        let alpha = 1.0 - (-density * (4.0 / SAMPLES as f64)).exp();
        let passed = (1.0 - &alpha + 1e-10).cumprod(1);
        let passed = cat(&[passed.i((.., ..1)).ones_like(), passed.i((.., ..-1))], 1);
        let pixels = ((alpha * passed).unsqueeze(-1) * color).sum(1); // (rays, 3)
        mse_loss(&pixels, &(pixels.zeros_like() + 0.5))
    }
}
