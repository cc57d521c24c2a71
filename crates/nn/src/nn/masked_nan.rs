//! Tests that NaN and infinite values behind a mask reach neither an output nor a gradient.

mod attention;
mod losses;

use crate::nn::testing::{Case, DIRT, Output, assert_same};
use crate::nn::*;
use crate::ops::AttentionMask;
use crate::tensor::{Tensor, manual_seed, randn, tensor};
use candle_core::DType;

/// Sequences of 3 and 2 steps, padded to 4: `(steps, batch, …)`.
const LENGTHS: [i64; 2] = [3, 2];

fn padding(batch_first: bool) -> Tensor {
    let hidden = tensor(&[[0, 0, 0, 1], [0, 0, 1, 1]]).unsqueeze(2); // (batch, steps, 1)
    match batch_first {
        true => hidden,
        false => hidden.transpose(0, 1),
    }
}

/// Sets to 0 what is returned for padding.
fn counted(y: Tensor, batch_first: bool) -> Tensor {
    y.masked_fill(&padding(batch_first), 0.0)
}

#[test]
fn padding_reaches_nothing_in_layers_with_attention() {
    manual_seed(1);
    for batch_first in [true, false] {
        let mask = AttentionMask::none().lengths(&tensor(&LENGTHS), 4);
        let causal = AttentionMask::causal().lengths(&tensor(&LENGTHS), 4);
        let input = randn(if batch_first { (2, 4, 8) } else { (4, 2, 8) });
        let query = randn(if batch_first { (2, 3, 8) } else { (3, 2, 8) });
        let hidden = padding(batch_first);
        let check = |what: &str, parameters: Vec<Parameter>, output: &Output| {
            let what = format!("{what}, {batch_first}");
            let (what, output) = (what.as_str(), output);
            let (input, hidden) = (input.clone(), hidden.clone());
            Case {
                what,
                output,
                parameters,
                input,
                hidden,
            }
            .check();
        };
        let own = |y: Tensor| counted(y, batch_first);
        for dropout in [0.0, 0.5] {
            let new = || {
                MultiheadAttention::new(8, 2)
                    .batch_first(batch_first)
                    .dropout(dropout)
            };
            for attention in [new(), new().add_bias_kv(true), new().add_zero_attn(true)] {
                let parameters = || attention.parameters();
                check("self", parameters(), &|x| {
                    own(attention.forward(x, x, x, &mask))
                });
                check("cross", parameters(), &|x| {
                    attention.forward(&query, x, x, &mask)
                });
                check("weights", parameters(), &|x| {
                    attention.forward_with_weights(&query, x, x, &mask).1
                });
                check("values", parameters(), &|x| {
                    attention.forward(&query, &x.detach(), x, &mask)
                });
                check("causal", parameters(), &|x| {
                    own(attention.forward(x, x, x, &causal))
                });
            }
        }
        for norm_first in [true, false] {
            let layer = || {
                let layer = TransformerEncoderLayer::new(8, 2).dim_feedforward(16);
                layer.batch_first(batch_first).norm_first(norm_first)
            };
            let encoder = TransformerEncoder::new(2, layer).norm(LayerNorm::new(8));
            check("encoder", encoder.parameters(), &|x| {
                own(encoder.forward(x, &mask))
            });
            check("causal encoder", encoder.parameters(), &|x| {
                own(encoder.forward(x, &causal))
            });
            let layer = || {
                let layer = TransformerDecoderLayer::new(8, 2).dim_feedforward(16);
                layer.batch_first(batch_first).norm_first(norm_first)
            };
            let decoder = TransformerDecoder::new(2, layer);
            let none = AttentionMask::none();
            check("memory", decoder.parameters(), &|x| {
                decoder.forward(&query, x, &none, &mask)
            });
            check("target", decoder.parameters(), &|x| {
                own(decoder.forward(x, &query, &causal, &none))
            });
            let model = Transformer::new(encoder, decoder);
            check("transformer", model.parameters(), &|x| {
                model.forward(x, &query, &mask, &none, &mask)
            });
        }
    }
}

