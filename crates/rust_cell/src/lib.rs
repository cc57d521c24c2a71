//! Reads the text of a cell, for all who need to know what is in it: the engine, the session, the export and the grading of
//! notebooks.
//!
//! # Input and output
//!
//! The input is the text of a cell, the output its parts. Nothing is compiled, and no file is read. A cell that is not valid
//! Rust has an error of `syn`; rustc explains it better.
//!
//! - [`commands`]: the lines that are not Rust, and the table of all commands;
//! - [`statements`]: the Rust as `syn` reads it, with positions in the cell;
//! - [`defined()`]: the names that an item defines, with [`keys`], which earlier items it replaces, and [`imports`], what a
//!   `use` brings;
//! - [`bindings`]: the variables of a pattern; [`words`]: all names that a piece of source mentions;
//! - [`tokens`]: the tokens of code that may not be valid; [`position`]: lines and columns.
//!
//! The session also reads cells that are being written, or that do not compile, with rust-analyzer's parser.

pub mod bindings;
pub mod commands;
mod defined;
pub mod imports;
pub mod keys;
pub mod position;
mod syntax;
pub mod tokens;
pub mod words;

pub use defined::defined;
pub use syntax::{range, statements};
