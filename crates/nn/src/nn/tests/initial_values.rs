//! The random values with which layers begin: the stored outputs of notebooks depend on their order and their number.

use super::*;
use crate::error::attempt;
use crate::nn::testing::{Create, begin_with, run};
use crate::tensor::{manual_seed, rand, zeros};

const LAYERS: &[(&str, u64, Create)] = &[
    ("Linear", 0xb981_53a1_f236_08f4, || {
        Box::new(Linear::new(3, 2))
    }),
    ("Linear, bias", 0x168f_ca0c_a3b3_4d9f, || {
        Box::new(Linear::new(3, 2).bias(false).bias(true).bias(true))
    }),
    ("LazyLinear", 0xb981_53a1_f236_08f4, || {
        run(LazyLinear::new(2), &[4, 3])
    }),
    ("LazyLinear, bias", 0xb981_53a1_f236_08f4, || {
        run(LazyLinear::new(2).bias(false).bias(true), &[4, 3])
    }),
    ("Conv1d", 0x20c0_1357_d1eb_65e9, || {
        Box::new(Conv1d::new(4, 2, 3))
    }),
    ("Conv1d, groups", 0x792e_f171_8ed5_9148, || {
        Box::new(Conv1d::new(4, 2, 3).groups(2).stride(2))
    }),
    ("Conv2d", 0x8931_2abe_0ac3_2c66, || {
        Box::new(Conv2d::new(4, 2, (3, 1)))
    }),
    ("Conv2d, settings", 0x4690_2e66_a305_9274, || {
        let layer = Conv2d::new(4, 2, 3).bias(false).groups(2);
        Box::new(layer.bias(true).bias(true).groups(2))
    }),
    ("ConvTranspose1d", 0x54b7_9f0d_8b21_1aec, || {
        Box::new(ConvTranspose1d::new(4, 2, 3).groups(2))
    }),
    ("ConvTranspose2d", 0x01d8_346a_6b27_ecee, || {
        Box::new(ConvTranspose2d::new(4, 6, (3, 1)).bias(false).bias(true))
    }),
    ("LazyConv1d", 0x20c0_1357_d1eb_65e9, || {
        run(LazyConv1d::new(2, 3), &[1, 4, 9])
    }),
    ("LazyConv2d", 0xc661_4b5c_b1e8_f782, || {
        run(LazyConv2d::new(2, 3).groups(2), &[1, 4, 9, 9])
    }),
    ("LazyConv2d, bias", 0xc661_4b5c_b1e8_f782, || {
        let layer = LazyConv2d::new(2, 3).bias(false).groups(2);
        run(layer.bias(true), &[1, 4, 9, 9])
    }),
    ("LazyConvTranspose1d", 0x8a47_b11c_5668_1bab, || {
        run(LazyConvTranspose1d::new(2, 3), &[1, 4, 9])
    }),
    ("LazyConvTranspose2d", 0xac9c_b31f_5d1f_bc15, || {
        run(LazyConvTranspose2d::new(2, 3).groups(2), &[1, 4, 9, 9])
    }),
    ("BatchNorm1d", 0x8084_ea7c_da72_15c4, || {
        Box::new(BatchNorm1d::new(3).affine(false).bias(true))
    }),
    ("LazyBatchNorm2d", 0x0fd4_2634_6a7f_cd3f, || {
        run(LazyBatchNorm2d::new().bias(false), &[2, 3, 4, 4])
    }),
    ("Embedding", 0xb66d_408b_b2aa_be81, || {
        Box::new(Embedding::new(5, 3))
    }),
    ("RNN", 0xf3c7_215f_5fc8_92ad, || {
        Box::new(RNN::new(3, 4).nonlinearity(ReLU).num_layers(2))
    }),
    ("GRU", 0x3f24_398e_4769_5503, || {
        Box::new(GRU::new(3, 4).bidirectional(true).bias(false))
    }),
    ("GRU, bias", 0xc95b_4128_9f0e_f319, || {
        let layer = GRU::new(3, 4).bias(false).num_layers(2);
        Box::new(layer.batch_first(true).dropout(0.1).bias(true).bias(true))
    }),
    ("LSTM", 0xc434_19cc_2e27_dfe6, || Box::new(LSTM::new(3, 4))),
    ("LSTM, settings", 0xc36f_0e6c_1078_f2cc, || {
        let layer = LSTM::new(3, 4).num_layers(2).bidirectional(true);
        Box::new(layer.proj_size(2))
    }),
    ("MultiheadAttention", 0xcb83_ae6c_e50f_c2f5, || {
        let layer = MultiheadAttention::new(8, 2).bias(false).bias(true);
        Box::new(layer.add_bias_kv(true))
    }),
    ("GroupedQueryAttention", 0x6f53_94b4_cd15_d3d6, || {
        Box::new(GroupedQueryAttention::new(8, 4, 2))
    }),
    ("GroupedQueryAttention, bias", 0x7f0b_d3c9_4aef_acc1, || {
        let layer = GroupedQueryAttention::with_head_dim(8, 4, 2, 3);
        Box::new(layer.qkv_bias(true).window(3))
    }),
    ("TransformerEncoderLayer", 0xaa42_f862_26b4_d661, || {
        let layer = TransformerEncoderLayer::new(8, 2).bias(false);
        Box::new(layer.dim_feedforward(4).dropout(0.2))
    }),
    ("TransformerEncoder", 0x3961_9d42_2cc7_b0a7, || {
        let layer = || TransformerEncoderLayer::new(8, 2).dim_feedforward(4);
        Box::new(TransformerEncoder::new(2, layer))
    }),
    ("TransformerDecoderLayer", 0x170b_7078_b984_e205, || {
        let layer = TransformerDecoderLayer::new(8, 2).dim_feedforward(4);
        Box::new(layer.bias(false).bias(true))
    }),
    ("LearnedPositionalEncoding", 0xca30_2b58_38aa_d02b, || {
        Box::new(LearnedPositionalEncoding::new(5, 3))
    }),
    ("RMSNorm", 0x6ca7_540d_84c5_0191, || {
        Box::new(RMSNorm::new(3))
    }),
];

#[test]
fn layers_begin_with_the_same_random_values() {
    begin_with(LAYERS);
}

#[test]
fn a_layer_that_waits_for_its_input_draws_nothing() {
    manual_seed(7);
    let next = rand(1).to_vec1::<f32>();
    manual_seed(7);
    let _layers = (
        LazyLinear::new(2).bias(false).bias(true),
        LazyConv2d::new(2, 3).groups(2),
        LazyBatchNorm1d::new(),
    );
    assert!(attempt(|| LazyLinear::new(2).forward(&zeros(()))).is_err());
    assert_eq!(rand(1).to_vec1::<f32>(), next);
}
