//! From the source of a cell to a library that can be loaded.
//!
//! - [`rustc`] starts the compiler early, passes the source to it and reads its messages;
//! - [`call`] is a call of rustc;
//! - [`linker`] links without libraries, because symbols are resolved when a cell is loaded;
//! - [`shared`] makes shared libraries of packages;
//! - [`support`] compiles what all cells link to;
//! - [`types`] reads the types of new variables out of the compiler's messages.

mod call;
mod linker;
mod rustc;
pub(crate) mod shared;
mod support;
pub(crate) mod types;

pub(crate) use rustc::{Compiler, Library, Messages, Task};
