//! Skip-grams with negative sampling.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Word2Vec {
    center: Embedding,
    context: Embedding,
}

impl Word2Vec {
    fn new(tokens: usize, size: usize) -> Self {
        Word2Vec { center: Embedding::new(tokens, size), context: Embedding::new(tokens, size) }
    }

    /// Centers `(batch, 1)`, contexts and noise `(batch, words)`, of which `labels` are 1 and 0, `mask` 0 for padding.
    fn loss(&self, centers: &Tensor, words: &Tensor, labels: &Tensor, mask: &Tensor) -> Tensor {
        let (v, u) = (self.center.forward(centers), self.context.forward(words));
        let scores = v.matmul(&u.transpose(1, 2)).squeeze(1);
        let loss = BCEWithLogitsLoss::new().weight(mask).reduction(Reduction::None);
        (loss.forward(&scores, labels).mean(1) * mask.dim(1) as f64 / mask.sum(1)).mean_all()
    }
}
// end

#[test]
fn word2vec() {
    compare("word2vec", |run| {
        let model = Word2Vec::new(30, 8);
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.01);
        for _ in 0..STEPS {
            let centers = randint(0, 30, (32, 1));
            let words = randint(0, 30, (32, 9));
            let labels = words.lt(&centers).to_dtype(DType::F32);
            let mask = (rand((32, 9)).gt(0.2)).to_dtype(DType::F32);
            run.input("centers", &centers);
            run.input("words", &words);
            run.input("labels", &labels);
            run.input("mask", &mask);
            let loss = model.loss(&centers, &words, &labels, &mask);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
