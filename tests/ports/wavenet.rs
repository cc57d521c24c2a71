//! The WaveNet of makemore: the next letter of a name after eight.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
/// Each convolution joins two neighbours, so that three of them read eight letters.
fn wavenet(letters: usize, width: usize, hidden: usize) -> Sequential {
    let join = |inputs| seq![Conv1d::new(inputs, hidden, 2).stride(2).bias(false), BatchNorm1d::new(hidden), Tanh];
    seq![
        Embedding::new(letters, width),
        Lambda::new(|x| x.transpose(1, 2)),
        join(width),
        join(hidden),
        join(hidden),
        Flatten,
        Linear::new(hidden, letters),
    ]
}

fn loss(net: &Sequential, x: &Tensor, y: &Tensor) -> Tensor {
    cross_entropy(&net.forward(x), y)
}
// end

#[test]
fn wavenet_of_letters() {
    compare("wavenet", |run| {
        let model = wavenet(12, 6, 24);
        run.weights("model", &model);
        let mut optimizer = SGD::new(model.parameters(), 0.1);
        for _ in 0..STEPS {
            // The letter after a word that counts is the next one.
            let start = randint(0, 12, (32, 1));
            let word = (start + arange(0, 9)) % 12;
            let (x, y) = (word.narrow(1, 0, 8), word.i((.., 8)));
            run.input("x", &x);
            run.input("y", &y);
            let loss = loss(&model, &x, &y);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
