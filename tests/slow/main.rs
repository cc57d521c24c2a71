//! The tests that take minutes. `cargo test` leaves this program out; `cargo test --test slow --test setup` runs it, and CI does.

mod accuracy;
mod book;
mod book_run;
#[path = "../common/mod.rs"]
mod common;
mod export;
mod kernel;
mod lab;
mod publish;
