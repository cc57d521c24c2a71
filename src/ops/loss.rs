//! Losses: the distance of predictions from their targets, as a mean over the batch.

mod binary;
mod cross_entropy;
mod regression;
mod targets;

pub use binary::bce_with_logits;
pub use cross_entropy::cross_entropy;
pub use regression::{huber_loss, l1_loss, mse_loss};
pub(crate) use targets::same_device;
