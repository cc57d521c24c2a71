//! Low-rank adapters beside frozen weights, which are merged in the end.

use crate::run::{STEPS, compare};
use taper::nn::Lora;
use taper::prelude::*;

// begin
fn adapted(rank: usize, alpha: f64) -> (Sequential, Lora) {
    let mut net = seq![Linear::new(12, 32), ReLU, Linear::new(32, 3)];
    let adapters = LoraConfig::new(rank).alpha(alpha).apply(&mut net);
    (net, adapters)
}
// end

#[test]
fn lora() {
    compare("lora", |run| {
        let (model, adapters) = adapted(2, 4.0);
        run.weights("model", &model);
        let mut optimizer = AdamW::new(adapters.parameters(), 0.01);
        let mut adapters = Some(adapters);
        for step in 1..=STEPS {
            let (x, y) = (randn((16, 12)), randint(0, 3, 16));
            run.input("x", &x);
            run.input("y", &y);
            let loss = || cross_entropy(&model.forward(&x), &y);
            let before = loss();
            optimizer.step(&before.backward());
            if let Some(adapters) = adapters.take_if(|_| step == STEPS) {
                adapters.merge();
                run.step(&[&before, &loss()]);
            } else {
                run.step(&[&before]);
            }
        }
    });
}
