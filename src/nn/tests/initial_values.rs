//! The random values with which layers begin: the stored outputs of notebooks depend on their order and their number.

use super::*;
use crate::error::attempt;
use crate::tensor::{Tensor, manual_seed, rand, zeros};
use candle_core::DType;

type Create = fn() -> Box<dyn Parameters>;

/// Returns a layer after its first input.
fn run(layer: impl Layer + 'static, shape: &[usize]) -> Box<dyn Parameters> {
    layer.forward(&zeros(shape));
    Box::new(layer)
}

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
    ("Bilinear", 0x28a5_6ce5_a481_fbae, || {
        Box::new(Bilinear::new(2, 3, 4))
    }),
    ("Bilinear, bias", 0xc51e_0ef3_8f5f_f710, || {
        Box::new(Bilinear::new(2, 3, 4).bias(false).bias(true))
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
    ("Conv3d", 0xb663_f827_5b0e_c2ee, || {
        Box::new(Conv3d::new(4, 2, (3, 1, 2)))
    }),
    ("Conv3d, settings", 0x6fa3_57ec_1048_dbcf, || {
        let layer = Conv3d::new(4, 2, 2).bias(false).groups(2);
        Box::new(layer.stride(2).bias(true).groups(2))
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
    ("EmbeddingBag", 0xb66d_408b_b2aa_be81, || {
        Box::new(EmbeddingBag::new(5, 3))
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
    ("RNNCell", 0x5847_76db_0473_d1da, || {
        Box::new(RNNCell::new(3, 4).bias(false))
    }),
    ("GRUCell", 0x7b22_773e_3796_665a, || {
        Box::new(GRUCell::new(3, 4).bias(false).bias(true).bias(true))
    }),
    ("LSTMCell", 0x883f_2f7a_f6ed_0290, || {
        Box::new(LSTMCell::new(3, 4))
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
    ("WeightNorm", 0x7c91_9ef8_ab28_335d, || {
        Box::new(WeightNorm::new(Linear::new(3, 2)))
    }),
    ("SpectralNorm", 0xf4b8_b656_a0c3_4a4f, || {
        run(SpectralNorm::new(Conv2d::new(3, 2, 3)), &[1, 3, 4, 4])
    }),
    ("PReLU", 0xb7b6_0eec_845e_6d96, || Box::new(PReLU::new(3))),
    ("RMSNorm", 0x6ca7_540d_84c5_0191, || {
        Box::new(RMSNorm::new(3))
    }),
];

/// Returns the FNV hash of the names, the shapes and the bits of all parameters and buffers, and of the next random value.
fn fingerprint(create: Create) -> u64 {
    manual_seed(7);
    let layer = create();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    let mut tensor = |name: &str, values: &Tensor| {
        add(format!("{name} {:?}", values.dims()).as_bytes());
        let values = values.to_dtype(DType::F32).to_vec::<f32>();
        values
            .iter()
            .for_each(|it| add(&it.to_bits().to_le_bytes()));
    };
    for entry in state_of(&*layer) {
        tensor(&entry.name, &entry.parameter.tensor());
    }
    tensor("next", &rand(1));
    hash
}

#[test]
fn layers_begin_with_the_same_random_values() {
    let mut found = Vec::new();
    for (name, expected, create) in LAYERS {
        let hash = fingerprint(*create);
        if hash != *expected {
            found.push(format!("{name:?}: 0x{hash:016x}"));
        }
    }
    assert!(
        found.is_empty(),
        "these layers differ:\n{}",
        found.join("\n")
    );
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
