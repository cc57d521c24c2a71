//! Losses: of sequences without an alignment, of distributions, and with a margin.

mod ctc;
mod likelihood;
mod margin;

pub use ctc::CTCLoss;
pub use likelihood::{GaussianNLLLoss, PoissonNLLLoss};
pub use margin::{CosineEmbeddingLoss, HingeEmbeddingLoss, MultiMarginLoss, TripletMarginLoss};
