//! The sizes of a model, and the file with them.

use crate::error::{Error, Result, problem, refuse};
use crate::input;
use serde_json::{Value, json};
use std::path::Path;

/// The sizes and settings of a [`Llama`](super::Llama), with the names of Hugging Face's `config.json`.
///
/// ```
/// use taper::prelude::*;
///
/// let config = LlamaConfig::new(32000, 512, 8, 8).num_kv_heads(2).intermediate_size(1408).rope_theta(5e5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LlamaConfig {
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) num_layers: usize,
    pub(super) num_heads: usize,
    num_kv_heads: Option<usize>,
    head_dim: Option<usize>,
    intermediate_size: Option<usize>,
    pub(super) rms_norm_eps: f64,
    pub(super) rope_theta: f64,
    /// The factor, the low and the high frequency factor, and the original length of Llama 3.
    pub(super) rope_scaling: Option<[f64; 4]>,
    pub(super) sliding_window: Option<usize>,
    pub(super) qkv_bias: bool,
    pub(super) tie_word_embeddings: bool,
}

impl LlamaConfig {
    /// Creates a configuration for this many tokens, features, blocks and heads.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Llama::new(&LlamaConfig::new(100, 32, 2, 4));
    /// assert_eq!(model.parameter("model.layers.1.mlp.up_proj.weight").size(0), Some(96));
    /// ```
    pub fn new(vocab_size: usize, hidden_size: usize, num_layers: usize, num_heads: usize) -> Self {
        Self {
            vocab_size,
            hidden_size,
            num_layers,
            num_heads,
            num_kv_heads: None,
            head_dim: None,
            intermediate_size: None,
            rms_norm_eps: 1e-6,
            rope_theta: 10000.0,
            rope_scaling: None,
            sliding_window: None,
            qkv_bias: false,
            tie_word_embeddings: false,
        }
    }

    setters! {
        /// Sets the number of heads of keys and values, each of which several heads of queries share; as many as heads by
        /// default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).num_kv_heads(1);
        /// ```
        pub fn num_kv_heads(self, num_kv_heads: usize): self.num_kv_heads = Some(num_kv_heads);

        /// Sets the number of features of a head; by default the features of the model divided by the heads.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).head_dim(16);
        /// ```
        pub fn head_dim(self, head_dim: usize): self.head_dim = Some(head_dim);

        /// Sets the number of hidden units of the feed-forward networks; by default 8/3 of the features, rounded up to a
        /// multiple of 32.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).intermediate_size(64);
        /// ```
        pub fn intermediate_size(self, size: usize): self.intermediate_size = Some(size);

        /// Sets the base of the rotary positions; 10000 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).rope_theta(5e5);
        /// ```
        pub fn rope_theta(self, rope_theta: f64): self.rope_theta = rope_theta;

        /// Slows the rotary positions down, as [`RotaryEmbedding::slowed`](crate::nn::RotaryEmbedding::slowed) does.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).slowed_rope(8.0, 1.0, 4.0, 8192);
        /// ```
        pub fn slowed_rope(self, factor: f64, low: f64, high: f64, original: usize): self.rope_scaling = Some([factor, low, high, original as f64]);

        /// Sets the value that the normalisations add to the mean square; 1e-6 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).rms_norm_eps(1e-5);
        /// ```
        pub fn rms_norm_eps(self, eps: f64): self.rms_norm_eps = eps;

        /// Lets each step attend only to the last steps, as many as the window has.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).sliding_window(4096);
        /// ```
        pub fn sliding_window(self, window: usize): self.sliding_window = Some(window);

        /// Sets whether the projections of queries, keys and values have biases, as in Qwen 2; `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).qkv_bias(true);
        /// ```
        pub fn qkv_bias(self, bias: bool): self.qkv_bias = bias;

        /// Sets whether the last layer shares its weight with the embedding of the tokens; `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let config = LlamaConfig::new(100, 32, 2, 4).tie_word_embeddings(true);
        /// ```
        pub fn tie_word_embeddings(self, tie: bool): self.tie_word_embeddings = tie;
    }

