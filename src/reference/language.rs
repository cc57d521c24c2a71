//! Language models: the same weights as in PyTorch give the same logits, gradients, texts and trained adapters.

use super::{Tensors, assert_close, below, devices, read, tolerance};
use crate::nn::*;
use crate::ops::cross_entropy;
use crate::optim::{Adam, Optimizer};
use crate::tensor::Tensor;
use crate::text::{Llama, LlamaConfig, generate};

/// Creates the model of a case, with PyTorch's weights.
fn model(name: &str, case: &Tensors) -> Llama {
    let config = LlamaConfig::new(37, 32, 2, 4)
        .num_kv_heads(2)
        .intermediate_size(48)
        .rms_norm_eps(1e-5);
    let config = match name {
        "tied" => config.tie_word_embeddings(true),
        "biased" => config.qkv_bias(true).sliding_window(5),
        "scaled" => config.slowed_rope(4.0, 1.0, 4.0, 16),
        _ => config,
    };
    let mut model = Llama::new(&config);
    model.to_device(case["logits"].device());
    let weights = below(case, "weights").into_iter().collect::<Vec<_>>();
    model.load_state_dict(&weights).unwrap();
    model
}

fn loss(logits: &Tensor, tokens: &Tensor) -> Tensor {
    let steps = tokens.dim(1);
    let targets = tokens.narrow(1, 1, steps - 1).contiguous();
    cross_entropy(
        &logits.narrow(1, 0, steps - 1).flatten_to(1),
        &targets.flatten_all(),
    )
}

#[test]
fn llama_agrees_with_pytorch() {
    for device in devices() {
        let all = read("language", &device);
        let (tokens, near) = (&all["tokens"], tolerance(&device));
        for name in ["plain", "tied", "biased", "scaled"] {
            let case = below(&all, name);
            let model = model(name, &case);
            let logits = model.forward(tokens);
            assert_close(&logits, &case["logits"], near, name);
            let loss = loss(&logits, tokens);
            assert_close(&loss, &case["loss"], near, name);
            let gradients = loss.backward();
            for (key, expected) in below(&case, "grad") {
                let gradient = gradients.of(&model.parameter(&key).tensor());
                assert_close(&gradient, &expected, 4.0 * near, &format!("{name}.{key}"));
            }
        }
    }
}

#[test]
fn generated_texts_are_those_of_pytorch() {
    for device in devices() {
        let all = read("language", &device);
        for name in ["plain", "tied", "biased", "scaled"] {
            let case = below(&all, name);
            let model = model(name, &case);
            let expected: Vec<u32> = { case["greedy"].to_vec::<i64>() }
                .into_iter()
                .map(|token| token as u32)
                .collect();
            let (prompt, expected) = expected.split_at(3);
            for cache in [false, true] {
                let mut tokens = generate(&model, prompt)
                    .temperature(0.0)
                    .max_tokens(25)
                    .cache(cache);
                let found: Vec<u32> = tokens.by_ref().collect();
                assert_eq!(found, expected, "{name} {cache}");
                assert_eq!(tokens.uses_cache(), cache);
                let beams = generate(&model, prompt)
                    .max_tokens(8)
                    .cache(cache)
                    .beams(3)
                    .unwrap();
                for (i, beam) in beams.iter().enumerate() {
                    let expected: Vec<u32> = { case["beams"].i(i as i32).to_vec::<i64>() }
                        .into_iter()
                        .map(|token| token as u32)
                        .collect();
                    assert_eq!(beam.tokens, expected, "{name} {cache}");
                    let score = case["scores"].i(i as i32).item();
                    assert!((beam.score - score).abs() < 1e-4, "{} {score}", beam.score);
                }
            }
        }
    }
}

#[test]
fn adapters_are_trained_as_in_pytorch() {
    for device in devices() {
        let all = read("language", &device);
        let (case, tokens) = (below(&all, "plain"), &all["tokens"]);
        let mut model = model("plain", &case);
        let targets = [
            "q_proj",
            "k_proj",
            "v_proj",
            "o_proj",
            "gate_proj",
            "up_proj",
            "down_proj",
        ];
        let adapters = LoraConfig::new(3)
            .alpha(6.0)
            .targets(&targets)
            .apply(&mut model);
        for (name, values) in below(&case, "adapter") {
            model.parameter(&name).set(&values);
        }
        let mut optimizer = Adam::new(adapters.parameters(), 0.01);
        for (step, expected) in case["adapted"].to_vec::<f32>().into_iter().enumerate() {
            let loss = loss(&model.forward(tokens), tokens);
            let off = (loss.item() / f64::from(expected) - 1.0).abs();
            assert!(off < 1e-4, "step {step}: {} is not {expected}", loss.item());
            optimizer.step(&loss.backward());
        }
        let before = model.forward(tokens);
        adapters.merge();
        let near = 10.0 * tolerance(&device);
        assert_close(&model.forward(tokens), &before, near, "merged");
    }
}
