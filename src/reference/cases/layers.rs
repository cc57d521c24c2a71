//! The layers of the cases. The tensors of a case are the inputs, then the parameters of the layer.

use super::operations::Outcome;
use crate::nn::*;
use crate::tensor::Tensor;

/// Sets the parameters of a layer to those of a case, and runs it on the inputs before them.
fn run<L: Parameters>(
    x: &[Tensor],
    mut layer: L,
    f: impl FnOnce(&mut L, &[Tensor]) -> Vec<Tensor>,
) -> Outcome {
    layer.to_dtype(x.iter().find(|x| x.dtype().is_float()).unwrap().dtype());
    let parameters = layer.parameters();
    let (inputs, values) = x.split_at(x.len() - parameters.len());
    for (parameter, values) in parameters.iter().zip(values) {
        parameter.set(&values.detach());
    }
    let outputs = f(&mut layer, inputs);
    let mut sources = inputs.to_vec();
    for parameter in &parameters {
        sources.push(parameter.tensor());
    }
    Outcome { outputs, sources }
}

/// Runs a layer of one input and one output.
fn plain<L: Layer>(x: &[Tensor], layer: L) -> Outcome {
    run(x, layer, |layer, x| vec![layer.forward(&x[0])])
}

fn when<L>(condition: bool, layer: L, set: impl FnOnce(L) -> L) -> L {
    match condition {
        true => set(layer),
        false => layer,
    }
}

/// Creates a convolution from the settings of its case: stride, padding and dilation, then groups, bias and
/// possibly one `$extra` setting. `$at` is a function that reads a size, and the number of values of a size.
macro_rules! convolution {
    ($layer:ident, $s:ident, $channels:expr, $kernel:expr, $at:expr $(, $extra:ident)?) => {{
        let spec = $at;
        let (groups, bias) = ($s[3 * spec.1] as usize, $s[3 * spec.1 + 1] != 0.0);
        let layer = $layer::new($channels.0, $channels.1, $kernel).groups(groups);
        let layer = layer.stride(spec.0(0)).padding(spec.0(spec.1)).dilation(spec.0(2 * spec.1));
        $(let layer = layer.$extra(spec.0(3 * spec.1 + 3));)?
        layer.bias(bias)
    }};
}

const MODES: [PaddingMode; 4] = [
    PaddingMode::Zeros,
    PaddingMode::Reflect,
    PaddingMode::Replicate,
    PaddingMode::Circular,
];

fn convolution(name: &str, s: &[f64], x: &[Tensor]) -> Outcome {
    let n = |i: usize| s[i] as usize;
    let pair = |i: usize| (n(i), n(i + 1));
    let size = x[1].dims();
    let (one, two) = ((n, 1), (pair, 2));
    match name {
        "Conv1d" => {
            let channels = (size[1] * n(3), size[0]);
            let layer: Conv1d = convolution!(Conv1d, s, channels, size[2], one);
            plain(x, layer.padding_mode(MODES[n(5)]))
        }
        "Conv2d" => {
            let channels = (size[1] * n(6), size[0]);
            let layer: Conv2d = convolution!(Conv2d, s, channels, (size[2], size[3]), two);
            plain(x, layer.padding_mode(MODES[n(8)]))
        }
        "ConvTranspose1d" => {
            let channels = (size[0], size[1] * n(3));
            let layer: ConvTranspose1d =
                convolution!(ConvTranspose1d, s, channels, size[2], one, output_padding);
            plain(x, layer)
        }
        _ => {
            let (channels, kernel) = ((size[0], size[1] * n(6)), (size[2], size[3]));
            let layer: ConvTranspose2d =
                convolution!(ConvTranspose2d, s, channels, kernel, two, output_padding);
            plain(x, layer)
        }
    }
}

