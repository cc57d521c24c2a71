//! The engine, with real cells. One program, so that tests of all files run at the same time.

mod ahead;
mod cache;
mod cells;
mod common;
mod editor;
mod fuzz;
mod late;
mod packages;
mod panics;
mod process;
mod profile;
mod references;
mod split;
mod stale;
#[path = "support.rs"]
mod support_of_cells;
