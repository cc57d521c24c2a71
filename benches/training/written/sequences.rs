//! Networks of sequences and words.

use taper::prelude::*;

pub(super) fn encoder_layer(width: usize, hidden: usize) -> TransformerEncoderLayer {
    let layer = TransformerEncoderLayer::new(width, 4).dim_feedforward(hidden);
    layer
        .dropout(0.0)
        .activation(GELU)
        .norm_first(true)
        .batch_first(true)
}

#[derive(Parameters)]
pub(super) struct Gru(pub(super) GRU);

impl Layer for Gru {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.0.forward(x, None).0.i((.., -1))
    }
}

#[derive(Parameters)]
pub(super) struct Tagger {
    words: Embedding,
    lstm: LSTM,
}

impl Tagger {
    pub(super) fn new() -> Self {
        Tagger {
            words: Embedding::new(5000, 64),
            lstm: LSTM::new(64, 64).bidirectional(true).batch_first(true),
        }
    }
}

impl Layer for Tagger {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.lstm
            .forward(&self.words.forward(x), None)
            .0
            .flatten_to(1) // (batch · steps, 128)
    }
}

#[derive(Parameters)]
pub(super) struct Translation {
    words: Embedding,
    encoder: TransformerEncoder,
    decoder: TransformerDecoder,
    head: Linear,
}

impl Translation {
    pub(super) fn new() -> Self {
        let layer = || {
            let layer = TransformerDecoderLayer::new(128, 4).dim_feedforward(512);
            layer
                .dropout(0.0)
                .activation(GELU)
                .norm_first(true)
                .batch_first(true)
        };
        Translation {
            words: Embedding::new(1000, 128),
            encoder: TransformerEncoder::new(2, || encoder_layer(128, 512)),
            decoder: TransformerDecoder::new(2, layer),
            head: Linear::new(128, 1000),
        }
    }
}

impl Layer for Translation {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.words.forward(x) * 128f64.sqrt();
        let memory = self.encoder.forward(&x, &AttentionMask::none());
        let y = self.decoder.forward(
            &x,
            &memory,
            &AttentionMask::causal(),
            &AttentionMask::none(),
        );
        self.head.forward(&y).flatten_to(1)
    }
}

/// Dilated convolutions with gates.
#[derive(Parameters)]
pub(super) struct Gated {
    layers: Vec<(Conv1d, Conv1d, Conv1d)>,
    head: Linear,
}

impl Gated {
    pub(super) fn new() -> Self {
        let dilated = |step: usize| Conv1d::new(32, 32, 3).padding(step).dilation(step);
        let layer = |step| (dilated(step), dilated(step), Conv1d::new(32, 32, 1));
        Gated {
            layers: [1, 2, 4, 8, 16, 32].map(layer).into(),
            head: Linear::new(32, 10),
        }
    }
}

impl Layer for Gated {
    fn forward(&self, x: &Tensor) -> Tensor {
        let (mut x, mut skipped) = (x.clone(), x.zeros_like());
        for (values, gate, mix) in &self.layers {
            let y = mix.forward(&(values.forward(&x).tanh() * gate.forward(&x).sigmoid()));
            skipped += &y;
            x += y;
        }
        self.head.forward(&skipped.relu().mean(2))
    }
}

/// Skip-grams with negative samples; the tokens are the center, its context and the noise.
#[derive(Parameters)]
pub(super) struct SkipGram(Embedding, Embedding);

impl SkipGram {
    pub(super) fn new() -> Self {
        SkipGram(Embedding::new(20_000, 100), Embedding::new(20_000, 100))
    }
}

impl Layer for SkipGram {
    /// Returns the loss.
    fn forward(&self, x: &Tensor) -> Tensor {
        let center = self.0.forward(&x.i((.., 0..1))); // (batch, 1, 100)
        let words = self.1.forward(&x.i((.., 1..))); // (batch, 6, 100)
        let scores = (center * words).sum(2);
        let loss = -log_sigmoid(&scores.i((.., 0))).mean_all();
        loss - log_sigmoid(&-scores.i((.., 1..))).sum(1).mean_all()
    }
}

pub(super) fn log_sigmoid(x: &Tensor) -> Tensor {
    -softplus(&-x, 1.0, 20.0)
}

#[derive(Parameters)]
pub(super) struct TextCnn {
    words: Embedding,
    convolutions: Vec<Conv1d>,
    head: Sequential,
}

impl TextCnn {
    pub(super) fn new() -> Self {
        TextCnn {
            words: Embedding::new(5000, 128),
            convolutions: [3, 4, 5].map(|size| Conv1d::new(128, 100, size)).into(),
            head: seq![Dropout::new(0.5), Linear::new(300, 10)],
        }
    }
}

impl Layer for TextCnn {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.words.forward(x).transpose(1, 2); // (batch, width, steps)
        let found = self
            .convolutions
            .iter()
            .map(|layer| layer.forward(&x).relu().max(2));
        self.head.forward(&cat(&found.collect::<Vec<_>>(), 1))
    }
}

#[derive(Parameters)]
pub(super) struct Encoder(pub(super) TransformerEncoder);

impl Layer for Encoder {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.0.forward(x, &AttentionMask::none()).mean(1)
    }
}
