//! Processes that train together, over MPI or NCCL. Users reach this crate as the module `distributed` of `taper`.

// Items that the documentation leaves out refer to private ones.
#![allow(rustdoc::private_intra_doc_links)]

pub mod distributed;

use taper_tensor::{error, tensor};
