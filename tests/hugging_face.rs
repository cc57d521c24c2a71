//! Checkpoints of Hugging Face's `transformers` and adapters of its `peft`: Taper loads them and computes the same. See
//! `tests/reference/hugging_face.py`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use taper::candle_core::safetensors;
use taper::prelude::*;

const MODELS: [&str; 4] = ["llama", "llama3", "mistral", "qwen2"];

/// The largest difference, as a part of the largest value.
const NEAR: f64 = 1e-5;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/reference/hugging_face")
        .join(name)
}

fn model(name: &str) -> Llama {
    Llama::load(path(name)).unwrap()
}

/// Returns what the libraries computed with a model.
fn expected(name: &str) -> HashMap<String, Tensor> {
    let all = safetensors::load(path("expected.safetensors"), &cpu()).unwrap();
    let own = all.into_iter().filter_map(|(key, value)| {
        let key = key.strip_prefix(name)?.strip_prefix('.')?.to_owned();
        Some((key, Tensor::from(value)))
    });
    own.collect()
}

fn assert_close(found: &Tensor, expected: &Tensor, near: f64, what: &str) {
    assert_eq!(found.dims(), expected.dims(), "{what}");
    let size = expected.abs().max_all().item();
    let off = (found - expected).abs().max_all().item();
    assert!(off <= near * size, "{what}: {off} of {size}");
}

fn tokens(tensor: &Tensor) -> Vec<u32> {
    let tokens = tensor.to_vec::<i64>().into_iter();
    tokens.map(|token| token as u32).collect()
}

#[test]
fn checkpoints_of_transformers_compute_the_same() {
    for name in MODELS {
        let (model, expected) = (model(name), expected(name));
        let logits = model.forward(&expected["tokens"]);
        assert_close(&logits, &expected["logits"], NEAR, name);
    }
}

#[test]
fn texts_are_those_of_transformers() {
    for name in MODELS {
        let (model, expected) = (model(name), expected(name));
        let prompt = tokens(&expected["tokens"].i(0));
        let search = || generate(&model, &prompt).temperature(0.0).max_tokens(12);
        assert_eq!(
            search().tokens().unwrap(),
            tokens(&expected["greedy"]),
            "{name}"
        );
        let penalty = search().repetition_penalty(1.3).tokens().unwrap();
        assert_eq!(penalty, tokens(&expected["penalty"]), "{name}");
        let beams = search().beams(3).unwrap().into_iter();
        let beams: Vec<u32> = beams.flat_map(|beam| beam.tokens).collect();
        assert_eq!(beams, tokens(&expected["beams"]), "{name}");
    }
}

#[test]
fn adapters_of_peft_are_loaded_trained_and_merged_the_same() {
    for name in MODELS {
        let (mut model, expected) = (model(name), expected(name));
        let x = &expected["tokens"];
        let config = LoraConfig::new(2).alpha(4.0).targets(&["q_proj", "v_proj"]);
        let adapters = config.apply(&mut model);
        let file = format!("{name}/adapters/adapter_model.safetensors");
        adapters.load(path(&file)).unwrap();
        assert_close(&model.forward(x), &expected["adapted"], NEAR, name);
        let mut optimizer = SGD::new(adapters.parameters(), 0.5);
        for step in 0..5 {
            let logits = model.forward(x);
            let (logits, targets) = (logits.i((.., ..-1)), x.i((.., 1..)));
            let loss = cross_entropy(&logits.flatten_to(1), &targets.flatten_all());
            assert_close(
                &loss,
                &expected["losses"].i(step),
                4.0 * NEAR,
                &format!("{name}, loss {step}"),
            );
            optimizer.step(&loss.backward());
        }
        adapters.merge();
        // Five steps enlarge the differences of rounding.
        let what = format!("{name}, merged");
        assert_close(&model.forward(x), &expected["merged"], 40.0 * NEAR, &what);
    }
}
