//! A word language model with an LSTM, whose output layer has the weights of the embedding.

use crate::run::{STEPS, compare};
use taper::prelude::*;

// begin
#[derive(Parameters)]
struct Model {
    encoder: Embedding,
    lstm: LSTM,
    decoder: Linear,
}

impl Model {
    fn new(tokens: usize, size: usize) -> Self {
        let encoder = Embedding::new(tokens, size);
        encoder.init_weights(Init::Uniform(0.1));
        let bias = Parameter::new(&zeros(tokens));
        let decoder = Linear::from_parameters(encoder.parameter("weight"), Some(bias));
        Model { encoder, lstm: LSTM::new(size, size).num_layers(2), decoder }
    }

    fn loss(&self, x: &Tensor, y: &Tensor) -> Tensor {
        let (h, _) = self.lstm.forward(&self.encoder.forward(x), None);
        cross_entropy(&self.decoder.forward(&h).flatten(0, 1), &y.flatten_all())
    }
}
// end

#[test]
fn word_language_model() {
    compare("word_language_model", |run| {
        let model = Model::new(20, 16);
        run.weights("model", &model);
        let mut optimizer = SGD::new(model.parameters(), 1.0);
        for _ in 0..STEPS {
            let text = (randint(0, 20, (1, 8)) + arange(0, 11).reshape((11, 1)) * 3).to_dtype(DType::F64);
            let text = (&text - (&text / 20.0).floor() * 20.0).to_dtype(DType::I64); // (11, 8)
            let (x, y) = (text.i(..10), text.i(1..));
            run.input("x", &x);
            run.input("y", &y);
            let loss = model.loss(&x, &y);
            let mut gradients = loss.backward();
            clip_gradients(&model.parameters(), &mut gradients, 0.25);
            optimizer.step(&gradients);
            run.step(&[&loss]);
        }
    });
}
