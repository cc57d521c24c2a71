//! The networks on vectors and on sequences, as in `benches/training/torch_models.py` and `larger.py`.

use crate::models::Network;
use burn::module::{Initializer, Param};
use burn::nn::attention::generate_autoregressive_mask;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{
    Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig, LstmConfig,
};
use burn::prelude::*;
use burn::tensor::activation::{gelu, relu};

/// Linear layers with ReLU between them, or with layer normalisation and GELU.
#[derive(Module, Debug)]
pub struct Mlp {
    linears: Vec<Linear>,
    norm: Option<LayerNorm>,
}

impl Mlp {
    pub fn new(widths: &[usize], device: &Device) -> Self {
        let linear = |widths: &[usize]| LinearConfig::new(widths[0], widths[1]).init(device);
        Mlp {
            linears: widths.windows(2).map(linear).collect(),
            norm: None,
        }
    }

    pub fn with_norm(self, width: usize, device: &Device) -> Self {
        Mlp {
            norm: Some(LayerNormConfig::new(width).init(device)),
            ..self
        }
    }
}

impl Network for Mlp {
    type Input = Tensor<2>;
    type Output = Tensor<2>;

    fn forward(&self, mut x: Tensor<2>) -> Tensor<2> {
        for (i, linear) in self.linears.iter().enumerate() {
            if i > 0 {
                x = match &self.norm {
                    Some(norm) => gelu(norm.forward(x)),
                    None => relu(x),
                };
            }
            x = linear.forward(x);
        }
        x
    }
}

#[derive(Module, Debug)]
pub struct Lstm {
    lstm: burn::nn::Lstm,
    head: Linear,
}

impl Lstm {
    pub fn new(device: &Device) -> Self {
        Lstm {
            lstm: LstmConfig::new(64, 256, true).init(device),
            head: LinearConfig::new(256, 10).init(device),
        }
    }
}

impl Network for Lstm {
    type Input = Tensor<3>;
    type Output = Tensor<2>;

    fn forward(&self, x: Tensor<3>) -> Tensor<2> {
        // The last state is the output at the last step; no gradient passes through the copies of the others.
        let (_, state) = self.lstm.forward(x, None);
        self.head.forward(state.hidden)
    }
}

/// A GPT with the blocks of Burn's `TransformerEncoder`. Burn's function `attention` with a causal option is not
/// faster: in training, that function has no kernel of its own.
#[derive(Module, Debug)]
pub struct Gpt {
    tokens: Embedding,
    positions: Param<Tensor<2>>, // (steps, width)
    blocks: TransformerEncoder,
    norm: LayerNorm,
    head: Linear,
}

impl Gpt {
    pub fn new(width: usize, device: &Device) -> Self {
        let normal = Initializer::Normal {
            mean: 0.0,
            std: 1.0,
        };
        let blocks = TransformerEncoderConfig::new(width, 4 * width, 4, 4)
            .with_dropout(0.0)
            .with_norm_first(true);
        Gpt {
            tokens: EmbeddingConfig::new(65, width).init(device),
            positions: normal.init([width / 2, width], device),
            blocks: blocks.init(device),
            norm: LayerNormConfig::new(width).init(device),
            head: LinearConfig::new(width, 65).with_bias(false).init(device),
        }
    }
}

impl Network for Gpt {
    type Input = Tensor<2, Int>;
    type Output = Tensor<2>;

    fn forward(&self, x: Tensor<2, Int>) -> Tensor<2> {
        let [batch, steps] = x.dims();
        let mask = generate_autoregressive_mask(batch, steps, &x.device());
        let x = self.tokens.forward(x) + self.positions.val().unsqueeze(); // (batch, steps, width)
        let x = TransformerEncoderInput::new(x).mask_attn(mask);
        let x = self.norm.forward(self.blocks.forward(x));
        self.head.forward(x).flatten(0, 1) // (batch · steps, 65)
    }
}
