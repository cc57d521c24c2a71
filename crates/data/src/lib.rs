//! Data sets, the minibatches that training takes from them, tokenizers, and tables.
//!
//! Users reach this crate as the module `data` of `taper`.

// Items that the documentation leaves out refer to private ones.
#![allow(rustdoc::private_intra_doc_links)]

// The code from the derive macros contains `::taper::…`; this makes that path valid in this crate too.
extern crate self as taper;

#[macro_use(setters, settings)]
extern crate taper_tensor;

pub mod data;

use taper_display::image;
#[doc(hidden)]
pub use taper_display::notebook;
#[doc(hidden)]
pub use taper_tensor::{Result, Tensor};
use taper_tensor::{erased, error, input, ops, tensor};
