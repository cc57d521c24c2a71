//! Losses: the distance of predictions from their targets.
//!
//! A function such as [`cross_entropy`] returns the mean over the batch; a struct such as
//! [`CrossEntropyLoss`] has further settings. Each loss is a kernel for the elements or rows
//! ([`elementwise`], [`rows`]), or composed of operations on tensors ([`composed`]), followed by the reduction, whose sums
//! keep their digits ([`reduction`]).

mod binary;
mod composed;
mod cross_entropy;
mod divergence;
mod elementwise;
mod notes;
mod probability;
mod reduction;
mod regression;
mod rows;
mod targets;

pub use binary::{BCEWithLogitsLoss, bce_with_logits};
pub use cross_entropy::{CrossEntropyLoss, NLLLoss, cross_entropy, nll_loss};
pub use divergence::{KLDivLoss, kl_div};
pub use probability::BCELoss;
pub use reduction::Reduction;
#[doc(hidden)]
pub use reduction::{reduce, reduced};
pub use regression::{HuberLoss, L1Loss, MSELoss, SmoothL1Loss};
pub use regression::{huber_loss, l1_loss, mse_loss, smooth_l1_loss};
#[doc(hidden)]
pub use targets::{same_device, same_shape};
