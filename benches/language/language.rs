//! Generation of text, for `run.py`.
//!
//!     language FOLDER WAY
//!
//! FOLDER has a checkpoint and `prompt.json`, WAY is `cache`, `no-cache`, `int8` or `int4`. Prints the milliseconds of the
//! prompt and of each token, the bytes of the cache, and the logits of the last token of the prompt.

use std::time::Instant;
use taper::prelude::*;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, way] = &arguments[..] else {
        panic!("expected a folder and a way")
    };
    let mut model = Llama::load(folder)?;
    let request = std::fs::read_to_string(format!("{folder}/prompt.json"))?;
    let request: serde_json::Value = serde_json::from_str(&request).expect("JSON");
    let prompt: Vec<u32> = { request["prompt"].as_array().expect("tokens") }
        .iter()
        .map(|token| token.as_u64().expect("a token") as u32)
        .collect();
    let count = request["tokens"].as_u64().expect("a number") as usize;
    match way.as_str() {
        "int8" => _ = quantize(&mut model, 8),
        "int4" => _ = quantize(&mut model, 4),
        _ => {}
    }
    let times = match way.as_str() {
        "no-cache" => without_cache(&model, &prompt, count),
        _ => with_cache(&model, &prompt, count),
    };
    let x = tensor(&prompt[..]).unsqueeze(0); // (1, steps)
    let logits = no_grad(|| model.forward(&x)).i((0, -1)).to_vec1::<f32>();
    println!(
        "{}",
        serde_json::json!({ "milliseconds": times, "logits": logits })
    );
    Ok(())
}

fn milliseconds(work: impl FnOnce() -> Tensor) -> (u32, f64) {
    let began = Instant::now();
    let logits = work().i((0, -1));
    let token = logits.argmax(0).to_scalar();
    (token, began.elapsed().as_secs_f64() * 1e3)
}

fn with_cache(model: &Llama, prompt: &[u32], count: usize) -> Vec<f64> {
    let mut cache = KvCache::new();
    let (mut next, mut times) = (prompt.to_vec(), vec![]);
    for _ in 0..count {
        let x = tensor(&next[..]).unsqueeze(0); // (1, steps)
        let (token, time) = milliseconds(|| cache.forward(model, &x));
        next = vec![token];
        times.push(time);
    }
    times
}

fn without_cache(model: &Llama, prompt: &[u32], count: usize) -> Vec<f64> {
    let (mut tokens, mut times) = (prompt.to_vec(), vec![]);
    for _ in 0..count {
        let x = tensor(&tokens[..]).unsqueeze(0); // (1, steps)
        let (token, time) = milliseconds(|| no_grad(|| model.forward(&x)));
        tokens.push(token);
        times.push(time);
    }
    times
}