    /// Reads a `config.json` of Hugging Face's format.
    ///
    /// # Errors
    /// If the file cannot be read, or describes a model of another kind.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(LlamaConfig::load("missing.json").is_err());
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_from(path.as_ref())
    }

    fn load_from(path: &Path) -> Result<Self> {
        let text = input::read(path).map_err(|reason| unreadable(path, reason))?;
        let config = serde_json::from_slice(&text).map_err(|reason| unreadable(path, reason))?;
        Self::read(&config).map_err(|error| unreadable(path, error))
    }

    /// Writes a `config.json` of Hugging Face's format, beside which
    /// [`save_parameters`](crate::nn::ParametersExt::save_parameters) can write `model.safetensors`.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_llama_{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let config = LlamaConfig::new(100, 32, 2, 4).num_kv_heads(2);
    /// let model = Llama::new(&config);
    /// config.save(folder.join("config.json"))?;
    /// model.save_parameters(folder.join("model.safetensors"))?;
    /// let other = Llama::load(&folder)?;
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_to(path.as_ref())
    }

    fn save_to(&self, path: &Path) -> Result<()> {
        std::fs::write(path, format!("{:#}\n", self.written())).map_err(|reason| {
            let advice = "Give a path in a folder that exists and can be written";
            crate::error::file("write", path, reason, advice)
        })
    }

    pub(super) fn kv_heads(&self) -> usize {
        self.num_kv_heads.unwrap_or(self.num_heads)
    }

    pub(super) fn head_size(&self) -> usize {
        self.head_dim
            .unwrap_or(self.hidden_size / self.num_heads.max(1))
    }

    /// Returns the number of hidden units of a feed-forward network.
    pub(super) fn hidden(&self) -> usize {
        let default = || {
            let size = self.hidden_size.saturating_mul(8) / 3;
            size.checked_next_multiple_of(32).unwrap_or(size)
        };
        self.intermediate_size.unwrap_or_else(default)
    }

    /// Returns the number of elements of the weights, without those of normalisations and biases. No factor counts as
    /// zero, so that a damaged file cannot ask for many layers that have none.
    pub(super) fn elements(&self) -> u128 {
        let product = |factors: &[usize]| {
            let factors = factors.iter().map(|factor| (*factor).max(1) as u128);
            factors.fold(1, u128::saturating_mul)
        };
        let (width, head) = (self.hidden_size, self.head_size());
        let heads = self.num_heads.saturating_add(self.kv_heads());
        product(&[self.num_layers, width, head, heads, 2])
            .saturating_add(product(&[self.num_layers, width, self.hidden(), 3]))
            .saturating_add(product(&[self.vocab_size, width]))
    }

    fn read(config: &Value) -> Result<Self> {
        let kind = config["model_type"].as_str().unwrap_or("llama");
        let known = ["llama", "mistral", "qwen2"];
        refuse!(if !known.contains(&kind); argument("Llama", shown(&config["model_type"]));
            ("a model_type of {}", known.join(", ")),
            "Models of other kinds have other layers or names");
        let function = &config["hidden_act"];
        if function.as_str().is_some_and(|name| name != "silu") {
            let advice = "Only the activation function of Llama is known here";
            refuse!(argument("Llama", shown(function)); "hidden_act silu", advice);
        }
        let size = |name: &str| config[name].as_u64().map(|size| size as usize);
        let needed = |name: &str| {
            let advice = "Use the config.json of the checkpoint";
            size(name).ok_or_else(|| {
                problem!(argument("config.json", shown(&config[name])); "a number {name}", advice)
            })
        };
        let number = |name: &str, default: f64| config[name].as_f64().unwrap_or(default);
        let flag = |name: &str| config[name].as_bool().unwrap_or(false);
        let windowed = kind == "mistral" || flag("use_sliding_window");
        // Newer files have the base inside of the parameters of the positions.
        let rope = match &config["rope_parameters"] {
            Value::Null => &config["rope_scaling"],
            parameters => parameters,
        };
        Ok(Self {
            num_kv_heads: size("num_key_value_heads"),
            head_dim: size("head_dim"),
            intermediate_size: size("intermediate_size"),
            rms_norm_eps: number("rms_norm_eps", 1e-6),
            rope_theta: rope["rope_theta"]
                .as_f64()
                .unwrap_or_else(|| number("rope_theta", 10000.0)),
            rope_scaling: scaling(rope)?,
            sliding_window: size("sliding_window").filter(|_| windowed),
            qkv_bias: flag("attention_bias") || kind == "qwen2",
            tie_word_embeddings: flag("tie_word_embeddings"),
            ..Self::new(
                needed("vocab_size")?,
                needed("hidden_size")?,
                needed("num_hidden_layers")?,
                needed("num_attention_heads")?,
            )
        })
    }

    fn written(&self) -> Value {
        let kind = match (self.sliding_window, self.qkv_bias) {
            (_, true) => "qwen2",
            (Some(_), _) => "mistral",
            (None, _) => "llama",
        };
        let mut config = json!({
            "model_type": kind,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "num_hidden_layers": self.num_layers,
            "num_attention_heads": self.num_heads,
            "num_key_value_heads": self.kv_heads(),
            "head_dim": self.head_size(),
            "intermediate_size": self.hidden(),
            "hidden_act": "silu",
            "rms_norm_eps": self.rms_norm_eps,
            "rope_theta": self.rope_theta,
            "tie_word_embeddings": self.tie_word_embeddings,
        });
        if let Some(window) = self.sliding_window {
            config["sliding_window"] = window.into();
            config["use_sliding_window"] = true.into();
        }
        if let Some([factor, low, high, original]) = self.rope_scaling {
            config["rope_scaling"] = json!({
                "rope_type": "llama3",
                "factor": factor,
                "low_freq_factor": low,
                "high_freq_factor": high,
                "original_max_position_embeddings": original,
            });
        }
        config
    }
}

/// Returns a value of the file as a message shows it.
fn shown(value: &Value) -> String {
    input::shortened(&value.to_string()).into_owned()
}

/// Returns how the rotary positions are slowed down.
fn scaling(rope: &Value) -> Result<Option<[f64; 4]>> {
    let kind = rope["rope_type"].as_str().or(rope["type"].as_str());
    match kind {
        None | Some("default") => Ok(None),
        Some("llama3") => {
            let names = [
                "factor",
                "low_freq_factor",
                "high_freq_factor",
                "original_max_position_embeddings",
            ];
            let found = names.map(|name| rope[name].as_f64());
            match found {
                [Some(factor), Some(low), Some(high), Some(original)] => {
                    Ok(Some([factor, low, high, original]))
                }
                _ => refuse!(argument("config.json", shown(rope));
                    ("a rope_scaling with {}", names.join(", ")),
                    "Use the config.json of the checkpoint"),
            }
        }
        Some(_) => refuse!(argument("Llama", shown(rope));
            "rope_scaling of the type llama3, or none",
            "Models with other positions would compute something else"),
    }
}

/// Returns the error for a file of a checkpoint.
pub(super) fn unreadable(path: &Path, reason: impl std::fmt::Display) -> Error {
    problem!(file("read the checkpoint", path, reason);
        "Give the folder of a checkpoint in Hugging Face's format: config.json and model.safetensors")
}
