//! Notebook files without Jupyter: runs them, compares their outputs, exports them as programs.
//!
//! The input is `.ipynb` files and a function that starts an evaluator ([`StartEvaluator`]). The result is
//! outputs, written into the files or compared with the outputs in them, and a report on the terminal; or,
//! for an export, a cargo project. This crate depends neither on the compiler of the cells nor on Jupyter's
//! messaging protocol.
//!
//! # The path of a notebook
//!
//! 1. [`run()`] and [`test()`] receive the notebooks. A single notebook runs in this process. If there are
//!    several, each runs in its own process, because an evaluator contains a whole compiler: this program is
//!    started again with [`WORKER_ARGUMENT`], calls [`run_worker`], and writes a summary to a file. The parent
//!    prints the output of each process when the process has ended (`commands/workers.rs`;
//!    `commands/task.rs` writes and parses the command line of a worker).
//! 2. [`Notebook`] reads a file (`document/notebook.rs`). The error for a file that is not a
//!    notebook for Rust says what was found and what to do (`document/error.rs`). Tags, comments and tolerances of the
//!    cells are read here (`document/tags.rs`, `document/tolerance.rs`).
//! 3. `execution/start.rs` changes to the notebook's folder and starts the evaluator;
//!    `execution/execute.rs` runs the cells in order until one fails. The evaluator sends events, and
//!    `execution/outputs.rs` collects the outputs that Jupyter would keep.
//! 4. `taper run` stores the outputs in the document. `document/layout.rs` serialises it as Python's
//!    nbformat does, and `document/write.rs` replaces the file as a whole. [`MachineOutputs`] is the other
//!    destination: a file beside the notebook with the outputs of another machine, which the book shows.
//! 5. `taper test` compares the outputs with the stored ones instead: `compare/outputs.rs` output by
//!    output, `compare/text.rs` line by line, `compare/numbers.rs` number by number within the tolerance.
//!    `compare/diff.rs` makes the differences readable.
//!
//! [`grade()`] grades submissions: `grading` puts the tests of the assignment into them, refuses cells that would change
//! what the tests mean, and reads the points from the outputs; `commands/grade.rs` reports them.
//!
//! SIGINT and SIGTERM interrupt the current step (`signals.rs`): a cell, the worker processes, or this
//! process. `console.rs` prints the report.
//!
//! # Export
//!
//! [`Program`] is the source of one program, made of a notebook's cells (`export/program.rs`; with syn,
//! `export/rust_cell.rs` finds what a cell defines and which value it shows). [`write_project`] puts
//! programs into a folder together with the crate `taper`, so that the folder can be copied to another
//! machine. A program prints a log; [`log_evaluator`] returns an evaluator that replays the log, so that
//! [`run()`] and [`test()`] work with it as with a session.
//!
//! # Files `.rs`
//!
//! A Rust file in which a comment `// %%` begins each cell is a notebook too: the percent format of jupytext
//! (`document/percent`). [`Notebook::load`] reads it; [`write_script`] and [`read_script`] convert in both directions.
//!
//! # Translation
//!
//! [`Edition`] replaces the text of a notebook by its translation from a catalogue in `po` (`translation`).

mod commands;
mod compare;
mod console;
mod digest;
mod document;
mod execution;
mod export;
mod grading;
mod machine_outputs;
mod parameters;
mod plain;
mod signals;
mod translation;

#[cfg(test)]
mod testing;

pub use commands::convert::{read_script, write_script};
pub use commands::grade::{grade, prepared, scored};
pub use commands::run::{Destination, RunOptions, run};
pub use commands::task::WORKER_ARGUMENT;
pub use commands::test::test;
pub use commands::worker::run_worker;
pub use document::notebook::Notebook;
pub use execution::start::StartEvaluator;
pub use export::log::{ErrorOf, log_evaluator};
pub use export::program::Program;
pub use export::project::{write_jobs, write_project};
pub use machine_outputs::MachineOutputs;
pub use parameters::ParameterRequest;
pub use translation::{Edition, Unit, has_words, notebook_units, page_units};
