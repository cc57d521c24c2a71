//! Language models: with an LSTM (Zaremba et al., 2014), BERT (Devlin et al., 2018), and bigrams.

use taper::prelude::*;

const WORDS: usize = 1000;

layer! {
    pub(super) struct Lstm {
        words = Embedding::new(WORDS, 192),
        dropout = Dropout::new(0.3),
        let lstm = LSTM::new(192, 192).num_layers(3).dropout(0.3);
        lstm: LSTM = lstm.batch_first(true),
        head = Linear::new(192, WORDS),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.dropout.forward(&self.words.forward(x));
        let (y, _) = self.lstm.forward(&x, None);
        self.head.forward(&self.dropout.forward(&y)).flatten_to(1)
    }
}

layer! {
    pub(super) struct Bert {
        words = Embedding::new(WORDS, 128),
        positions = Embedding::new(64, 128),
        norm = LayerNorm::new(128),
        encoder = TransformerEncoder::new(2, || {
            let layer = TransformerEncoderLayer::new(128, 4).dim_feedforward(512);
            layer.dropout(0.1).activation(GELU).batch_first(true)
        }),
        head = seq![
            Linear::new(128, 128),
            GELU,
            LayerNorm::new(128),
            Linear::new(128, WORDS)
        ],
    }
    /// Returns the loss for the masked words.
    fn forward(&self, x: &Tensor) -> Tensor {
        let masked = rand(x.dims()).lt(0.15);
        let target = masked.where_cond(x, -100).flatten_all();
        let x = x.masked_fill(&masked, 0);
        let positions = self.positions.forward(&arange(0, x.dim(1)));
        let h = self.norm.forward(&(self.words.forward(&x) + positions));
        let h = self.encoder.forward(&h, &AttentionMask::none());
        let logits = self.head.forward(&h).flatten_to(1);
        let loss = CrossEntropyLoss::new().ignore_index(-100);
        loss.forward(&logits, &target)
    }
}

pub(super) fn bigram() -> Sequential {
    seq![Embedding::new(65, 65), Lambda::new(|x| x.flatten_to(1))]
}
