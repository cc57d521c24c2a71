//! Regression with a Gaussian process, whose kernel is learned.

use crate::run::{STEPS, compare};
use std::f64::consts::TAU;
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Process {
    length: Parameter,
    scale: Parameter,
    noise: Parameter,
}

impl Process {
    fn new() -> Self {
        let [length, scale, noise] = [0.0, 0.0, -2.0].map(|value| Parameter::new(&full(1, value)));
        Process { length, scale, noise }
    }

    fn kernel(&self, a: &Tensor, b: &Tensor) -> Tensor {
        let squares = (a.unsqueeze(1) - b).sqr().sum(-1);
        self.scale.tensor().exp() * (squares * -0.5 * (self.length.tensor() * -2.0).exp()).exp()
    }

    fn factor(&self, x: &Tensor) -> Tensor {
        let noise = self.noise.tensor().exp() * eye(x.dim(0)).to_dtype(x.dtype());
        (self.kernel(x, x) + noise).cholesky()
    }

    /// Minus the logarithm of the probability of the targets.
    fn loss(&self, x: &Tensor, y: &Tensor) -> Tensor {
        let factor = self.factor(x);
        let white = factor.solve(y);
        white.sqr().sum_all() * 0.5 + factor.diagonal(0).log().sum_all() + 0.5 * x.dim(0) as f64 * TAU.ln()
    }

    /// The mean and the variance at new places.
    fn predict(&self, x: &Tensor, y: &Tensor, new: &Tensor) -> (Tensor, Tensor) {
        let factor = self.factor(x);
        let weights = factor.solve(&self.kernel(x, new));
        let mean = weights.t().matmul(&factor.solve(y));
        (mean, self.scale.tensor().exp() - weights.sqr().sum(0))
    }
}
// end

#[test]
fn gaussian_process() {
    compare("gaussian_process", |run| {
        let mut model = Process::new();
        model.to_dtype(DType::F64);
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.1);
        let x = (rand((24, 1)) * 6.0).to_dtype(DType::F64);
        let y = x.sin() + (randn((24, 1)) * 0.1).to_dtype(DType::F64);
        for step in 1..=STEPS {
            run.input("x", &x);
            run.input("y", &y);
            let loss = model.loss(&x, &y);
            optimizer.step(&loss.backward());
            let (mean, variance) = model.predict(&x, &y, &(x.narrow(0, 0, 3) + 0.1));
            let predicted = cat(&[mean.flatten_all(), variance], 0).unbind(0);
            let last = predicted.iter().filter(|_| step == STEPS);
            run.step(&[&loss].into_iter().chain(last).collect::<Vec<_>>());
        }
    });
}
