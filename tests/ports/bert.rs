//! Pretraining of BERT: masked words, and whether a sentence follows another.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Bert {
    words: Embedding,
    segments: Embedding,
    positions: LearnedPositionalEncoding,
    encoder: TransformerEncoder,
    masked: Sequential,
    follows: Sequential,
}

impl Bert {
    fn new(words: usize, steps: usize, width: usize) -> Self {
        let layer = || {
            let layer = TransformerEncoderLayer::new(width, 2).dim_feedforward(2 * width).dropout(0.0);
            layer.activation(GELU).batch_first(true)
        };
        Bert {
            words: Embedding::new(words, width),
            segments: Embedding::new(2, width),
            positions: LearnedPositionalEncoding::new(steps, width).batch_first(true),
            encoder: TransformerEncoder::new(2, layer),
            masked: seq![Linear::new(width, width), GELU, LayerNorm::new(width), Linear::new(width, words)],
            follows: seq![Linear::new(width, width), Tanh, Linear::new(width, 2)],
        }
    }

    fn forward(&self, x: &Tensor, segments: &Tensor, lengths: &Tensor) -> Tensor {
        let h = self.positions.forward(&(self.words.forward(x) + self.segments.forward(segments)));
        self.encoder.forward(&h, &AttentionMask::none().lengths(lengths, x.dim(1)))
    }

    /// The words at the masked places, and whether the second sentence follows the first.
    fn loss(&self, batch: &Sentences) -> Tensor {
        let h = self.forward(&batch.x, &batch.segments, &batch.lengths);
        let rows = arange(0, h.dim(0) as i64).unsqueeze(1);
        let chosen = self.masked.forward(&h.i((&rows, &batch.places)));
        let words = cross_entropy(&chosen.flatten(0, 1), &batch.masked.flatten_all());
        words + cross_entropy(&self.follows.forward(&h.i((.., 0))), &batch.follows)
    }
}
// end

/// Pairs of sentences `(batch, steps)`, of which some places `(batch, masked)` have the word 1.
struct Sentences {
    x: Tensor,
    segments: Tensor,
    lengths: Tensor,
    places: Tensor,
    masked: Tensor,
    follows: Tensor,
}

impl Sentences {
    fn new() -> Self {
        let steps = arange(0, 12);
        let follows = randint(0, 2, 8);
        let words = 2 + (randint(0, 9, (8, 1)) + &steps) % 9 + follows.unsqueeze(1) * steps.gt(5) * 9;
        let places = randperm(8).i(..2).unsqueeze(0).repeat((8, 1)).to_dtype(DType::I64);
        let rows = arange(0, 8).unsqueeze(1);
        Sentences {
            x: words.index_put((&rows, &places), 1),
            segments: steps.gt(5).to_dtype(DType::I64).unsqueeze(0).repeat((8, 1)),
            lengths: randint(8, 13, 8),
            masked: words.i((&rows, &places)),
            places,
            follows,
        }
    }
}

#[test]
fn bert() {
    compare("bert", |run| {
        let model = Bert::new(20, 12, 16);
        run.weights("model", &model);
        let mut optimizer = AdamW::new(model.parameters(), 0.003);
        for _ in 0..STEPS {
            let batch = Sentences::new();
            run.input("x", &batch.x);
            run.input("segments", &batch.segments);
            run.input("lengths", &batch.lengths);
            run.input("places", &batch.places);
            run.input("masked", &batch.masked);
            run.input("follows", &batch.follows);
            let loss = model.loss(&batch);
            optimizer.step(&loss.backward());
            run.step(&[&loss]);
        }
    });
}
