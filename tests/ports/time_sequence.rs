//! The prediction of sine waves, step by step, trained by L-BFGS.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Waves {
    first: LSTMCell,
    second: LSTMCell,
    linear: Linear,
}

impl Waves {
    fn new() -> Self {
        Waves { first: LSTMCell::new(1, 12), second: LSTMCell::new(12, 12), linear: Linear::new(12, 1) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let (mut a, mut b, mut outputs) = (None, None, vec![]);
        for step in x.chunk(x.dim(1), 1) {
            let first = self.first.forward(&step, a.as_ref());
            let second = self.second.forward(&first.0, b.as_ref());
            outputs.push(self.linear.forward(&second.0));
            (a, b) = (Some(first), Some(second));
        }
        cat(&outputs, 1)
    }
}
// end

#[test]
fn time_sequence() {
    compare("time_sequence", |run| {
        let mut model = Waves::new();
        model.to_dtype(DType::F64);
        run.weights("model", &model);
        let mut optimizer = LBFGS::new(model.parameters(), 0.8).max_iter(3);
        let times = arange(0.0, 16.0).to_dtype(DType::F64) + rand((6, 1)).to_dtype(DType::F64) * 20.0;
        let waves = (times * 0.4).sin(); // (6, 16)
        let (x, y) = (waves.i((.., ..15)), waves.i((.., 1..)));
        for _ in 0..STEPS {
            run.input("x", &x);
            run.input("y", &y);
            let loss = optimizer.step(|| mse_loss(&model.forward(&x), &y));
            run.step(&[&tensor(loss).to_dtype(DType::F64)]);
        }
    });
}
