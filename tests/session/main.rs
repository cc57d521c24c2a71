//! Cells in the real session (`taper events`), each with exactly the events that it must produce.

mod commands;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod displays;
mod errors;
mod faults;
mod first_mistakes;
#[path = "../common/fuzz.rs"]
mod fuzz;
mod input;
mod marks;
mod mistakes;
mod output;
mod split;
mod stale;
mod stopping;
mod values;
mod week;
