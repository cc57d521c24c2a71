//! Translation from sequence to sequence, with a search that keeps several beams.

use crate::run::{STEPS, compare};
use taper::prelude::*;
use taper::text::Beam;

const PADDING: i64 = 0;
const BEGIN: u32 = 1;

// begin
#[derive(Parameters)]
struct Translator {
    source: Embedding,
    encoder: GRU,
    target: Embedding,
    decoder: GRU,
    head: Linear,
}

impl Translator {
    fn new(source: usize, target: usize, width: usize) -> Self {
        Translator {
            source: Embedding::new(source, width),
            encoder: GRU::new(width, width).batch_first(true),
            target: Embedding::new(target, width),
            decoder: GRU::new(2 * width, width).batch_first(true),
            head: Linear::new(width, target),
        }
    }

    fn encode(&self, x: &Tensor) -> Tensor {
        self.encoder.forward(&self.source.forward(x), None).1
    }

    /// The logits of the words after each of the target, of which each sees the state of the source.
    fn forward(&self, y: &Tensor, state: &Tensor) -> Tensor {
        let context = state.transpose(0, 1).repeat((1, y.dim(1), 1)); // (batch, words, width)
        let (h, _) = self.decoder.forward(&cat(&[self.target.forward(y), context], -1), Some(state));
        self.head.forward(&h)
    }

    fn loss(&self, x: &Tensor, y: &Tensor) -> Tensor {
        let logits = self.forward(&y.i((.., ..-1)), &self.encode(x));
        let loss = CrossEntropyLoss::new().ignore_index(PADDING);
        loss.forward(&logits.flatten(0, 1), &y.i((.., 1..)).flatten_all())
    }

    fn beams(&self, x: &Tensor, count: usize, steps: usize) -> Result<Vec<Beam>> {
        let (model, state) = (self.shallow_copy(), self.encode(x));
        let decoder = Lambda::new(move |y| model.forward(y, &state.repeat((1, y.dim(0), 1))));
        generate(&decoder, &[BEGIN]).max_tokens(steps).beams(count)
    }
}
// end

#[test]
fn seq2seq() {
    compare("seq2seq", |run| {
        let model = Translator::new(12, 14, 16);
        run.weights("model", &model);
        let mut optimizer = Adam::new(model.parameters(), 0.01);
        for step in 1..=STEPS {
            // The translation is the reverse, in words of its own; some end early.
            let x = randint(1, 12, (16, 5));
            let end = randint(3, 6, (16, 1));
            let reversed = (x.flip(1) + 2) * arange(0, 5).lt(&end);
            let y = cat(&[full((16, 1), BEGIN.into()).to_dtype(DType::I64), reversed], 1);
            run.input("x", &x);
            run.input("y", &y);
            let loss = model.loss(&x, &y);
            optimizer.step(&loss.backward());
            let mut found = vec![];
            if step == STEPS {
                let beams = model.beams(&x.narrow(0, 0, 1), 3, 4).unwrap();
                found.extend(beams.iter().map(|beam| full((), beam.score)));
                found.extend(beams[0].tokens.iter().map(|token| tensor(*token)));
            }
            run.step(&[&loss].into_iter().chain(&found).collect::<Vec<_>>());
        }
    });
}