/// Runs a layer with settings `s`.
pub(super) fn layer(name: &str, s: &[f64], x: &[Tensor]) -> Outcome {
    let n = |i: usize| s[i] as usize;
    let last = |i: usize| x[x.len() - 1].dims()[i];
    match name {
        "Conv1d" | "Conv2d" | "ConvTranspose1d" | "ConvTranspose2d" => convolution(name, s, x),
        "Upsample" => {
            let layer = match n(1) {
                1 => Upsample::to_size(n(2), n(3)),
                _ => Upsample::new(s[2]),
            };
            let layer = when(n(0) > 0, layer, |l| l.mode(Interpolation::Bilinear));
            plain(x, layer.align_corners(n(0) == 2))
        }
        "Embedding" => plain(x, Embedding::new(last(0), last(1))),
        "PositionalEncoding" => {
            let layer = PositionalEncoding::new().batch_first(n(0) == 1);
            plain(x, layer)
        }
        "LearnedPositionalEncoding" => {
            let layer = LearnedPositionalEncoding::new(last(0), last(1));
            plain(x, layer.batch_first(n(0) == 1))
        }
        "PReLU" => plain(x, PReLU::new(last(0))),
        "LayerNorm" => plain(x, LayerNorm::new(last(0)).eps(s[0])),
        "RMSNorm" => plain(x, RMSNorm::new(last(0)).eps(s[0])),
        "GroupNorm" => plain(x, GroupNorm::new(n(0), last(0)).eps(s[1])),
        "BatchNorm, three batches" => match x[0].rank() {
            4 => batch_norm(x, BatchNorm2d::new(last(0)).eps(s[0]).momentum(s[1])),
            _ => batch_norm(x, BatchNorm1d::new(last(0)).eps(s[0]).momentum(s[1])),
        },
        "RNN" | "GRU" => one_state(name, s, x),
        "LSTM" => lstm(s, x),
        "MultiheadAttention" => {
            let layer = MultiheadAttention::new(x[0].dims()[2], n(0));
            let layer = layer.bias(n(1) != 0).batch_first(n(2) == 1);
            run(x, layer, |layer, x| {
                let (inputs, masks) = x.split_at(if n(3) == 1 { 1 } else { 3 });
                let [q, k, v] = [0, 1, 2].map(|i| &inputs[i.min(inputs.len() - 1)]);
                let (y, weights) = layer.forward_with_weights(q, k, v, &mask(n(4), masks));
                vec![y, weights]
            })
        }
        "TransformerEncoder" => encoder(s, x),
        "TransformerDecoder" => decoder(s, x),
        other => panic!("no arm for the layer {other}"),
    }
}

/// Trains on two batches, and normalises a third with their running statistics.
fn batch_norm<L: Layer>(x: &[Tensor], layer: L) -> Outcome {
    run(x, layer, |layer, x| {
        layer.train();
        layer.forward(&x[0]);
        layer.forward(&x[1]);
        layer.eval();
        let mut outputs = vec![layer.forward(&x[2])];
        for entry in state_of(layer) {
            if entry.name.starts_with("running") {
                outputs.push(entry.parameter.tensor());
            }
        }
        outputs
    })
}

/// Applies the settings of a recurrent layer, then runs it with its state and lengths.
macro_rules! recurrent {
    ($layer:expr, $s:ident, $x:ident, $states:literal, $forward:expr) => {{
        let on = |i: usize| $s[i] != 0.0;
        let layer = $layer.num_layers($s[2] as usize).bias(on(3));
        let layer = layer.batch_first(on(4)).bidirectional(on(5));
        run($x, layer, |layer, x| {
            let state = on(6).then(|| &x[1..1 + $states]);
            let lengths = on(7).then(|| &x[x.len() - 1]);
            $forward(layer, &x[0], lengths, state)
        })
    }};
}

