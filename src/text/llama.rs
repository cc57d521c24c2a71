//! The language model of Llama, Mistral, Qwen 2 and others.

mod checkpoint;
mod config;

pub use config::LlamaConfig;

use crate::erased::Erased;
use crate::error::{Result, attempt};
use crate::nn::{
    Embedding, GroupedQueryAttention, Init, Layer, Linear, Parameters, ParametersExt, RMSNorm,
    RotaryEmbedding, state_of,
};
use crate::tensor::Tensor;
use std::path::Path;

/// A language model with the architecture and the parameters' names of Llama: blocks of
/// [`GroupedQueryAttention`] with rotary positions, and of a gated feed-forward network with SiLU, each after an
/// [`RMSNorm`]. Mistral, Qwen 2, SmolLM and others have the same.
///
/// The initial weights are normal random values of standard deviation 0.02. From Touvron et al., 2023.
///
/// # Shapes
/// Tokens, integers `(batch, steps)`, to logits `(batch, steps, vocabulary)`.
///
/// ```
/// use taper::prelude::*;
///
/// let config = LlamaConfig::new(100, 32, 2, 4).num_kv_heads(2);
/// let model = Llama::new(&config);
/// let logits = model.forward(&tensor(&[[3, 1, 4]])); // (1, 3, 100)
/// assert_eq!(logits.dims(), [1, 3, 100]);
/// assert_eq!(model.parameter("model.layers.0.self_attn.k_proj.weight").size(0), Some(16));
/// ```
#[derive(Parameters)]
pub struct Llama {
    model: Erased<Decoder>,
    lm_head: Linear,
}

#[derive(Parameters)]
struct Decoder {
    embed_tokens: Embedding,
    layers: Vec<Block>,
    norm: RMSNorm,
}

#[derive(Parameters)]
struct Block {
    input_layernorm: RMSNorm,
    self_attn: GroupedQueryAttention,
    post_attention_layernorm: RMSNorm,
    mlp: GatedNetwork,
}

/// The feed-forward network: a product of two linear layers, one of them with SiLU, then a third. From Shazeer, 2020.
#[derive(Parameters)]
struct GatedNetwork {
    gate_proj: Linear,
    up_proj: Linear,
    down_proj: Linear,
}

impl Llama {
    /// Creates a model with random weights, on the default device.
    ///
    /// # Panics
    /// If a size is 0, or heads do not divide what they share.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let tied = Llama::new(&LlamaConfig::new(100, 32, 1, 4).tie_word_embeddings(true));
    /// let untied = Llama::new(&LlamaConfig::new(100, 32, 1, 4));
    /// assert_eq!(untied.num_parameters() - tied.num_parameters(), 100 * 32);
    /// ```
    #[track_caller]
    pub fn new(config: &LlamaConfig) -> Self {
        let (vocabulary, width) = (config.vocab_size, config.hidden_size);
        let embed_tokens = Embedding::new(vocabulary, width);
        let lm_head = match config.tie_word_embeddings {
            true => Linear::tied(embed_tokens.parameter("weight")),
            false => Linear::new(width, vocabulary).bias(false),
        };
        let mut layers = Vec::with_capacity(config.num_layers);
        for _ in 0..config.num_layers {
            layers.push(Block::new(config));
        }
        let norm = RMSNorm::new(width).eps(config.rms_norm_eps);
        let model = Decoder {
            embed_tokens,
            layers,
            norm,
        };
        let model = model.into();
        let llama = Self { model, lm_head };
        llama.init_weights(Init::Normal(0.02));
        llama
    }

    /// Loads a model from a folder with `config.json` and `model.safetensors`, or the parts that
    /// `model.safetensors.index.json` names, as Hugging Face's library writes them. The parameters are converted to
    /// `f32`.
    ///
    /// # Errors
    /// If a file is missing or damaged, or the model is of another kind.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = Llama::load("missing").unwrap_err().to_string();
    /// assert!(error.starts_with("cannot read the checkpoint"));
    /// ```
    pub fn load(folder: impl AsRef<Path>) -> Result<Self> {
        Self::load_from(folder.as_ref())
    }

    fn load_from(folder: &Path) -> Result<Self> {
        let config = LlamaConfig::load(folder.join("config.json"))?;
        checkpoint::check_size(folder, &config)?;
        // Sizes that do not fit each other are a fault of the file.
        let model = attempt(|| Self::new(&config))?;
        checkpoint::load(folder, &state_of(&model))?;
        Ok(model)
    }
}

impl Block {
    #[track_caller]
    fn new(config: &LlamaConfig) -> Self {
        let (width, hidden) = (config.hidden_size, config.hidden());
        let linear = |inputs, outputs| Linear::new(inputs, outputs).bias(false);
        let norm = || RMSNorm::new(width).eps(config.rms_norm_eps);
        let mut rope = RotaryEmbedding::new(config.head_size()).base(config.rope_theta);
        if let Some([factor, low, high, original]) = config.rope_scaling {
            rope = rope.slowed(factor, low, high, original as usize);
        }
        let mut self_attn = GroupedQueryAttention::with_head_dim(
            width,
            config.num_heads,
            config.kv_heads(),
            config.head_size(),
        )
        .rope(rope)
        .qkv_bias(config.qkv_bias);
        if let Some(window) = config.sliding_window {
            self_attn = self_attn.window(window);
        }
        Self {
            input_layernorm: norm(),
            self_attn,
            post_attention_layernorm: norm(),
            mlp: GatedNetwork {
                gate_proj: linear(width, hidden),
                up_proj: linear(width, hidden),
                down_proj: linear(hidden, width),
            },
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.self_attn.forward(&self.input_layernorm.forward(x));
        let y = self.post_attention_layernorm.forward(&x);
        let gated = self.mlp.gate_proj.forward(&y).silu() * self.mlp.up_proj.forward(&y);
        x + self.mlp.down_proj.forward(&gated)
    }
}

impl Layer for Llama {
    fn forward(&self, input: &Tensor) -> Tensor {
        let mut x = self.model.embed_tokens.forward(input); // (batch, steps, hidden)
        for layer in &self.model.layers {
            x = layer.forward(&x);
        }
        self.lm_head.forward(&self.model.norm.forward(&x)) // (batch, steps, vocabulary)
    }

    fn into_box(self) -> Box<dyn Layer> {
        Box::new(self)
    }
}

#[cfg(test)]
mod tests;
