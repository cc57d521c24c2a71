//! The commands of a cell that the session runs itself: `:help`, `%time`, `%%bash`, `name?`, …
//!
//! - [`request`] reads what a cell asks for;
//! - [`run`] does it;
//! - [`profile`] shows what `%%profile` has measured;
//! - [`unit_tests`], [`mod@format`] and [`files`] do what `%test`, `%fmt` and `%%writefile` ask for.

mod files;
mod format;
mod profile;
mod request;
mod run;
mod unit_tests;

pub(super) use request::{rust_of, without_lines};