#[test]
fn later_steps_do_not_reach_earlier_ones() {
    manual_seed(1);
    let x = randn((2, 4, 8));
    let hidden = tensor(&[0, 0, 0, 1]).reshape((1, 4, 1));
    let grouped = GroupedQueryAttention::new(8, 4, 2).rope(RotaryEmbedding::new(2));
    let window = GroupedQueryAttention::new(8, 4, 2).window(2);
    let attention = MultiheadAttention::new(8, 2).batch_first(true);
    let encoder = TransformerEncoderLayer::new(8, 2)
        .batch_first(true)
        .dropout(0.0);
    let causal = AttentionMask::causal();
    let layers: [(&str, &Output); 4] = [
        ("grouped", &|x| grouped.forward(x)),
        ("window", &|x| window.forward(x)),
        ("attention", &|x| attention.forward(x, x, x, &causal)),
        ("encoder", &|x| encoder.forward(x, &causal)),
    ];
    for (what, layer) in layers {
        let run = |value: f64| layer(&x.masked_fill(&hidden, value)).narrow(1, 0, 3);
        let want = run(0.0);
        for dirt in DIRT {
            assert_same(what, &[run(dirt)], std::slice::from_ref(&want));
            let last = layer(&x.masked_fill(&hidden, dirt)).i((.., 3));
            assert!(
                last.isfinite().max_all().item() == 0.0,
                "{what}: step 3 sees itself"
            );
        }
    }
}

#[test]
fn padding_reaches_nothing_in_recurrent_layers() {
    manual_seed(1);
    for batch_first in [true, false] {
        let lengths = tensor(&LENGTHS);
        let input = randn(if batch_first { (2, 4, 5) } else { (4, 2, 5) });
        let check = |what: &str, parameters: Vec<Parameter>, output: &Output| {
            let (input, hidden, output) = (input.clone(), padding(batch_first), output);
            Case {
                what,
                output,
                parameters,
                input,
                hidden,
            }
            .check();
        };
        let both = |y: Tensor, h: Tensor| Tensor::cat(&[y.flatten_all(), h.flatten_all()], 0);
        for bidirectional in [true, false] {
            let rnn = RNN::new(5, 3)
                .batch_first(batch_first)
                .bidirectional(bidirectional)
                .num_layers(2);
            check("RNN", rnn.parameters(), &|x| {
                let (y, h) = rnn.forward_lengths(x, &lengths, None);
                both(y, h)
            });
            let gru = GRU::new(5, 3)
                .batch_first(batch_first)
                .bidirectional(bidirectional);
            check("GRU", gru.parameters(), &|x| {
                let (y, h) = gru.forward_lengths(x, &lengths, None);
                both(y, h)
            });
            for size in [0, 2] {
                let lstm = LSTM::new(5, 3)
                    .batch_first(batch_first)
                    .bidirectional(bidirectional);
                let lstm = lstm.num_layers(2).dropout(0.5).proj_size(size);
                check("LSTM", lstm.parameters(), &|x| {
                    let (y, (h, c)) = lstm.forward_lengths(x, &lengths, None);
                    both(y, both(h, c))
                });
            }
        }
    }
}

#[test]
fn choices_leave_the_gradient_of_what_they_replace_zero() {
    manual_seed(1);
    let x = randn((2, 3));
    let hidden = tensor(&[[0, 1, 0], [1, 0, 0]]).to_dtype(DType::U8);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let outputs: [(&str, &Output); 5] = [
            ("masked_fill", &|x| x.masked_fill(&hidden, 0.5)),
            ("where_cond", &|x| hidden.where_cond(1.0, x)),
            ("where_cond of tensors", &|x| {
                hidden.where_cond(x.zeros_like(), x)
            }),
            ("index_put", &|x| x.index_put(&hidden, 2.0)),
            ("index", &|x| x.i(&!&hidden)),
        ];
        for (what, output) in outputs {
            let (input, hidden) = (x.to_dtype(dtype), hidden.clone());
            Case {
                what,
                output,
                parameters: vec![],
                input,
                hidden,
            }
            .check();
        }
        let triangles: [(&str, &Output, Tensor); 2] = [
            ("tril", &|x| x.tril(0), tensor(&[[0, 1, 1], [0, 0, 1]])),
            ("triu", &|x| x.triu(0), tensor(&[[0, 0, 0], [1, 0, 0]])),
        ];
        for (what, output, hidden) in triangles {
            let input = x.to_dtype(dtype);
            Case {
                what,
                output,
                parameters: vec![],
                input,
                hidden,
            }
            .check();
        }
    }
}
