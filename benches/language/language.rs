//! Generation of text and training of adapters, for `run.py`.
//!
//!     language FOLDER WAY
//!
//! FOLDER has a checkpoint. With the WAY `cache`, `no-cache`, `int8` or `int4`, it has `prompt.json`, and the program prints
//! the milliseconds of the prompt and of each token, and the logits of the last token of the prompt. With `full` and `lora`,
//! it has `training.json` and the first adapters, and the program prints the milliseconds and the loss of each step.

use serde_json::{Value, json};
use std::time::Instant;
use taper::prelude::*;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, way] = &arguments[..] else {
        panic!("expected a folder and a way")
    };
    let model = Llama::load(folder)?;
    let printed = match way.as_str() {
        "full" | "lora" => train(folder, way, model)?,
        _ => generate(folder, way, model)?,
    };
    println!("{printed}");
    Ok(())
}

fn read(path: String) -> Result<Value> {
    let text = std::fs::read_to_string(path)?;
    Ok(serde_json::from_str(&text).expect("JSON"))
}

fn tokens(list: &Value) -> Vec<u32> {
    let tokens = list.as_array().expect("tokens").iter();
    tokens
        .map(|it| it.as_u64().expect("a token") as u32)
        .collect()
}

fn generate(folder: &str, way: &str, mut model: Llama) -> Result<Value> {
    let request = read(format!("{folder}/prompt.json"))?;
    let prompt = tokens(&request["prompt"]);
    let count = request["tokens"].as_u64().expect("a number") as usize;
    match way {
        "int8" => _ = quantize(&mut model, 8),
        "int4" => _ = quantize(&mut model, 4),
        _ => {}
    }
    let times = match way {
        "no-cache" => without_cache(&model, &prompt, count),
        _ => with_cache(&model, &prompt, count),
    };
    let x = tensor(&prompt[..]).unsqueeze(0); // (1, steps)
    let logits = no_grad(|| model.forward(&x)).i((0, -1)).to_vec1::<f32>();
    Ok(json!({ "milliseconds": times, "logits": logits }))
}

/// Trains all parameters, or adapters beside all linear layers of the blocks.
fn train(folder: &str, way: &str, mut model: Llama) -> Result<Value> {
    let request = read(format!("{folder}/training.json"))?;
    let rank = request["rank"].as_u64().expect("a rank") as usize;
    let targets = [
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
    ];
    let parameters = match way {
        "lora" => {
            let config = LoraConfig::new(rank).alpha(2.0 * rank as f64);
            let adapters = config.targets(&targets).apply(&mut model);
            adapters.load(format!("{folder}/adapters.safetensors"))?;
            adapters.parameters()
        }
        _ => model.parameters(),
    };
    let count: usize = parameters.iter().map(|it| it.tensor().elem_count()).sum();
    let mut optimizer = AdamW::new(parameters, 1e-3);
    let (mut times, mut losses) = (vec![], vec![]);
    for batch in request["batches"].as_array().expect("batches") {
        let rows = batch.as_array().expect("rows");
        let tokens: Vec<u32> = rows.iter().flat_map(tokens).collect();
        let batch = tensor(&tokens[..]).reshape((rows.len(), ())); // (batch, steps + 1)
        let steps = batch.dims()[1] - 1;
        let began = Instant::now();
        let logits = model.forward(&batch.narrow(1, 0, steps)); // (batch, steps, vocabulary)
        let y = batch.narrow(1, 1, steps).flatten_all(); // (batch · steps,)
        let loss = cross_entropy(&logits.flatten_to(1), &y);
        optimizer.step(&loss.backward());
        losses.push(loss.item());
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(json!({ "milliseconds": times, "losses": losses, "parameters": count }))
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