fn one_state(name: &str, s: &[f64], x: &[Tensor]) -> Outcome {
    macro_rules! forward {
        ($layer:ident) => {
            |layer: &mut $layer, x: &Tensor, lengths: Option<&Tensor>, state: Option<&[Tensor]>| {
                let h = state.map(|state| &state[0]);
                let (y, h) = match lengths {
                    Some(lengths) => layer.forward_lengths(x, lengths, h),
                    None => layer.forward(x, h),
                };
                vec![y, h]
            }
        };
    }
    let sizes = (s[0] as usize, s[1] as usize);
    match name {
        "GRU" => recurrent!(GRU::new(sizes.0, sizes.1), s, x, 1, forward!(GRU)),
        _ => {
            let rnn = when(s[8] != 0.0, RNN::new(sizes.0, sizes.1), |rnn| {
                rnn.nonlinearity(ReLU)
            });
            recurrent!(rnn, s, x, 1, forward!(RNN))
        }
    }
}

fn lstm(s: &[f64], x: &[Tensor]) -> Outcome {
    let layer = LSTM::new(s[0] as usize, s[1] as usize);
    let forward =
        |layer: &mut LSTM, x: &Tensor, lengths: Option<&Tensor>, state: Option<&[Tensor]>| {
            let state = state.map(|state| (state[0].clone(), state[1].clone()));
            let (y, (h, c)) = match lengths {
                Some(lengths) => layer.forward_lengths(x, lengths, state.as_ref()),
                None => layer.forward(x, state.as_ref()),
            };
            vec![y, h, c]
        };
    recurrent!(layer, s, x, 2, forward)
}

/// Returns the mask of a kind from its tensors.
pub(super) fn mask(kind: usize, tensors: &[Tensor]) -> AttentionMask {
    match kind {
        0 => AttentionMask::none(),
        1 => AttentionMask::causal(),
        2 => AttentionMask::none().keys(&tensors[0]),
        3 | 5 => AttentionMask::none().pairs(&tensors[0]),
        _ => AttentionMask::causal().keys(&tensors[0]),
    }
}

/// Creates a transformer's layer from the settings of its case.
macro_rules! transformer_layer {
    ($layer:ident, $s:ident, $x:ident) => {
        || {
            let layer = $layer::new($x[0].dims()[2], $s[0] as usize);
            let layer = layer.dim_feedforward($s[1] as usize).dropout(0.0);
            let layer = layer.batch_first($s[2] != 0.0).norm_first($s[3] != 0.0);
            when($s[4] != 0.0, layer, |layer| layer.activation(GELU))
        }
    };
}

fn encoder(s: &[f64], x: &[Tensor]) -> Outcome {
    let layer = transformer_layer!(TransformerEncoderLayer, s, x);
    let mask = |masks: &[Tensor]| mask(s[6] as usize, masks);
    match s[5] != 0.0 {
        false => run(x, layer(), |layer, x| {
            vec![layer.forward(&x[0], &mask(&x[1..]))]
        }),
        true => {
            let norm = LayerNorm::new(x[0].dims()[2]);
            let stack = TransformerEncoder::new(2, layer).norm(norm);
            run(x, stack, |stack, x| {
                vec![stack.forward(&x[0], &mask(&x[1..]))]
            })
        }
    }
}

fn decoder(s: &[f64], x: &[Tensor]) -> Outcome {
    let layer = transformer_layer!(TransformerDecoderLayer, s, x);
    let masks = |masks: &[Tensor]| {
        let own = (s[6] as usize >= 2) as usize;
        let own_mask = mask(s[6] as usize, &masks[..own]);
        (own_mask, mask(s[7] as usize, &masks[own..]))
    };
    match s[5] != 0.0 {
        false => run(x, layer(), |layer, x| {
            let (own, memory) = masks(&x[2..]);
            vec![layer.forward(&x[0], &x[1], &own, &memory)]
        }),
        true => {
            let norm = LayerNorm::new(x[0].dims()[2]);
            let stack = TransformerDecoder::new(2, layer).norm(norm);
            run(x, stack, |stack, x| {
                let (own, memory) = masks(&x[2..]);
                vec![stack.forward(&x[0], &x[1], &own, &memory)]
            })
        }
    }
}
