//! The layers, each in a file of its own.

mod activation;
mod adaptive_pool;
mod batch_norm;
mod candle_layers;
mod conv;
mod dropout;
mod embedding;
mod flatten;
mod layer_norm;
mod lazy;
mod linear;
mod pool;
mod sequential;

pub use activation::{GELU, ReLU, SiLU, Sigmoid, Softmax, Tanh};
pub use adaptive_pool::AdaptiveAvgPool2d;
pub use batch_norm::{BatchNorm1d, BatchNorm2d, LazyBatchNorm1d, LazyBatchNorm2d};
pub use conv::{Conv2d, LazyConv2d};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use flatten::Flatten;
pub use layer_norm::LayerNorm;
pub use linear::{LazyLinear, Linear};
pub use pool::{AvgPool2d, MaxPool2d};
pub use sequential::Sequential;
