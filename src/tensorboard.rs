//! What training logs for TensorBoard.

mod callback;
mod record;
mod writer;

pub use writer::{HParam, Scalar, SummaryWriter};
