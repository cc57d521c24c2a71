//! Operations on tensors, each in a file or folder of its own: the function with the checks of its
//! inputs, the kernel for the CPU, the fallback with Candle's operations, and the test that compares the
//! two.
//!
//! The path of the data through an operation, such as [`conv2d`]:
//!
//! 1. The function checks the inputs. Errors begin with the name of the caller: the operation, or the
//!    layer that calls it ([`check`]).
//! 2. If the inputs suit the kernel (on the CPU, `f32` or `f64`), the kernel computes the output on all
//!    cores, and the output becomes a node of Candle's graph whose backward pass is a kernel as well
//!    ([`engine`]).
//! 3. Otherwise (a GPU, another type) Candle's operations compute the output, and Candle its gradients.
//!
//! [`sgd_step`] and [`adam_step`] work in place; without a kernel they leave the step to the optimiser.

mod activation;
mod attention;
mod batch_norm;
pub(crate) mod check;
mod conv1d;
mod conv2d;
mod dropout;
mod embedding;
mod engine;
mod layer_norm;
mod linear;
mod lookup;
pub(crate) mod loss;
mod optimizer_step;
mod pool;
mod rnn;
mod softmax;
#[cfg(test)]
mod testing;
mod upsample;

pub(crate) use activation::{gelu, relu, sigmoid, silu, tanh};
pub use attention::{AttentionMask, scaled_dot_product_attention};
pub(crate) use attention::{attention, valid_steps};
pub(crate) use batch_norm::{BatchNormOutput, batch_norm};
pub(crate) use conv1d::conv1d;
pub(crate) use conv2d::{Conv2dSpec, conv_transpose2d, conv2d};
pub(crate) use dropout::dropout;
pub(crate) use embedding::embedding;
pub(crate) use layer_norm::layer_norm;
pub(crate) use linear::linear;
pub(crate) use optimizer_step::{AdamStep, SgdStep, adam_step, sgd_step};
pub(crate) use pool::{Pool2dSpec, adaptive_avg_pool2d, avg_pool2d, max_pool2d};
pub(crate) use rnn::{Cell, Recurrence, rnn};
pub(crate) use softmax::softmax;
pub(crate) use upsample::{Interpolation, upsample};
