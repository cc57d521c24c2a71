use super::*;
use crate::nn::{files, state_of};
use crate::tensor::{Tensor, tensor};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    let folder = format!("taper_llama_{}_{name}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn config() -> LlamaConfig {
    LlamaConfig::new(20, 16, 2, 4).num_kv_heads(2)
}

fn logits(model: &Llama) -> Vec<f32> {
    model.forward(&tensor(&[[3, 1, 4, 1, 5]])).to_vec()
}

#[test]
fn a_checkpoint_in_several_files_is_loaded() {
    let folder = folder("parts");
    let model = Llama::new(&config());
    config().save(folder.join("config.json")).unwrap();
    let all = model.state_dict();
    let (first, second) = all.split_at(7);
    let mut map = BTreeMap::new();
    for (name, part) in [("a.safetensors", first), ("b.safetensors", second)] {
        let mut part = part.to_vec();
        map.extend(part.iter().map(|(key, _)| (key.clone(), name)));
        if name == "a.safetensors" {
            // Angles, as files of Llama 2 have them.
            part.push((
                "model.layers.0.self_attn.rotary_emb.inv_freq".to_owned(),
                tensor(&[1.0]),
            ));
        }
        files::save(&folder.join(name), &part).unwrap();
    }
    let index = serde_json::json!({ "weight_map": map });
    std::fs::write(
        folder.join("model.safetensors.index.json"),
        index.to_string(),
    )
    .unwrap();
    assert_eq!(logits(&Llama::load(&folder).unwrap()), logits(&model));

    let index = serde_json::json!({ "weight_map": { "lm_head.weight": "../a.safetensors" } });
    std::fs::write(
        folder.join("model.safetensors.index.json"),
        index.to_string(),
    )
    .unwrap();
    let message = Llama::load(&folder).unwrap_err().to_string();
    assert!(message.contains("outside the folder"), "{message}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_tied_checkpoint_may_have_the_weight_once_or_twice() {
    let folder = folder("tied");
    let config = config().tie_word_embeddings(true);
    config.save(folder.join("config.json")).unwrap();
    let model = Llama::new(&config);
    assert_eq!(state_of(&model)[0].aliases, ["lm_head.weight"]);
    let path = folder.join("model.safetensors");
    let mut state: Vec<(String, Tensor)> = model.state_dict();
    for _ in 0..2 {
        files::save(&path, &state).unwrap();
        assert_eq!(logits(&Llama::load(&folder).unwrap()), logits(&model));
        let embedding = state[0].1.clone();
        state.push(("lm_head.weight".to_owned(), embedding));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Loading took the memory before it looked at the files.
#[test]
fn a_configuration_that_its_files_cannot_fill_is_refused() {
    let folder = folder("large");
    let path = folder.join("model.safetensors");
    Llama::new(&config()).save_parameters(&path).unwrap();
    for sizes in [
        [1 << 50, 8, 1, 2],
        [9, 8, 1 << 50, 2],
        [9, 0, 1 << 50, 2],
        [9, 8, 1, 1 << 50],
        [usize::MAX, usize::MAX, usize::MAX, usize::MAX],
    ] {
        let [vocabulary, width, layers, heads] = sizes;
        let config = serde_json::json!({"vocab_size": vocabulary, "hidden_size": width,
            "num_hidden_layers": layers, "num_attention_heads": heads, "head_dim": 4});
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
        let message = Llama::load(&folder).unwrap_err().to_string();
        assert!(
            message.contains("config.json describes a model of"),
            "{message}"
        );
    }
    let config = serde_json::json!({ "model_type": "x".repeat(5_000_000) });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let message = Llama::load(&folder).unwrap_err().to_string();
    assert!(message.len() < 1000, "{} bytes", message.len());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_configuration_comes_back_as_it_was_saved() {
    let folder = folder("config");
    let path = folder.join("config.json");
    let full = config()
        .head_dim(6)
        .intermediate_size(40)
        .rope_theta(5e5)
        .rms_norm_eps(1e-5);
    for config in [
        full.clone(),
        full.clone().sliding_window(8),
        full.clone().qkv_bias(true).tie_word_embeddings(true),
        full.clone().qkv_bias(true).sliding_window(3),
    ] {
        config.save(&path).unwrap();
        assert_eq!(LlamaConfig::load(&path).unwrap(), config);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn settings_that_would_compute_something_else_are_refused() {
    let folder = folder("refused");
    let path = folder.join("config.json");
    let sizes = r#""vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1"#;
    let read = |more: &str| {
        std::fs::write(&path, format!("{{{sizes}, {more}}}")).unwrap();
        LlamaConfig::load(&path).map_err(|error| error.to_string())
    };
    let heads = r#""num_attention_heads": 2"#;
    assert!(read(heads).is_ok());
    for (more, expected) in [
        (
            r#""model_type": "llama""#.to_owned(),
            "a number num_attention_heads",
        ),
        (format!(r#"{heads}, "model_type": "gpt2""#), "model_type"),
        (format!(r#"{heads}, "hidden_act": "gelu""#), "hidden_act"),
        (
            format!(r#"{heads}, "rope_scaling": {{"type": "yarn"}}"#),
            "yarn",
        ),
        (
            format!(r#"{heads}, "rope_scaling": {{"rope_type": "llama3"}}"#),
            "low_freq_factor",
        ),
    ] {
        let message = read(&more).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    // Sizes that do not fit each other are an error of the file too.
    read(&format!(r#"{heads}, "num_key_value_heads": 3"#)).unwrap();
    assert!(Llama::load(&folder).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}
