//! Tensors on the CPU and on GPUs, their operations, and the gradients of these.
//!
//! Users reach the public part of this crate as the modules `tensor`, `ops`, `device` and `error` of `taper`. What is
//! hidden from the documentation serves the other crates of the library.
//!
//! | module | contents |
//! |---|---|
//! | [`tensor`] | the type [`Tensor`]: creation, operators, random values |
//! | [`ops`] | the operations, their gradients, and the tape that records them |
//! | [`device`] | CPU and GPUs, and kernels for GPUs |
//! | [`error`] | errors of two lines, and how they become panics at the user's line |
//! | [`input`] | files of the user, which may be anything |
//! | [`erased`] | what keeps cells from compiling how a large value is dropped, cloned and printed |

// Items that the documentation leaves out refer to private ones.
#![allow(rustdoc::private_intra_doc_links)]

#[macro_use]
mod tables;

pub mod device;
#[doc(hidden)]
pub mod erased;
pub mod error;
#[doc(hidden)]
pub mod input;
pub mod ops;
pub mod tensor;
#[cfg(any(feature = "testing", test))]
#[doc(hidden)]
pub mod testing;

pub use error::{Error, Result, attempt};
pub use tensor::Tensor;
