//! Recurrent layers, attention and transformers: several inputs, outputs and states.

use super::{Tensors, assert_close, below, devices, read, tolerance, variable};
use crate::nn::*;
use crate::tensor::{Tensor, zeros};

/// A case of PyTorch, with variables in place of its inputs.
struct Case {
    tensors: Tensors,
    inputs: Vec<(&'static str, Tensor)>,
}

impl Case {
    /// Returns one of the inputs.
    fn input(&self, name: &str) -> Tensor {
        let input = self.inputs.iter().find(|(input, _)| *input == name);
        input.expect("an input of this name").1.clone()
    }

    fn mask(&self) -> AttentionMask {
        AttentionMask::none().keys(&self.tensors["mask"])
    }
}

/// Loads PyTorch's parameters into the layer, and compares its outputs and gradients.
fn compare<L: Parameters>(
    all: &Tensors,
    name: &str,
    mut layer: L,
    run: impl FnOnce(&L, &Case) -> Vec<Tensor>,
) {
    let tensors = below(all, name);
    let device = tensors["y0"].device().clone();
    let near = 4.0 * tolerance(&device);
    layer.to_device(&device);
    let before = below(&tensors, "before");
    let entries = state_of(&layer);
    assert_eq!(entries.len(), before.len(), "{name}: {:?}", before.keys());
    for entry in &entries {
        entry.parameter.set(&before[&entry.name]);
    }
    let names = ["x", "h", "c", "query", "key", "value", "memory"];
    let inputs = names.into_iter().filter_map(|input| {
        let values = tensors.get(input)?;
        Some((input, variable(values)))
    });
    let case = Case {
        inputs: inputs.collect(),
        tensors,
    };
    let outputs = run(&layer, &case);
    let mut loss = zeros(()).to_device(&device);
    for (i, y) in outputs.iter().enumerate() {
        let what = format!("{name}.y{i}");
        assert_close(y, &case.tensors[&format!("y{i}")], near, &what);
        loss += (y * &case.tensors[&format!("r{i}")]).sum_all();
    }
    assert!(
        !case.tensors.contains_key(&format!("y{}", outputs.len())),
        "{name}"
    );
    let gradients = loss.backward();
    let parameters = entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.parameter.tensor()));
    let inputs = case.inputs.iter().map(|(name, x)| (*name, x.clone()));
    for (of, tensor) in parameters.chain(inputs) {
        let what = format!("{name}.grad.{of}");
        let want = &case.tensors[&format!("grad.{of}")];
        match gradients.get(&tensor) {
            Some(got) => assert_close(got, want, near, &what),
            None => panic!("{what} is missing"),
        }
    }
}

#[test]
fn recurrent_layers_agree_with_pytorch() {
    for device in devices() {
        let all = read("sequences", &device);
        compare_one_state(&all, "rnn", || RNN::new(4, 6));
        compare_one_state(&all, "rnn_relu", || RNN::new(4, 6).nonlinearity(ReLU));
        compare_gated(&all, "gru", || GRU::new(4, 6));
        compare_lstm(&all);
    }
}

macro_rules! one_state {
    ($name:ident, $layer:ty) => {
        fn $name(all: &Tensors, name: &str, layer: fn() -> $layer) {
            let run = |layer: &$layer, case: &Case| {
                let lengths = case.tensors.get("lengths");
                let (y, h) = match lengths {
                    Some(lengths) => {
                        layer.forward_lengths(&case.input("x"), lengths, Some(&case.input("h")))
                    }
                    None => layer.forward(&case.input("x"), Some(&case.input("h"))),
                };
                vec![y, h]
            };
            let deep = || layer().num_layers(2).bidirectional(true);
            compare(all, name, layer(), run);
            compare(all, &format!("{name}_deep"), deep(), run);
            compare(all, &format!("{name}_packed"), deep(), run);
            compare(all, &format!("{name}_no_bias"), layer().bias(false), run);
        }
    };
}

one_state!(compare_one_state, RNN);
one_state!(compare_gated, GRU);

