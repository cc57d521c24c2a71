//! The worker process: runs or tests one notebook and writes its summary to a file.

use super::grade::grade_notebook;
use super::run::{Destination, RunOptions, run_notebook};
use super::summary::{Summary, exit_code};
use super::task::{Assignment, Task};
use super::test::test_notebook;
use crate::console::Console;
use crate::execution::start::StartEvaluator;
use crate::signals;
use anyhow::Result;
use std::ffi::OsString;
use std::process::ExitCode;
use taper_host::error::OnFile as _;

/// Runs as a worker process; `arguments` are those after [`WORKER_ARGUMENT`](super::task::WORKER_ARGUMENT).
///
/// # Errors
///
/// Fails if the arguments are not those of a worker, or if a file cannot be written.
pub fn run_worker(arguments: &[OsString], start: &StartEvaluator) -> Result<ExitCode> {
    let assignment = Assignment::from_arguments(arguments)?;
    signals::listen();
    let console = Console::new();
    let notebook = &assignment.notebook;
    let summary: Summary = match assignment.task {
        Task::Run {
            inplace,
            allow_errors,
            parameters,
        } => {
            let options = RunOptions {
                destination: if inplace {
                    Destination::Inplace
                } else {
                    Destination::None
                },
                allow_errors,
                parameters,
                ..RunOptions::default()
            };
            run_notebook(notebook, &options, start, &console)?.into()
        }
        Task::Test => test_notebook(notebook, false, start, &console)?,
        Task::Grade { assignment, limit } => {
            grade_notebook(notebook, &assignment, limit, start, &console)?
        }
    };
    let text = serde_json::to_string(&summary).expect("a summary has only string keys");
    std::fs::write(&assignment.summary, text).on_file("write", &assignment.summary)?;
    Ok(exit_code(&[summary]))
}
