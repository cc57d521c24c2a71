//! A small Llama that learns to write Rust from the source of Rust's library, and continues a text with a cache.
//!
//!     cargo run --release --example llama

#[cfg(test)]
mod pytorch;

use std::path::PathBuf;
use std::process::Command;
use taper::prelude::*;

const CONTEXT: usize = 64;

/// Windows of the tokens of a text; the targets are the tokens that follow.
struct Windows(Vec<u32>);

impl DataModule for Windows {
    fn train_dataloader(&self) -> Result<DataLoader> {
        let tokens = tensor(&self.0[..]); // (tokens,)
        let starts: Vec<usize> = (0..tokens.dim(0) - CONTEXT).step_by(CONTEXT / 2).collect();
        let rows = |shift: usize| {
            let row = |start: &usize| tokens.narrow(0, start + shift, CONTEXT);
            Tensor::stack(&starts.iter().map(row).collect::<Vec<_>>(), 0)
        };
        let data = TensorDataset::new(rows(0), rows(1))?; // (windows, steps) twice
        Ok(DataLoader::new(data).batch_size(16).shuffle(true))
    }
}

#[derive(Parameters)]
struct Writer {
    #[parameters(flatten)]
    llama: Llama,
}

impl Writer {
    fn new(vocabulary: usize) -> Self {
        let config = LlamaConfig::new(vocabulary, 64, 2, 4).num_kv_heads(2);
        let config = config.intermediate_size(176).rms_norm_eps(1e-5);
        Self {
            llama: Llama::new(&config),
        }
    }
}

impl Layer for Writer {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.llama.forward(x) // (batch, steps, vocabulary)
    }
}

impl Module for Writer {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        cross_entropy(&y_hat.flatten_to(1), &y.flatten_all())
    }

    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        Box::new(AdamW::new(self.parameters(), 0.003))
    }
}

fn train(mut trainer: Trainer, text: &str) -> Result<(Writer, BpeTokenizer, History)> {
    let tokenizer = BpeTokenizer::train(text, 512)?;
    let mut model = Writer::new(tokenizer.vocab_size());
    let history = trainer.fit(&mut model, &Windows(tokenizer.encode(text)?))?;
    Ok((model, tokenizer, history))
}

/// Returns a part of the source of Rust's library, without comments.
fn library_source() -> Result<String> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let folder = sysroot.join("lib/rustlib/src/rust/library/core/src");
    let mut text = String::new();
    for file in [
        "option.rs",
        "result.rs",
        "bool.rs",
        "iter/traits/iterator.rs",
        "str/mod.rs",
    ] {
        let source = std::fs::read_to_string(folder.join(file))?;
        let is_code = |line: &&str| !line.trim_start().starts_with("//") && !line.trim().is_empty();
        for line in source.lines().filter(is_code) {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(text)
}

fn main() -> Result<()> {
    manual_seed(0);
    let (model, tokenizer, history) = train(Trainer::new(5), &library_source()?)?;
    println!("{}", history.show_text());
    let prompt = "    pub const fn unwrap";
    print!("{prompt}");
    let tokens = generate(&model, &tokenizer.encode(prompt)?).max_tokens(200);
    for piece in tokens.temperature(0.7).top_p(0.9).stream(&tokenizer) {
        print!("{}", piece?);
    }
    println!();
    Ok(())
}

#[test]
fn it_learns_and_continues_a_text_with_its_cache() -> Result<()> {
    let text = include_str!("../LICENSE-APACHE");
    let (model, tokenizer, history) = with_seed(0, || train(Trainer::new(25), text))?;
    let losses = history.values("train_loss");
    assert!(losses[24] < 1.5, "{losses:?}");
    let prompt = tokenizer.encode("Licensed under the Apache License")?;
    let mut tokens = generate(&model, &prompt).temperature(0.0).max_tokens(20);
    let continued: Vec<u32> = tokens.by_ref().collect();
    assert!(tokens.uses_cache());
    let text = tokenizer.decode(&continued)?;
    assert!(text.starts_with(", Version 2.0"), "{text}");
    Ok(())
}

#[test]
fn it_learns_as_in_pytorch() -> Result<()> {
    let text = include_str!("../LICENSE-APACHE");
    pytorch::compare("llama", |trainer| train(trainer, text))
}