fn compare_lstm(all: &Tensors) {
    let run = |layer: &LSTM, case: &Case| {
        let (x, state) = (case.input("x"), (case.input("h"), case.input("c")));
        let (y, (h, c)) = match case.tensors.get("lengths") {
            Some(lengths) => layer.forward_lengths(&x, lengths, Some(&state)),
            None => layer.forward(&x, Some(&state)),
        };
        vec![y, h, c]
    };
    let deep = || LSTM::new(4, 6).num_layers(2).bidirectional(true);
    compare(all, "lstm", LSTM::new(4, 6), run);
    compare(all, "lstm_deep", deep(), run);
    compare(all, "lstm_packed", deep(), run);
    compare(all, "lstm_no_bias", LSTM::new(4, 6).bias(false), run);
}

#[test]
fn attention_agrees_with_pytorch() {
    for device in devices() {
        let all = read("sequences", &device);
        let new = || MultiheadAttention::new(6, 2).batch_first(true);
        let run = |mask: fn(&Case) -> AttentionMask| {
            move |layer: &MultiheadAttention, case: &Case| {
                let [q, k, v] = ["query", "key", "value"].map(|name| case.input(name));
                let (y, weights) = layer.forward_with_weights(&q, &k, &v, &mask(case));
                vec![y, weights]
            }
        };
        let pairs = |case: &Case| AttentionMask::none().pairs(&case.tensors["mask"]);
        compare(&all, "attention", new(), run(|_| AttentionMask::none()));
        compare(&all, "attention_keys", new(), run(Case::mask));
        compare(&all, "attention_pairs", new(), run(pairs));
        compare(&all, "attention_bias", new(), run(pairs));
        let plain = MultiheadAttention::new(6, 3).bias(false);
        compare(&all, "attention_self", plain, |layer, case| {
            let (x, mask) = (case.input("x"), AttentionMask::causal());
            let (y, weights) = layer.forward_with_weights(&x, &x, &x, &mask);
            vec![y, weights]
        });
    }
}

fn encoder_layer(first: bool) -> TransformerEncoderLayer {
    let layer = TransformerEncoderLayer::new(6, 2)
        .dim_feedforward(7)
        .dropout(0.0)
        .batch_first(true);
    match first {
        true => layer.norm_first(true).activation(GELU),
        false => layer,
    }
}

fn decoder_layer(first: bool) -> TransformerDecoderLayer {
    let layer = TransformerDecoderLayer::new(6, 2)
        .dim_feedforward(7)
        .dropout(0.0)
        .batch_first(true);
    match first {
        true => layer.norm_first(true).activation(GELU),
        false => layer,
    }
}

#[test]
fn transformers_agree_with_pytorch() {
    for device in devices() {
        let all = read("sequences", &device);
        for (end, first) in [("", false), ("_first", true)] {
            let name = |name: &str| format!("{name}{end}");
            compare(
                &all,
                &name("encoder"),
                encoder_layer(first),
                |layer, case| vec![layer.forward(&case.input("x"), &case.mask())],
            );
            compare(
                &all,
                &name("decoder"),
                decoder_layer(first),
                |layer, case| {
                    let (x, memory) = (case.input("x"), case.input("memory"));
                    let y = layer.forward(&x, &memory, &AttentionMask::causal(), &case.mask());
                    vec![y]
                },
            );
            let stack = TransformerEncoder::new(2, || encoder_layer(first)).norm(LayerNorm::new(6));
            compare(&all, &name("encoder_stack"), stack, |stack, case| {
                vec![stack.forward(&case.input("x"), &AttentionMask::causal())]
            });
            let stack = TransformerDecoder::new(2, || decoder_layer(first)).norm(LayerNorm::new(6));
            compare(&all, &name("decoder_stack"), stack, |stack, case| {
                let (x, memory) = (case.input("x"), case.input("memory"));
                let (causal, none) = (AttentionMask::causal(), AttentionMask::none());
                vec![stack.forward(&x, &memory, &causal, &none)]
            });
        }
    }
}
