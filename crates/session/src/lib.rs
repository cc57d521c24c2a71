//! Evaluates cells of Rust: the text of a cell goes in, events come out, and variables live on.
//!
//! [`Session`] implements [`taper_evaluator::Evaluator`]. Its users are the Jupyter kernel, the runner of
//! notebook files and `taper events`; this crate knows neither Jupyter nor notebook files.
//!
//! # The path of a cell
//!
//! 1. [`Evaluator::execute`](taper_evaluator::Evaluator::execute) receives the text. `session` runs
//!    what evcxr does not run well: shell commands (`!`), restarts, and the compilation of new
//!    dependencies (`:dep`). The rest is Rust.
//! 2. evcxr writes that Rust into the crate `ctx` and calls `cargo build`. The `cargo` that evcxr finds
//!    is this program (`compile`). Where only the cell is new, this program calls rustc directly;
//!    otherwise it passes the call on to the real cargo.
//! 3. evcxr asks the *cells process* to load the compiled library and to call the cell's function. The
//!    *relay* (`relay`) is between evcxr and the cells process: it reads everything that the cells
//!    process writes and turns it into records, one per line.
//! 4. `session` turns records into [`Event`](taper_evaluator::Event)s, and rustc's diagnostics, panics
//!    and failed `?` into one [`CellError`](taper_evaluator::CellError) whose positions are in the cell.
//!
//! ```text
//! Session ── evcxr ──▶ cargo (this program) ──▶ rustc
//!              │
//!              └─stdin──────────────▶ cells process (loads and calls each cell)
//!            ◀─records── relay ◀─stdout, stderr──┘
//! ```
//!
//! # Two engines
//!
//! That is the path with `TAPER_ENGINE=evcxr`. By default, the crate `taper-engine` takes the place of evcxr, of this
//! program in place of cargo, and of the relay (`session/engine/own`): it starts rustc and the cells process itself.
//! Completion and documentation come from rust-analyzer in a thread of its own (`analysis`). A value that others borrow
//! from is kept where it is, statics keep their values, an edited implementation replaces the old one, and redirected
//! standard streams come back after the cell.
//!
//! # The start of a session
//!
//! Compiling the crate `taper` and its dependencies takes minutes. So they are compiled once, into an
//! [`image`], and each session gets a copy of it in a folder of its own ([`workspace`]). [`start_session`]
//! builds the image if it is missing or outdated. An image is identified by a [`Key`](image::Key): a digest
//! of the compiler, the locked dependencies, the features and the sources of `taper`.
//!
//! # Processes
//!
//! The relay, the cells process, the replacements of cargo and rustup, and the first cell of a new image are
//! all this program, started under another name or with a hidden first argument. So a program that uses
//! this crate calls [`hook()`] before anything else.
//!
//! # Files
//!
//! | file | task |
//! |---|---|
//! | `error.rs` | why a session does not start |
//! | `start.rs` | starts a session from the checkout in which this build of Taper lives |
//! | `deferred.rs` | builds the image within the first cell, when a kernel starts without one |
//! | `hook.rs`, `first_cell.rs` | what this program does as one of a session's processes |
//! | `heap.rs` | returns freed memory to the system |
//! | `workspace.rs` | a session's folder, its environment variables, cargo's configuration |
//! | `image/` | builds, verifies and copies the compiled dependencies |
//! | `compile/` | replaces cargo, rustup and the source of the standard library for evcxr |
//! | `analysis/` | completes names and shows documentation, with rust-analyzer as a library |
//! | `relay/` | runs the cells and turns their output into records |
//! | `session/` | the evaluator: cells, variables, completions, interrupts |
//! | `session/diagnostics/` | error messages |

mod analysis;
mod compile;
mod deferred;
mod error;
mod first_cell;
mod heap;
mod hook;
pub mod image;
mod relay;
mod session;
mod start;
pub mod workspace;

pub use compile::{STORED_CARGO_HOME, cargo_home};
pub use deferred::start_or_defer;
pub use error::Error;
pub use hook::hook;
pub use session::{Session, error_of};
pub use start::{evaluator, image_key, start_session};
