//! The layers; related ones share a file.

mod activation;
mod adaptive_pool;
pub(super) mod affine;
mod attention;
mod batch_norm;
mod branches;
mod candle_layers;
mod conv;
mod conv_transpose;
pub(super) mod convolution;
mod dropout;
mod embedding;
mod encoder_decoder;
pub(super) mod gates;
mod group_norm;
mod grouped_attention;
mod identity;
mod instance_norm;
mod into_layer;
mod lambda;
mod layer_norm;
mod linear;
mod parametric_activation;
mod pixel_shuffle;
mod pool;
pub(super) mod pool1d;
mod positional;
pub(super) mod recurrent;
mod recurrent_layer;
mod rms_norm;
mod rnn;
mod rotary;
mod scale;
mod sequential;
mod transformer;
mod transformer_decoder;
mod transformer_encoder;
mod upsample;

pub use activation::{
    Flatten, GELU, GELUTanh, Hardswish, Mish, ReLU, SiLU, Sigmoid, Softmax, SwiGLU, Tanh,
};
pub use adaptive_pool::AdaptiveAvgPool2d;
pub use attention::MultiheadAttention;
pub use batch_norm::{
    BatchNorm1d, BatchNorm2d, BatchNorm3d, LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d,
};
pub use branches::{Parallel, Residual};
pub use conv::{Conv1d, Conv2d, LazyConv1d, LazyConv2d};
pub use conv_transpose::{
    ConvTranspose1d, ConvTranspose2d, LazyConvTranspose1d, LazyConvTranspose2d,
};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use encoder_decoder::Transformer;
pub use group_norm::GroupNorm;
pub use grouped_attention::GroupedQueryAttention;
pub use identity::Identity;
pub use instance_norm::{InstanceNorm1d, InstanceNorm2d};
pub use into_layer::IntoLayer;
pub use lambda::Lambda;
pub use layer_norm::LayerNorm;
pub use linear::{LazyLinear, Linear};
pub use parametric_activation::{ELU, GLU, LeakyReLU, Softplus};
pub use pixel_shuffle::{PixelShuffle, PixelUnshuffle};
pub use pool::{AvgPool2d, MaxPool2d};
pub use pool1d::{AdaptiveAvgPool1d, AvgPool1d, MaxPool1d};
pub use positional::{LearnedPositionalEncoding, PositionalEncoding};
pub use rms_norm::RMSNorm;
pub use rnn::{GRU, LSTM, Nonlinearity, RNN};
pub use rotary::RotaryEmbedding;
pub use sequential::Sequential;
pub use transformer::Activation;
pub use transformer_decoder::{TransformerDecoder, TransformerDecoderLayer};
pub use transformer_encoder::{TransformerEncoder, TransformerEncoderLayer};
pub use upsample::Upsample;
