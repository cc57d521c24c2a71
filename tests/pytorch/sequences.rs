//! Calls of Taper's recurrent and attention layers by PyTorch's names.

use crate::arguments::{Args, Expressed, missing};
use crate::layers::{Ran, Run};
use taper::Tensor;
use taper::candle_core::DType;
use taper::nn::*;

/// Runs the layer of this name; `None` if it is in another file.
pub(crate) fn run(name: &str, run: &Run<'_>) -> Option<Expressed<Ran>> {
    let heads = run.sample.args.size("nhead").ok().flatten().unwrap_or(1);
    Some(match name {
        "RNN" | "GRU" | "LSTM" => recurrent(name, run),
        "MultiheadAttention" => attention(run),
        "TransformerEncoderLayer" => encoder_layer(&run.sample.args).and_then(|layer| {
            run.of(layer, |layer, a| {
                let mask = mask(a, heads, "src_mask", "src_key_padding_mask", "is_causal")?;
                Ok(vec![layer.forward(&a.tensor("src")?, &mask)])
            })
        }),
        "TransformerEncoder" => encoder(run),
        "Transformer" => transformer(run),
        "TransformerDecoderLayer" => decoder_layer(&run.sample.args).and_then(|layer| {
            run.of(layer, |layer, a| {
                let of_target = mask(
                    a,
                    heads,
                    "tgt_mask",
                    "tgt_key_padding_mask",
                    "tgt_is_causal",
                )?;
                let of_memory = mask(
                    a,
                    heads,
                    "memory_mask",
                    "memory_key_padding_mask",
                    "memory_is_causal",
                )?;
                let (x, memory) = (a.tensor("tgt")?, a.tensor("memory")?);
                Ok(vec![layer.forward(&x, &memory, &of_target, &of_memory)])
            })
        }),
        _ => return None,
    })
}

fn recurrent(name: &str, run: &Run<'_>) -> Expressed<Ran> {
    let a = &run.sample.args;
    macro_rules! layer {
        ($name:ident) => {{
            let (inputs, hidden) = (a.size("input_size")?, a.size("hidden_size")?);
            let mut layer = $name::new(inputs.unwrap_or(0), hidden.unwrap_or(0));
            if let Some(layers) = a.size("num_layers")? {
                layer = layer.num_layers(layers);
            }
            layer = layer.bidirectional(a.flag("bidirectional", false)?);
            if let Some(p) = a.float("dropout")? {
                layer = layer.dropout(p);
            }
            let layer = layer.batch_first(a.flag("batch_first", false)?);
            layer.bias(a.flag("bias", true)?)
        }};
    }
    match name {
        "LSTM" => run.of(
            layer!(LSTM).proj_size(a.size("proj_size")?.unwrap_or(0)),
            |layer, a| {
                let state = match a.get("hx") {
                    None => None,
                    Some(_) => Some(a.tensors("hx")?),
                };
                let state = state.map(|state| (state[0].clone(), state[1].clone()));
                let (y, (h, c)) = layer.forward(&a.tensor("input")?, state.as_ref());
                Ok(vec![y, h, c])
            },
        ),
        "GRU" => run.of(layer!(GRU), |layer, a| {
            let (y, h) = layer.forward(&a.tensor("input")?, a.maybe_tensor("hx")?.as_ref());
            Ok(vec![y, h])
        }),
        _ => {
            let layer = layer!(RNN);
            let layer = match a.text("nonlinearity")?.as_deref() {
                Some("relu") => layer.nonlinearity(ReLU),
                _ => layer,
            };
            run.of(layer, |layer, a| {
                let (y, h) = layer.forward(&a.tensor("input")?, a.maybe_tensor("hx")?.as_ref());
                Ok(vec![y, h])
            })
        }
    }
}

/// Reads PyTorch's masks, in which `true` hides a key.
fn mask(a: &Args, heads: usize, pairs: &str, keys: &str, causal: &str) -> Expressed<AttentionMask> {
    let shown = |mask: Tensor| match mask.dtype() {
        DType::U8 => mask.eq(0),
        _ => mask,
    };
    // PyTorch takes it as a hint that the mask is causal.
    a.flag(causal, false)?;
    let mut mask = AttentionMask::none();
    if let Some(pairs) = a.maybe_tensor(pairs)? {
        // PyTorch's masks for each head are (batch · heads, queries, keys).
        let pairs = match pairs.dims() {
            [all, queries, keys] => pairs.reshape((all / heads, heads, *queries, *keys)),
            _ => pairs,
        };
        mask = mask.pairs(&shown(pairs));
    }
    if let Some(keys) = a.maybe_tensor(keys)? {
        // One example has no batch.
        let keys = if keys.rank() == 1 {
            keys.unsqueeze(0)
        } else {
            keys
        };
        mask = mask.keys(&shown(keys));
    }
    Ok(mask)
}

