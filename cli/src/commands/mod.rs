//! One file per subcommand.

pub mod book;
pub mod cuda;
pub mod data;
pub mod doctor;
pub mod events;
pub mod export;
pub mod gpu_check;
pub mod kernel;
pub mod lab;
pub mod mdbook;
pub mod setup;
