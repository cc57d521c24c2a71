//! A small GPT, which generates with a cache of keys and values.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Gpt {
    tokens: Embedding,
    positions: LearnedPositionalEncoding,
    blocks: Vec<TransformerEncoderLayer>,
    norm: LayerNorm,
    head: Linear,
}

impl Gpt {
    fn new(letters: usize, steps: usize, width: usize, heads: usize, layers: usize) -> Self {
        let block = |_| {
            let layer = TransformerEncoderLayer::new(width, heads).dim_feedforward(4 * width).dropout(0.0);
            layer.activation(GELU).norm_first(true).batch_first(true)
        };
        Gpt {
            tokens: Embedding::new(letters, width),
            positions: LearnedPositionalEncoding::new(steps, width).batch_first(true),
            blocks: (0..layers).map(block).collect(),
            norm: LayerNorm::new(width),
            head: Linear::new(width, letters).bias(false),
        }
    }

    fn loss(&self, x: &Tensor, y: &Tensor) -> Tensor {
        cross_entropy(&self.forward(x).flatten(0, 1), &y.flatten_all())
    }
}

impl Layer for Gpt {
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.positions.forward(&self.tokens.forward(x));
        for block in &self.blocks {
            x = block.forward(&x, &AttentionMask::causal());
        }
        self.head.forward(&self.norm.forward(&x))
    }
}
// end

#[test]
fn min_gpt() {
    compare("min_gpt", |run| {
        let model = Gpt::new(10, 12, 32, 4, 2);
        run.weights("model", &model);
        let mut optimizer = AdamW::new(model.parameters(), 0.003);
        for step in 1..=STEPS {
            // Words that count by one, two or three.
            let word = (randint(0, 10, (16, 1)) + randint(1, 4, (16, 1)) * arange(0, 13)) % 10;
            let (x, y) = (word.narrow(1, 0, 12), word.narrow(1, 1, 12));
            run.input("x", &x);
            run.input("y", &y);
            let loss = model.loss(&x, &y);
            optimizer.step(&loss.backward());
            let mut generated = vec![];
            if step == STEPS {
                let mut tokens = generate(&model, &[3]).max_tokens(8).temperature(0.0);
                generated.extend(tokens.by_ref().map(|token| tensor(token)));
                assert!(tokens.uses_cache());
            }
            run.step(&[&loss].into_iter().chain(&generated).collect::<Vec<_>>());
        }
    });
}
