//! Evaluates cells of Rust: a cell in, events out, variables that live on.
//!
//! [`Session`] is the evaluator. It is started from an image ([`image`]), in which the crate `taper` and
//! all below it is compiled, in a folder of its own ([`workspace`]). evcxr turns a cell into a crate;
//! [`compile`] stands between evcxr and cargo and compiles it; [`relay`] starts the process in which cells
//! run, and turns what they print into records, which the session turns into events.
//!
//! Several of these processes are the very program that uses this crate, under another name or with
//! another first argument: the program calls [`hook`] before anything else.
//!
//! Nothing here knows of Jupyter or of notebook files.

mod compile;
mod first_cell;
mod hook;
pub mod image;
mod relay;
mod session;
mod start;
pub mod workspace;

pub use compile::{cargo_home, path_is_real};
pub use hook::hook;
pub use session::{Session, Start, error_of};
pub use start::{evaluator, image_key, start_session};
