//! Generation with models of all kinds.

use super::*;
use crate::data::{BpeTokenizer, CharTokenizer};
use crate::error::{Result, attempt};
use crate::nn::*;
use crate::tensor::{Tensor, arange, manual_seed, no_grad, with_seed, zeros};
use taper_macros::Parameters;

const TOKENS: usize = 12;

/// The layers of a GPT.
#[derive(Parameters)]
struct Gpt {
    tokens: Embedding,
    positions: LearnedPositionalEncoding,
    blocks: TransformerEncoder,
    head: Linear,
    /// Whether the model adds the positions itself, without knowing of a cache.
    by_hand: bool,
}

impl Gpt {
    fn new(context: usize, batch_first: bool) -> Self {
        let block = || {
            let layer = TransformerEncoderLayer::new(16, 2).dim_feedforward(32);
            layer.norm_first(true).batch_first(batch_first)
        };
        Self {
            tokens: Embedding::new(TOKENS, 16),
            positions: LearnedPositionalEncoding::new(context, 16).batch_first(batch_first),
            blocks: TransformerEncoder::new(2, block),
            head: Linear::new(16, TOKENS),
            by_hand: false,
        }
    }
}

impl Layer for Gpt {
    fn forward(&self, x: &Tensor) -> Tensor {
        let steps_first = self.describe().contains("batch_first=false");
        let mut x = self.tokens.forward(x); // (batch, steps, features)
        if steps_first {
            x = x.transpose(0, 1).contiguous();
        }
        x = match self.by_hand {
            false => self.positions.forward(&x),
            true => {
                x.clone()
                    + self
                        .positions
                        .parameter("weight")
                        .tensor()
                        .narrow(0, 0, x.dim(1))
                        * 50.0
            }
        };
        let mut y = self.blocks.forward(&x, &AttentionMask::causal());
        if steps_first {
            y = y.transpose(0, 1).contiguous();
        }
        self.head.forward(&y)
    }
}

/// A model whose output for a step is the mean of all steps up to it, without attention.
#[derive(Parameters)]
struct Means(Embedding);

impl Layer for Means {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.0.forward(x);
        let count = (arange(0, x.dim(1) as i64) + 1)
            .to_dtype(x.dtype())
            .unsqueeze(1);
        x.cumsum(1) / count
    }
}

/// Returns the most likely tokens by calling the model with all steps.
fn by_all_steps(model: &dyn Layer, prompt: &[u32], count: usize, context: usize) -> Vec<u32> {
    let mut tokens = prompt.to_vec();
    for _ in 0..count {
        let last = &tokens[tokens.len().saturating_sub(context)..];
        let x = Tensor::from_slice(last, (1, last.len()));
        let logits = evaluating(model, || no_grad(|| model.forward(&x)));
        tokens.push(logits.i((0, -1)).argmax(0).to_scalar());
    }
    tokens.split_off(prompt.len())
}

fn greedy<'a>(model: &'a dyn Layer, count: usize) -> Generate<'a> {
    generate(model, &[3, 1, 4])
        .temperature(0.0)
        .max_tokens(count)
}

#[test]
fn any_model_generates_what_all_steps_give() {
    manual_seed(1);
    let mut by_hand = Gpt::new(40, true);
    by_hand.by_hand = true;
    let models: [(Box<dyn Layer>, bool); 4] = [
        (Box::new(Gpt::new(40, true)), true),
        (Box::new(Gpt::new(40, false)), true),
        (Box::new(by_hand), false),
        (Box::new(Means(Embedding::new(TOKENS, TOKENS))), false),
    ];
    for (model, is_cached) in &models {
        let mut tokens = greedy(&**model, 30);
        let found: Vec<u32> = tokens.by_ref().collect();
        assert_eq!(
            found,
            by_all_steps(&**model, &[3, 1, 4], 30, 40),
            "{model:?}"
        );
        assert_eq!(tokens.uses_cache(), *is_cached, "{model:?}");
    }
}

#[test]
fn a_text_longer_than_the_context_is_cut() {
    manual_seed(2);
    let model = Gpt::new(8, true);
    let tokens = greedy(&model, 20).context(8).tokens().unwrap();
    assert_eq!(tokens, by_all_steps(&model, &[3, 1, 4], 20, 8));
    let error = attempt(|| greedy(&model, 20).tokens())
        .unwrap_err()
        .to_string();
    assert!(error.contains("a sequence has 9 steps"), "{error}");
}

#[test]
fn the_modes_of_the_model_stay() {
    let model = Gpt::new(40, true);
    greedy(&model, 3).tokens().unwrap();
    let x = zeros((1, 4)).to_dtype(candle_core::DType::U32);
    // Dropout is still in training mode.
    let [a, b] = [0, 1].map(|_| model.forward(&x).to_vec::<f32>());
    assert_ne!(a, b);
}

