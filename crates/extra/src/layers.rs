//! Layers; related ones share a file.

mod adaptive_max_pool;
mod bilinear;
mod cells;
mod embedding_bag;
mod prelu;
mod response_norm;
mod volumes;
mod weight_norm;

pub use adaptive_max_pool::{AdaptiveMaxPool1d, AdaptiveMaxPool2d};
pub use bilinear::Bilinear;
pub use cells::{GRUCell, LSTMCell, RNNCell};
pub use embedding_bag::{BagMode, EmbeddingBag};
pub use prelu::PReLU;
pub use response_norm::LocalResponseNorm;
pub use volumes::{AvgPool3d, Conv3d, MaxPool3d, Triple};
pub use weight_norm::{SpectralNorm, WeightNorm};
