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
pub mod run;
pub mod setup;
pub mod test;

use std::path::Path;
use taper_notebook::{StartEvaluator, log_evaluator};

/// Returns what starts the evaluator of the cells: a session, or a log of an exported program.
///
/// Call it before any thread is started.
pub fn evaluator(log: Option<&Path>) -> anyhow::Result<Box<StartEvaluator>> {
    if let Some(log) = log {
        return Ok(log_evaluator(log, taper_session::error_of)?);
    }
    let start = taper_session::evaluator()?;
    Ok(Box::new(move || start().map_err(Into::into)))
}
