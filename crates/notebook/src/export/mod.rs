//! Exports notebooks as a cargo project, and reads back what its programs print.

mod exported;
mod jobs;
pub(crate) mod log;
pub(crate) mod program;
pub(crate) mod project;
pub(crate) mod rust_cell;