#[test]
fn a_seed_gives_the_same_text() {
    let model = Llama::new(&LlamaConfig::new(TOKENS, 16, 1, 2));
    let drawn = |seed| generate(&model, &[0]).seed(seed).tokens().unwrap();
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    let ambient = || with_seed(5, || generate(&model, &[0]).tokens().unwrap());
    assert_eq!(ambient(), ambient());
}

/// A model that always continues a text with the next letter of another one.
#[derive(Parameters)]
struct Recites(Vec<u32>);

impl Layer for Recites {
    fn forward(&self, x: &Tensor) -> Tensor {
        let steps = x.dim(1);
        let next = self.0[steps % self.0.len()];
        let mut logits = vec![0.0f32; steps * 300];
        logits[(steps - 1) * 300 + next as usize] = 9.0;
        Tensor::from_vec(logits, (1, steps, 300))
    }
}

#[test]
fn pieces_have_whole_characters_and_end_before_a_stop() -> Result<()> {
    let tokenizer = BpeTokenizer::train("", 256)?; // a token for each byte
    let text = "né 🦀 hello";
    let tokens = tokenizer.encode(text)?;
    let model = Recites(tokens.clone());
    let recited = || {
        generate(&model, &tokens[..1])
            .temperature(0.0)
            .max_tokens(tokens.len() - 1)
    };
    let pieces: Vec<String> = recited().stream(&tokenizer).collect::<Result<_>>()?;
    assert_eq!(pieces, ["é", " ", "🦀", " ", "h", "e", "l", "l", "o"]);
    assert_eq!(recited().text(&tokenizer)?, "é 🦀 hello");
    assert_eq!(recited().show(&tokenizer)?, "é 🦀 hello");
    assert_eq!(recited().stop("lo").text(&tokenizer)?, "é 🦀 hel");
    // The first l waits until it is clear that it does not begin the stop.
    let pieces: Vec<String> = recited()
        .stop("lx")
        .stream(&tokenizer)
        .collect::<Result<_>>()?;
    assert_eq!(pieces, ["é", " ", "🦀", " ", "h", "e", "l", "lo"]);
    let end = *tokens.last().unwrap();
    assert_eq!(recited().stop_token(end).text(&tokenizer)?, "é 🦀 hell");
    // A character that is cut off by the end.
    let cut = generate(&model, &tokens[..4])
        .temperature(0.0)
        .max_tokens(2);
    assert_eq!(cut.text(&tokenizer)?, "\u{fffd}");
    Ok(())
}

#[test]
fn wrong_models_and_prompts_are_explained() {
    let model = Llama::new(&LlamaConfig::new(TOKENS, 16, 1, 2));
    let message = |tokens: Generate| attempt(|| tokens.tokens()).unwrap_err().to_string();
    assert!(message(generate(&model, &[])).contains("the prompt has no token"));
    let flat = crate::seq![Embedding::new(5, 5), Flatten];
    assert!(message(generate(&flat, &[1])).contains("expected a model that returns logits"));
    model
        .parameter("model.norm.weight")
        .set(&crate::tensor::full(16, f64::NAN));
    assert!(message(generate(&model, &[1])).contains("logits are NaN"));
    let characters = CharTokenizer::new("ab");
    let model = Recites(vec![200]);
    let error = generate(&model, &[1])
        .temperature(0.0)
        .text(&characters)
        .unwrap_err();
    assert!(
        error.to_string().starts_with("CharTokenizer: token 200"),
        "{error}"
    );
}

#[test]
fn beams_end_at_a_stop_token() {
    manual_seed(3);
    let model = Gpt::new(40, true);
    let beams = generate(&model, &[3])
        .max_tokens(12)
        .stop_token(5)
        .beams(3)
        .unwrap();
    assert_eq!(beams.len(), 3);
    for beam in &beams {
        let stops = beam.tokens.iter().filter(|token| **token == 5).count();
        assert!(
            stops == 0 && beam.tokens.len() == 12 || stops == 1 && beam.tokens.last() == Some(&5)
        );
    }
    // A search that keeps everything of two steps finds the most likely pair.
    let best = generate(&model, &[3]).max_tokens(2).beams(TOKENS).unwrap();
    let score = |first: u32, second: u32| {
        let x = Tensor::from_slice(&[3, first], (1, 2));
        let logs = evaluating(&model, || model.forward(&x))
            .log_softmax(-1)
            .to_vec::<f32>();
        logs[first as usize] + logs[TOKENS + second as usize]
    };
    let n = TOKENS as u32;
    let all = (0..n * n).map(|pair| score(pair / n, pair % n));
    let most = all.fold(f32::NEG_INFINITY, f32::max);
    assert!((best[0].score * 2.0 - f64::from(most)).abs() < 1e-4);
}
