//! Invalid inputs and settings of layers: each is computed, or refused with a message of two lines.

use super::*;
use taper_tensor::testing::{Operation, sweep};

const LAYERS: &[(&str, Operation)] = &[
    ("Linear", |x, _, size| Linear::new(size, 2).forward(x)),
    ("LazyLinear", |x, _, size| LazyLinear::new(size).forward(x)),
    ("Conv1d", |x, _, size| Conv1d::new(2, 2, size).forward(x)),
    ("Conv1d, channels", |x, _, size| {
        Conv1d::new(2, size, 3).forward(x)
    }),
    ("Conv1d, settings", |x, _, size| {
        let layer = Conv1d::new(2, 2, 1).padding(size).stride(size);
        layer.dilation(size).forward(x)
    }),
    ("Conv1d, groups", |x, _, size| {
        Conv1d::new(2, 2, 1).groups(size).forward(x)
    }),
    ("Conv2d, reflect", |x, _, size| {
        let layer = Conv2d::new(2, 2, 1).padding((0, size));
        layer.padding_mode(PaddingMode::Reflect).forward(x)
    }),
    ("LazyConv2d, replicate", |x, _, size| {
        let layer = LazyConv2d::new(2, 1).padding(size);
        layer.padding_mode(PaddingMode::Replicate).forward(x)
    }),
    ("Conv2d, circular", |x, _, size| {
        let layer = Conv2d::new(2, 2, 1).padding((size, 1));
        layer.padding_mode(PaddingMode::Circular).forward(x)
    }),
    ("ConvTranspose1d", |x, _, size| {
        ConvTranspose1d::new(2, 2, size).forward(x)
    }),
    ("ConvTranspose2d, stride", |x, _, size| {
        ConvTranspose2d::new(2, 2, 2).stride(size).forward(x)
    }),
    ("ConvTranspose2d, settings", |x, _, size| {
        let layer = ConvTranspose2d::new(2, 2, 2).padding((size, 0));
        layer.dilation((1, size)).output_padding(size).forward(x)
    }),
    ("LazyConvTranspose2d, groups", |x, _, size| {
        LazyConvTranspose2d::new(2, 2).groups(size).forward(x)
    }),
    ("Upsample", |x, _, size| {
        Upsample::new(size as f64).forward(x)
    }),
    ("Upsample, size", |x, _, size| {
        Upsample::to_size(size, 2)
            .mode(Interpolation::Bilinear)
            .forward(x)
    }),
    ("Embedding", |x, _, size| Embedding::new(size, 2).forward(x)),
    ("BatchNorm1d", |x, _, size| {
        BatchNorm1d::new(size).forward(x)
    }),
    ("BatchNorm2d", |x, _, size| {
        BatchNorm2d::new(size).forward(x)
    }),
    ("LayerNorm", |x, _, size| LayerNorm::new(size).forward(x)),
    ("RMSNorm", |x, _, size| RMSNorm::new(size).forward(x)),
    ("GroupNorm", |x, _, size| {
        GroupNorm::new(size, size).forward(x)
    }),
    ("Dropout", |x, _, size| Dropout::new(size as f64).forward(x)),
    ("Softmax", |x, _, _| Softmax.forward(x)),
    ("Flatten", |x, _, _| Flatten.forward(x)),
    ("MaxPool2d", |x, _, size| MaxPool2d::new(size).forward(x)),
    ("MaxPool1d", |x, _, size| MaxPool1d::new(size).forward(x)),
    ("AdaptiveAvgPool2d", |x, _, size| {
        AdaptiveAvgPool2d::new(size).forward(x)
    }),
    ("PositionalEncoding", |x, _, _| {
        PositionalEncoding::new().forward(x)
    }),
    ("LearnedPositionalEncoding", |x, _, size| {
        LearnedPositionalEncoding::new(size, 3).forward(x)
    }),
    ("RNN", |x, w, size| RNN::new(3, size).forward(x, Some(w)).0),
    ("GRU, layers", |x, _, size| {
        GRU::new(2, 2).num_layers(size).forward(x, None).0
    }),
    ("LSTM", |x, w, size| {
        let state = (w.clone(), x.clone());
        LSTM::new(size, 2).forward(x, Some(&state)).0
    }),
    ("LSTM, lengths", |x, w, _| {
        LSTM::new(3, 2).forward_lengths(x, w, None).0
    }),
    ("MultiheadAttention", |x, w, size| {
        let layer = MultiheadAttention::new(size, 1);
        layer.forward(x, w, w, &AttentionMask::causal())
    }),
    ("MultiheadAttention, heads", |x, w, size| {
        let mask = AttentionMask::none().keys(w);
        MultiheadAttention::new(2, size).forward(x, x, x, &mask)
    }),
    ("MultiheadAttention, further keys", |x, w, _| {
        let layer = MultiheadAttention::new(2, 1)
            .add_bias_kv(true)
            .add_zero_attn(true);
        layer.forward(x, x, x, &AttentionMask::causal().pairs(w))
    }),
    ("TransformerEncoderLayer", |x, w, size| {
        let layer = TransformerEncoderLayer::new(2, 1).dim_feedforward(size);
        layer.forward(x, &AttentionMask::none().pairs(w))
    }),
    ("TransformerDecoderLayer", |x, w, _| {
        let (layer, mask) = (TransformerDecoderLayer::new(3, 3), AttentionMask::none());
        layer.dim_feedforward(2).forward(x, w, &mask, &mask)
    }),
];

#[test]
fn inputs_that_cannot_be_are_refused_in_two_lines() {
    let refused = sweep(LAYERS, 4);
    assert!(refused >= 1000, "only {refused} inputs were refused");
}
