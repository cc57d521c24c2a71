//! Language models: generation of text, and models with Llama's parameters.
//!
//! - [`generate`] continues a sequence of tokens with any [`Layer`](crate::nn::Layer) that maps tokens `(batch, steps)`
//!   to logits `(batch, steps, vocabulary)`: sampling, beams, and text that appears while it is generated. A
//!   [`KvCache`](crate::nn::KvCache) is used where the model allows it.
//! - [`Tokenizer`](crate::data::Tokenizer) is the trait of the tokenizers in [`data`](crate::data).
//! - [`Llama`] is the model of Llama, Mistral and others, and loads their checkpoints.
//!
//! ```
//! use taper::prelude::*;
//!
//! let tokenizer = CharTokenizer::new("to be or not to be");
//! let model = Llama::new(&LlamaConfig::new(tokenizer.vocab_size(), 16, 2, 4).num_kv_heads(2));
//! let tokens = generate(&model, &tokenizer.encode("to be")?).max_tokens(10).temperature(0.8).seed(0);
//! let text = tokens.text(&tokenizer)?;
//! assert_eq!(text.chars().count(), 10);
//! # Ok::<(), Error>(())
//! ```

mod beams;
mod continuation;
mod generate;
mod llama;
mod sampling;
mod stream;
#[cfg(test)]
mod tests;

pub use beams::Beam;
pub use generate::{Generate, generate};
pub use llama::{Llama, LlamaConfig};
pub use stream::Stream;
