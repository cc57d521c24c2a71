//! Training: the loop, on one device or several, by one process or several; metrics; logs for TensorBoard.
//!
//! Users reach this crate as the modules `train`, `metrics` and `tensorboard` of `taper`.

// Items that the documentation leaves out refer to private ones.
#![allow(rustdoc::private_intra_doc_links)]

// The code from the derive macros contains `::taper::…`; this makes that path valid in this crate too.
extern crate self as taper;

#[macro_use(setters)]
extern crate taper_tensor;

pub mod metrics;
pub mod tensorboard;
pub mod train;

#[doc(hidden)]
pub use candle_core;
#[doc(hidden)]
pub use taper_data::data;
#[doc(hidden)]
pub use taper_display::notebook;
use taper_display::plot;
use taper_distributed::distributed;
#[doc(hidden)]
pub use taper_nn::nn;
use taper_nn::optim;
#[cfg(test)]
use taper_nn::seq;
#[doc(hidden)]
pub use taper_tensor::{Result, Tensor};
use taper_tensor::{device, erased, error, ops, tensor};
