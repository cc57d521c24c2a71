//! Operations, each in a file of its own: the kernels for the CPU, where Candle's generic operations
//! are slow. Forward and backward, in `f32` and `f64`, on all cores.
//!
//! Layers call one function for each operation, such as [`conv2d`], which returns `None` where the
//! kernel cannot be used (another device or type): then they compute with Candle's operations, which
//! are also what the tests compare with.

mod activation;
mod batch_norm;
mod conv2d;
mod cross_entropy;
mod engine;
mod layer_norm;
mod linear;
mod optimizer_step;
mod pool;
mod softmax;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use activation::{Activation, activation};
pub(crate) use batch_norm::{Normalized, batch_norm};
pub(crate) use conv2d::{Convolution, conv2d};
pub(crate) use cross_entropy::cross_entropy;
pub(crate) use layer_norm::layer_norm;
pub(crate) use linear::linear;
pub(crate) use optimizer_step::{Descent, Moments, adapt, descend};
pub(crate) use pool::{Pooling, Windows, pool2d};
pub(crate) use softmax::softmax;
