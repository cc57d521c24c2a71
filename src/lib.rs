//! Learn deep learning by running it, in Rust, on top of [Candle](candle_core).
//!
//! A notebook, or a program, begins with the prelude and needs no other import:
//!
//! ```
//! use taper::prelude::*;
//!
//! manual_seed(0);
//! let device = try_gpu(0); // the first GPU, or the CPU where there is none
//! let x = randn((4, 20), &device)?; // (batch, features)
//!
//! let mut net = seq![LazyLinear::new(8), ReLU, LazyLinear::new(1)];
//! net.to_device(&device)?;
//! let y = net.forward(&x)?; // (batch, 1)
//!
//! assert_eq!(y.dims(), [4, 1]);
//! assert_eq!(net.num_parameters(), 20 * 8 + 8 + 8 + 1);
//! # Ok::<(), Error>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`device`] | CPU and GPUs: choosing one, asking about it, waiting for it |
//! | [`tensor`] | making tensors, seeded random numbers, copies |
//! | [`data`] | data sets, and the minibatches that training takes from them |
//! | [`nn`] | layers, losses, and what every model can do with its parameters |
//! | [`optim`] | optimisers, and schedules for the learning rate |
//! | [`train`] | the training loop, on one device or several |
//! | [`plot`] | charts, heat maps, images, and the board on which training draws |
//! | [`notebook`] | how a value looks below its cell, displays, progress bars, interrupts |
//! | [`bench`](mod@bench) | a stopwatch, a benchmark, experiments: CPU against GPU, transfers, logging |
//! | [`tensorboard`] | a log of training for TensorBoard |
//!
//! Tensors, devices, shapes and errors are Candle's own types, never wrapped, so all that is
//! written for Candle works here. Taper's errors have two lines: what is wrong, and what to do.

#![deny(missing_docs, unreachable_pub)]

// The derive macro writes `::taper::…`; this makes that path true in here as well.
extern crate self as taper;

pub use candle_core;
pub use candle_nn;

pub mod bench;
pub mod data;
pub mod device;
mod erased;
pub mod error;
mod image;
pub mod nn;
pub mod notebook;
mod ops;
pub mod optim;
pub mod plot;
pub mod prelude;
#[cfg(test)]
mod reference;
pub mod tensor;
pub mod tensorboard;
pub mod train;

pub use error::Result;
pub use notebook::{check_interrupt, interrupted};
