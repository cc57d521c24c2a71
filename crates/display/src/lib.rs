//! How values are shown: below their cell, on a terminal, in the log of a program; figures and images.
//!
//! Users reach this crate as the modules `notebook` and `plot` of `taper`.

// Items that the documentation leaves out refer to private ones.
#![allow(rustdoc::private_intra_doc_links)]

#[macro_use(setters)]
extern crate taper_tensor;

#[doc(hidden)]
pub mod image;
pub mod notebook;
pub mod plot;

pub use notebook::{check_interrupt, interrupted};

use taper_distributed::distributed;
use taper_tensor::{Result, device, erased, error, tensor};
