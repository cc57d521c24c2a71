//! Networks of coordinates: a physics-informed one (Raissi et al., 2019) and NeRF (Mildenhall et al., 2020).

use std::f64::consts::PI;
use taper::prelude::*;

layer! {
    /// Burgers' equation; the input is (x, t) for each point.
    pub(super) struct Pinn {
        let tanh = |inputs| seq![Linear::new(inputs, 32), Tanh];
        net = seq![tanh(2), tanh(32), tanh(32), tanh(32), Linear::new(32, 1)],
    }
    /// Returns the loss.
    fn forward(&self, points: &Tensor) -> Tensor {
        let [x, t] = points.chunks(1).map(|x| Parameter::new(&x).tensor());
        let u = self.net.forward(&cat(&[&x, &t], 1)); // (points, 1)
        let first = grad_graph(&u.sum_all(), &[&x, &t]);
        let (u_x, u_t) = (&first[0], &first[1]);
        let u_xx = &grad_graph(&u_x.sum_all(), &[&x])[0];
        let residual = u_t + &u * u_x - u_xx * (0.01 / PI);
        let start = self.net.forward(&cat(&[&x, &t.zeros_like()], 1));
        residual.sqr().mean_all() + mse_loss(&start, &-(&x * PI).sin())
    }
}

const SAMPLES: usize = 64;

/// Returns `x` with the sines and cosines of its multiples.
fn encoded(x: &Tensor, frequencies: i32) -> Tensor {
    let mut parts = vec![x.clone()];
    for k in 0..frequencies {
        let x = x * 2f64.powi(k);
        parts.extend([x.sin(), x.cos()]);
    }
    cat(&parts, -1)
}

layer! {
    /// The input is a position and a direction for each sample of the rays.
    pub(super) struct Nerf {
        let layer = |inputs| seq![Linear::new(inputs, 128), ReLU];
        first = seq![layer(63), layer(128), layer(128), layer(128)],
        second = seq![layer(128 + 63), layer(128), layer(128)],
        density = Linear::new(128, 1),
        features = Linear::new(128, 128),
        color = seq![Linear::new(128 + 27, 64), ReLU, Linear::new(64, 3), Sigmoid],
    }
    /// Returns the loss.
    fn forward(&self, x: &Tensor) -> Tensor {
        let position = encoded(&x.i((.., ..3)), 10); // (points, 63)
        let direction = encoded(&x.i((.., 3..)), 4); // (points, 27)
        let h = cat(&[&self.first.forward(&position), &position], -1);
        let h = self.second.forward(&h);
        let density = self.density.forward(&h).softplus().reshape((-1, SAMPLES)); // (rays, samples)
        let color = cat(&[self.features.forward(&h), direction], -1);
        let color = self.color.forward(&color).reshape((-1, SAMPLES, 3));
        let alpha = 1.0 - (-density * (4.0 / SAMPLES as f64)).exp();
        let passed = (1.0 - &alpha + 1e-10).cumprod(1);
        let passed = cat(&[passed.i((.., ..1)).ones_like(), passed.i((.., ..-1))], 1);
        let pixels = ((alpha * passed).unsqueeze(-1) * color).sum(1); // (rays, 3)
        mse_loss(&pixels, &full(pixels.shape(), 0.5))
    }
}
