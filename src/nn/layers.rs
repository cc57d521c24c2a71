//! The layers, each in a file of its own.

mod activation;
mod adaptive_max_pool;
mod adaptive_pool;
mod affine;
mod attention;
mod batch_norm;
mod bilinear;
mod branches;
mod candle_layers;
mod cells;
mod conv;
mod conv_transpose;
mod convolution;
mod dropout;
mod embedding;
mod embedding_bag;
mod encoder_decoder;
mod gates;
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
mod pool1d;
mod positional;
mod prelu;
mod recurrent;
mod recurrent_layer;
mod response_norm;
mod rms_norm;
pub(super) mod rnn;
mod rotary;
mod scale;
mod sequential;
pub(super) mod transformer;
mod transformer_decoder;
mod transformer_encoder;
mod upsample;
mod volumes;
mod weight_norm;

pub use activation::{
    Flatten, GELU, GELUTanh, Hardswish, Mish, ReLU, SiLU, Sigmoid, Softmax, SwiGLU, Tanh,
};
pub use adaptive_max_pool::AdaptiveMaxPool2d;
pub use adaptive_pool::AdaptiveAvgPool2d;
pub use attention::MultiheadAttention;
pub use batch_norm::{
    BatchNorm1d, BatchNorm2d, BatchNorm3d, LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d,
};
pub use bilinear::Bilinear;
pub use branches::{Parallel, Residual};
pub use cells::{GRUCell, LSTMCell, RNNCell};
pub use conv::{Conv1d, Conv2d, LazyConv1d, LazyConv2d};
pub use conv_transpose::{
    ConvTranspose1d, ConvTranspose2d, LazyConvTranspose1d, LazyConvTranspose2d,
};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use embedding_bag::{BagMode, EmbeddingBag};
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
pub use pool1d::{AdaptiveAvgPool1d, AdaptiveMaxPool1d, AvgPool1d, MaxPool1d};
pub use positional::{LearnedPositionalEncoding, PositionalEncoding};
pub use prelu::PReLU;
pub use response_norm::LocalResponseNorm;
pub use rms_norm::RMSNorm;
pub use rnn::{GRU, LSTM, RNN};
pub use rotary::RotaryEmbedding;
pub use sequential::Sequential;
pub use transformer_decoder::{TransformerDecoder, TransformerDecoderLayer};
pub use transformer_encoder::{TransformerEncoder, TransformerEncoderLayer};
pub use upsample::Upsample;
pub use volumes::{AvgPool3d, Conv3d, MaxPool3d, Triple};
pub use weight_norm::{SpectralNorm, WeightNorm};
