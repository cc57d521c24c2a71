//! Learn deep learning by running it, in Rust, on top of [Candle](candle_core).
//!
//! A notebook, or a program, begins with the prelude and needs no other import:
//!
//! ```
//! use taper::prelude::*;
//!
//! manual_seed(0);
//! set_default_device(&try_gpu(0)); // the first GPU, or the CPU where there is none
//! let x = randn((4, 20)); // (batch, features)
//!
//! let net = seq![LazyLinear::new(8), ReLU, LazyLinear::new(1)];
//! let y = net.forward(&x); // (batch, 1)
//!
//! assert_eq!(y.dims(), [4, 1]);
//! assert_eq!(net.num_parameters(), 20 * 8 + 8 + 8 + 1);
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`device`] | CPU and GPUs: choosing one, asking about it, waiting for it |
//! | [`distributed`] | several processes that train together, on one machine or several |
//! | [`tensor`] | the type [`Tensor`]: creation, operators, methods, seeded random values, gradients |
//! | [`data`] | data sets, and the minibatches that training takes from them |
//! | [`ops`] | functions: activations, convolution, pooling, normalisation, losses |
//! | [`nn`] | layers, losses, and what every model can do with its parameters |
//! | [`optim`] | optimisers, and schedules for the learning rate |
//! | [`train`] | the training loop, on one device or several |
//! | [`metrics`] | precision, recall, areas under curves, BLEU, perplexity, overlap of boxes |
//! | [`rl`] | reinforcement learning: environments, a replay buffer, returns and advantages |
//! | [`plot`] | charts, heat maps, images, and the board on which training draws |
//! | [`notebook`] | how a value is shown below its cell, displays, progress bars, interrupts |
//! | [`bench`](mod@bench) | a stopwatch, a benchmark, experiments: CPU against GPU, transfers, logging |
//! | [`tensorboard`] | a log of training for TensorBoard |
//! | [`text`] | language models: generation of text, Llama |
//! | [`error`] | Taper's errors: the operation, what was expected, what was found, and advice |
//! | [`exercises`] | exercises that check themselves |
//!
//! # Inputs and outputs
//!
//! You pass data as a [`Dataset`](data::Dataset), which returns the examples at some indices as a
//! [`Batch`](data::Batch) or as a type that derives [`BatchData`](data::BatchData), and a model as a struct
//! that derives [`Parameters`](nn::Parameters) and has a `forward`. You get the trained model, a
//! [`History`](train::History) of metrics, files that PyTorch reads, and figures.
//!
//! A [`Tensor`] is a Candle tensor behind a type with PyTorch's operators and methods; [`From`] converts in
//! both directions without a copy, so that code for Candle works here. Devices and shapes are Candle's own
//! types; an [`Error`] contains one of Candle's.
//!
//! # Errors and panics
//!
//! A wrong shape, element type, index or device is a mistake in the program, so operations on tensors and
//! layers return plain values and panic. [`attempt`] turns such a panic into a [`Result`]. What depends on
//! files, data, GPUs or other processes returns a [`Result`]. Both have the same messages of two lines: what was
//! expected and found, and what to do.
//!
//! What happens where shapes do not fit, by the place:
//!
//! | place | what you see | afterwards |
//! |---|---|---|
//! | a cell, also in a function of an earlier cell | the error of the cell, with your line | variables are kept, except those that the cell has moved |
//! | [`Trainer::fit`](train::Trainer::fit): the model, a metric, a callback | the same | the history has the steps until then; modes are restored; `fit` can be called again |
//! | `fit` on several devices, [`DataParallel`](train::DataParallel) | the same message as an `Err`, without a line | the same |
//! | one of several ranks | the same message as an `Err` of that rank; the others end with an error that names it, the step, and the last checkpoint | start all again, with [`resume_from`](train::Trainer::resume_from) |
//! | within [`attempt`], as in a server | an `Err`; nothing is printed | the program goes on |
//!
//! Any other panic, such as an index outside a `Vec`, goes on in all of these places. It ends a rank, and so the others.
//!
//! # The path of the data through a training step
//!
//! 1. A [`DataLoader`](data::DataLoader) chooses the order of the examples in an epoch. Its thread
//!    requests the next minibatch from the data set, moves it to the device, and sends it into a channel.
//! 2. [`Trainer::fit`](train::Trainer::fit) receives it from the channel. With several devices,
//!    [`split_and_load`](train::split_and_load) copies a part of the batch to each, and each runs its
//!    replica of the model on a thread of its own.
//! 3. [`Module::training_step`](train::Module::training_step) calls [`Layer::forward`](nn::Layer), which
//!    calls the layers in it, and then the loss.
//! 4. A layer calls its operation in [`ops`]. On the CPU, the operation is a kernel of Taper's
//!    (vectorised, on all cores) with its own backward pass; elsewhere, or where the kernel does not
//!    support the input, it is composed of Candle's operations. Both are tested against each other and
//!    PyTorch. What was computed from a parameter is recorded on the tape (`crates/tensor/src/ops/tape.rs`).
//! 5. [`backward`](ops::backward) walks along the tape, from the loss to the parameters, and adds up the gradients.
//!    The gradients of several devices are summed on the first.
//! 6. The [`Optimizer`](optim::Optimizer) changes the parameters in place, and the replicas receive
//!    the new ones.
//! 7. Metrics stay on their device until the end of an interval. Then they are fetched in one transfer,
//!    and the board, the callbacks and the history receive them.
//!
//! # The crates of the library
//!
//! Most of these modules are crates of their own, of which each uses only those above it:
//!
//! | crate | modules |
//! |---|---|
//! | `taper_compute` | what kernels do on slices |
//! | `taper_tensor` | [`tensor`], [`ops`], [`device`], [`error`] |
//! | `taper_distributed` | [`distributed`] |
//! | `taper_display` | [`notebook`], [`plot`] |
//! | `taper_nn` | [`nn`], [`optim`] |
//! | `taper_data` | [`data`] |
//! | `taper_train` | [`train`], [`metrics`], [`tensorboard`] |
//! | `taper_extra` | what only PyTorch's users look for: items of [`nn`], [`ops`], [`optim`], [`data`], [`metrics`] and [`train`] |
//! | `taper` | [`text`], [`rl`], [`bench`](mod@bench), [`exercises`], the prelude |
//!
//! Only `notebook` communicates with a front end: in a plain program the same calls print, or do nothing.

// The code from the derive macros contains `::taper::…`; this makes that path valid in this crate too.
extern crate self as taper;

#[macro_use(setters)]
extern crate taper_tensor;

pub use candle_core;
pub use candle_nn;

pub mod bench;
#[cfg(all(test, feature = "cuda"))]
mod cuda_tests;
pub mod data;
pub mod exercises;
#[cfg(test)]
mod fuzz;
#[doc(hidden)]
pub mod inspect;
pub mod metrics;
pub mod nn;
pub mod ops;
pub mod optim;
pub mod prelude;
#[cfg(test)]
mod reference;
pub mod rl;
pub mod text;
pub mod train;

#[doc(inline)]
pub use taper_data::compose;
#[cfg(test)]
use taper_display::image;
#[doc(inline)]
pub use taper_display::{check_interrupt, interrupted, notebook, plot, show_value};
#[doc(inline)]
pub use taper_distributed::distributed;
#[doc(inline)]
pub use taper_nn::{layer, seq};
#[doc(inline)]
pub use taper_tensor::{Error, Result, Tensor, attempt, device, error, tensor};
use taper_tensor::{erased, input};
#[doc(inline)]
pub use taper_train::tensorboard;
