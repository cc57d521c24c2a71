//! Logs of training for [TensorBoard](https://www.tensorflow.org/tensorboard).
//!
//! [`SummaryWriter`] writes event files: scalars, histograms, images and hyperparameters. It is also a
//! callback of [`Trainer`](crate::train::Trainer). The files need no TensorFlow: `record` encodes the
//! few protocol buffers that TensorBoard reads.

mod callback;
mod record;
mod writer;

pub use writer::{HParam, Scalar, SummaryWriter};
