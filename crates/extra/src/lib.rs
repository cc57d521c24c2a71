//! What PyTorch has and no chapter, example or other part of the library needs: layers, losses, schedules, metrics.
//!
//! Users reach these items in the modules of `taper` where PyTorch's users look for them: `nn`, `ops`, `optim`, `data`,
//! `metrics` and `train`. Only `taper` depends on this crate. To understand the library, you can leave it out.

// Items that the documentation leaves out refer to private ones.
#![allow(rustdoc::private_intra_doc_links)]

// The code from the derive macros contains `::taper::…`; this makes that path valid in this crate too.
extern crate self as taper;

#[macro_use(composed_loss, setters, settings)]
extern crate taper_tensor;

mod averaged;
mod einsum;
mod layers;
mod lbfgs;
mod losses;
mod mixing;
mod ranking;
mod schedules;
mod stratified;
#[cfg(test)]
mod tests;

pub use averaged::AveragedWeights;
pub use einsum::einsum;
pub use layers::{
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AvgPool3d, BagMode, Bilinear, Conv3d, EmbeddingBag,
    GRUCell, LSTMCell, LocalResponseNorm, MaxPool3d, PReLU, RNNCell, SpectralNorm, Triple,
    WeightNorm,
};
pub use lbfgs::LBFGS;
pub use losses::{
    CTCLoss, CosineEmbeddingLoss, GaussianNLLLoss, HingeEmbeddingLoss, MultiMarginLoss,
    PoissonNLLLoss, TripletMarginLoss,
};
pub use mixing::{CutMix, MixUp};
pub use ranking::{average_precision, roc_auc};
pub use schedules::{OneCycle, ReduceOnPlateau};
pub use stratified::StratifiedSampler;

use taper_data::data;
#[doc(hidden)]
pub use taper_display::notebook;
use taper_nn::layer;
#[doc(hidden)]
pub use taper_nn::nn;
use taper_nn::optim;
#[doc(hidden)]
pub use taper_tensor::{Result, Tensor};
use taper_tensor::{erased, error, ops, tensor};
use taper_train::train;
