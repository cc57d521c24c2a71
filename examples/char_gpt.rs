//! A GPT that learns to write its own source, character by character.
//!
//!     cargo run --release --example char_gpt

#[cfg(test)]
mod pytorch;

use taper::prelude::*;

const TEXT: &str = include_str!("char_gpt.rs");
const CONTEXT: usize = 32;

/// Windows of the text; the targets are the characters that follow.
struct Windows(&'static str);

impl DataModule for Windows {
    fn train_dataloader(&self) -> Result<DataLoader> {
        let text = tensor(CharTokenizer::new(self.0).encode(self.0)?); // (characters,)
        let starts: Vec<usize> = (0..text.dim(0) - CONTEXT).step_by(4).collect();
        let rows = |shift: usize| {
            let row = |start: &usize| text.narrow(0, start + shift, CONTEXT);
            Tensor::stack(&starts.iter().map(row).collect::<Vec<_>>(), 0)
        };
        let data = TensorDataset::new(rows(0), rows(1))?; // (windows, steps) twice
        Ok(DataLoader::new(data).batch_size(32).shuffle(true))
    }
}

#[derive(Parameters)]
struct Gpt {
    tokens: Embedding,
    positions: LearnedPositionalEncoding,
    blocks: TransformerEncoder,
    head: Linear,
}

impl Gpt {
    fn new(vocabulary: usize, width: usize, heads: usize, layers: usize) -> Self {
        let block = || {
            let layer = TransformerEncoderLayer::new(width, heads).dim_feedforward(4 * width);
            layer
                .dropout(0.0)
                .activation(GELU)
                .norm_first(true)
                .batch_first(true)
        };
        Self {
            tokens: Embedding::new(vocabulary, width),
            positions: LearnedPositionalEncoding::new(CONTEXT, width).batch_first(true),
            blocks: TransformerEncoder::new(layers, block).norm(LayerNorm::new(width)),
            head: Linear::new(width, vocabulary).bias(false),
        }
    }

    /// Continues a text with the most likely characters.
    fn generate(&self, characters: &CharTokenizer, prompt: &str, count: usize) -> Result<String> {
        let mut tokens = characters.encode(prompt)?;
        for _ in 0..count {
            let context = &tokens[tokens.len().saturating_sub(CONTEXT)..];
            let logits = self.forward(&tensor(context).unsqueeze(0)); // (1, steps, vocabulary)
            tokens.push(logits.i((0, -1)).argmax(0).to_scalar());
        }
        characters.decode(&tokens)
    }
}

impl Layer for Gpt {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.positions.forward(&self.tokens.forward(x)); // (batch, steps, width)
        let x = self.blocks.forward(&x, &AttentionMask::causal());
        self.head.forward(&x) // (batch, steps, vocabulary)
    }
}

impl Module for Gpt {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        cross_entropy(&y_hat.flatten_to(1), &y.flatten_all())
    }

    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        Box::new(AdamW::new(self.parameters(), 0.003))
    }
}

fn train(mut trainer: Trainer, text: &'static str) -> Result<(Gpt, History)> {
    let mut model = Gpt::new(CharTokenizer::new(text).vocab_size(), 64, 4, 2);
    let history = trainer.fit(&mut model, &Windows(text))?;
    Ok((model, history))
}

fn main() -> Result<()> {
    manual_seed(0);
    let (model, _) = train(Trainer::new(10), TEXT)?;
    let text = model.generate(&CharTokenizer::new(TEXT), "impl Layer for ", 200)?;
    println!("{text}");
    Ok(())
}

#[test]
fn it_learns_to_write_its_own_source() -> Result<()> {
    let (model, history) = with_seed(0, || train(Trainer::new(5), TEXT))?;
    let losses = history.values("train_loss");
    assert!(losses[4] < 1.5 && losses[4] < 0.6 * losses[0], "{losses:?}");
    let text = model.generate(&CharTokenizer::new(TEXT), "impl Layer fo", 1)?;
    assert_eq!(text, "impl Layer for");
    Ok(())
}

#[test]
fn it_learns_as_in_pytorch() -> Result<()> {
    let text = include_str!("../LICENSE-MIT");
    pytorch::compare("char_gpt", |trainer| train(trainer, text))
}
