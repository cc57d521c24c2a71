//! Evaluates cells of Rust: the text of a cell goes in, events come out, and variables live on.
//!
//! [`Session`] implements [`taper_evaluator::Evaluator`]. Its users are the Jupyter kernel, the runner of
//! notebook files and `taper events`; this crate knows neither Jupyter nor notebook files.
//!
//! # The path of a cell
//!
//! 1. [`Evaluator::execute`](taper_evaluator::Evaluator::execute) receives the text. `session` runs shell commands (`!`),
//!    restarts, and the compilation of new dependencies (`:dep`). The rest is Rust.
//! 2. The crate `taper-engine` compiles that Rust, and lets the *cells process* load it and call it (`session/engine`).
//! 3. What the cells print and show becomes [`Event`](taper_evaluator::Event)s; rustc's diagnostics,
//!    panics and failed `?` become one [`CellError`](taper_evaluator::CellError) whose positions are in the cell.
//!
//! ```text
//! Session ── engine ──▶ rustc
//!              └──────▶ cells process (loads and calls each cell) ──text and frames──▶ events
//! ```
//!
//! Completion and documentation come from rust-analyzer, another process (`analysis`).
//!
//! With the feature `evcxr`, the released evcxr can take the engine's place (`session/engine/evcxr`).
//!
//! # The start of a session
//!
//! Compiling the crate `taper` and its dependencies takes minutes. So they are compiled once, into an
//! [`image`], and each session gets a copy of it in a folder of its own ([`workspace`]). [`start_session`]
//! builds the image if it is missing or outdated; a kernel runs plain Rust meanwhile ([`start_or_defer`]). An image is identified by a [`Key`](image::Key): a digest
//! of the compiler, the locked dependencies, the features and the sources of `taper`.
//!
//! # Processes
//!
//! The cells process and the first cell of a new image are this program, started with a hidden first argument. So a
//! program that uses this crate calls [`hook()`] before anything else.
//!
//! # Files
//!
//! | file | task |
//! |---|---|
//! | `error.rs` | why a session does not start |
//! | `current.rs` | the image for the checkout in which this build of Taper lives |
//! | `start.rs` | starts a session from it, or without it |
//! | `hook.rs`, `first_cell.rs` | what this program does as one of a session's processes |
//! | `workspace.rs` | a session's folder, cargo's configuration |
//! | `environment.rs` | the environment of what a session starts |
//! | `translations.rs` | what a kernel says in the language of a translated course |
//! | `syntax.rs` | parses a cell that is being written |
//! | `image/` | builds, verifies and copies the compiled dependencies |
//! | `analysis/` | completes names and shows documentation, with the toolchain's rust-analyzer |
//! | `cells/` | what a session adds to the process that runs cells |
//! | `session/` | the evaluator: cells, variables, completions, interrupts |
//! | `session/diagnostics/` | error messages |

mod analysis;
mod cells;
mod current;
pub mod environment;
mod first_cell;
mod hook;
pub mod image;
mod session;
mod start;
mod syntax;
mod translations;
pub mod workspace;

pub use current::image_key;
pub use environment::{STORED_CARGO_HOME, cargo_home};
pub use hook::hook;
pub use session::{Session, error_of, is_complete, is_own, sentences};
pub use start::{evaluator, start_or_defer, start_session};
pub use translations::speak_as_in;
