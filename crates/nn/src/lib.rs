//! Layers, losses, what every model can do with its parameters, and optimisers.
//!
//! Users reach this crate as the modules `nn` and `optim` of `taper`.

// Items that the documentation leaves out refer to private ones.
#![allow(rustdoc::private_intra_doc_links)]

// The code from the derive macros contains `::taper::…`; this makes that path valid in this crate too.
extern crate self as taper;

#[macro_use(setters)]
extern crate taper_tensor;

pub mod nn;
pub mod optim;

#[doc(hidden)]
pub use taper_display::notebook;
use taper_display::plot;
#[cfg(test)]
use taper_tensor::device;
#[doc(hidden)]
pub use taper_tensor::{Result, Tensor};
use taper_tensor::{erased, error, input, ops, tensor};