fn attention(run: &Run<'_>) -> Expressed<Ran> {
    let a = &run.sample.args;
    let (features, heads) = (a.size("embed_dim")?, a.size("num_heads")?.unwrap_or(0));
    let mut layer = MultiheadAttention::new(features.unwrap_or(0), heads)
        .add_bias_kv(a.flag("add_bias_kv", false)?)
        .add_zero_attn(a.flag("add_zero_attn", false)?)
        .batch_first(a.flag("batch_first", false)?)
        .bias(a.flag("bias", true)?);
    if let Some(p) = a.float("dropout")? {
        layer = layer.dropout(p);
    }
    run.of(layer, |layer, a| {
        let mask = mask(a, heads, "attn_mask", "key_padding_mask", "is_causal")?;
        let (q, k, v) = (a.tensor("query")?, a.tensor("key")?, a.tensor("value")?);
        if !a.flag("need_weights", true)? {
            return Ok(vec![layer.forward(&q, &k, &v, &mask)]);
        }
        let (y, weights) = layer.forward_with_weights(&q, &k, &v, &mask);
        let weights = match a.flag("average_attn_weights", true)? {
            true => weights.mean(-3), // over the heads
            false => weights,
        };
        Ok(vec![y, weights])
    })
}

macro_rules! transformer_layer {
    ($function:ident, $name:ident) => {
        fn $function(a: &Args) -> Expressed<$name> {
            let (features, heads) = (a.size("d_model")?, a.size("nhead")?);
            let mut layer = $name::new(features.unwrap_or(0), heads.unwrap_or(0));
            if let Some(hidden) = a.size("dim_feedforward")? {
                layer = layer.dim_feedforward(hidden);
            }
            if let Some(p) = a.float("dropout")? {
                layer = layer.dropout(p);
            }
            match a.text("activation")?.as_deref() {
                None | Some("relu") => (),
                Some("gelu") => layer = layer.activation(GELU),
                Some(_) => return missing("`activation`"),
            }
            let layer = layer.batch_first(a.flag("batch_first", false)?);
            let layer = layer.norm_first(a.flag("norm_first", false)?);
            Ok(layer.bias(a.flag("bias", true)?))
        }
    };
}

transformer_layer!(encoder_layer, TransformerEncoderLayer);
transformer_layer!(decoder_layer, TransformerDecoderLayer);

fn encoder(run: &Run<'_>) -> Expressed<Ran> {
    let a = &run.sample.args;
    let Some(settings) = a.layer("encoder_layer")? else {
        return missing("no `encoder_layer`");
    };
    encoder_layer(&settings)?;
    if let Some(name) = settings.unused().first() {
        return missing(format!("`encoder_layer`: `{name}`"));
    }
    // How PyTorch computes it, not what.
    a.flag("enable_nested_tensor", true)?;
    a.flag("mask_check", true)?;
    let layers = a.size("num_layers")?.unwrap_or(0);
    let heads = settings.size("nhead")?.unwrap_or(1);
    let layer =
        TransformerEncoder::new(layers, || encoder_layer(&settings).expect("created above"));
    run.of(layer, |layer, a| {
        let mask = mask(a, heads, "mask", "src_key_padding_mask", "is_causal")?;
        Ok(vec![layer.forward(&a.tensor("src")?, &mask)])
    })
}

fn transformer(run: &Run<'_>) -> Expressed<Ran> {
    let a = &run.sample.args;
    let layers = |name| a.size(name).map(|layers| layers.unwrap_or(6));
    let encoders = layers("num_encoder_layers")?;
    let decoders = layers("num_decoder_layers")?;
    encoder_layer(a)?;
    decoder_layer(a)?;
    let features = a.size("d_model")?.unwrap_or(512);
    let bias = a.flag("bias", true)?;
    let heads = a.size("nhead")?.unwrap_or(8);
    let norm = || LayerNorm::new(features).bias(bias);
    let encoder = TransformerEncoder::new(encoders, || encoder_layer(a).expect("created above"));
    let decoder = TransformerDecoder::new(decoders, || decoder_layer(a).expect("created above"));
    let layer = Transformer::new(encoder.norm(norm()), decoder.norm(norm()));
    run.of(layer, |layer, a| {
        let masks = ["src", "tgt", "memory"].map(|part| {
            let [pairs, keys, causal] = ["mask", "key_padding_mask", "is_causal"];
            let name = |kind: &str| format!("{part}_{kind}");
            mask(a, heads, &name(pairs), &name(keys), &name(causal))
        });
        let [source, target, memory] = masks;
        let (x, y) = (a.tensor("src")?, a.tensor("tgt")?);
        Ok(vec![layer.forward(&x, &y, &source?, &target?, &memory?)])
    })
}
