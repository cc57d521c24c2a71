//! One file per subcommand.

pub(crate) mod book;
pub(crate) mod cuda;
pub(crate) mod data;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod gpu_check;
pub(crate) mod kernel;
pub(crate) mod lab;
pub(crate) mod mdbook;
pub(crate) mod setup;
