//! One file per subcommand.

pub(crate) mod book;
pub(crate) mod class;
pub(crate) mod course;
pub(crate) mod cuda;
pub(crate) mod data;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod exercises;
pub(crate) mod export;
pub(crate) mod gpu_check;
pub(crate) mod image;
pub(crate) mod import;
pub(crate) mod kernel;
pub(crate) mod lab;
pub(crate) mod mdbook;
pub(crate) mod notebook_text;
pub(crate) mod parameters;
pub(crate) mod publish;
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod test;

use std::path::Path;
use taper_notebook::{StartEvaluator, log_evaluator};

/// Returns the function that starts the evaluator of the cells: a session, or a replay of the log of an
/// exported program.
///
/// Call it before any thread is started.
pub(crate) fn evaluator(log: Option<&Path>) -> anyhow::Result<Box<StartEvaluator>> {
    if let Some(log) = log {
        return log_evaluator(log, taper_session::error_of);
    }
    Ok(Box::new(taper_session::evaluator()?))
}
