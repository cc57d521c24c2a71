//! Runs one notebook with a new evaluator.

use super::execute::{Execution, Purpose, execute, is_wanted};
use crate::console::Console;
use crate::document::notebook::Notebook;
use crate::signals;
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use taper_evaluator::evaluator::Evaluator;
use taper_host::error::OnFile as _;

/// The message when an evaluator does not start.
pub(crate) const DOES_NOT_START: &str = "the kernel does not start";

/// Starts an evaluator without variables. It is called after the current directory has become the
/// notebook's folder, so that relative paths in cells mean the same as in Jupyter.
pub type StartEvaluator = dyn Fn() -> Result<Box<dyn Evaluator>>;

/// Changes to the notebook's folder and executes its cells with a new evaluator, if there are any.
pub(crate) fn execute_file(
    notebook: &Notebook,
    path: &Path,
    purpose: Purpose,
    start: &StartEvaluator,
    console: &Console,
) -> Result<Execution> {
    if !notebook.cells.iter().any(|cell| is_wanted(cell, purpose)) {
        return Ok(Execution::empty(notebook));
    }
    enter_folder_of(path)?;
    console.progress(&format!("{}: starting the kernel", notebook.name));
    let starting = signals::set_target(Arc::new(signals::EndProcess));
    let started = start();
    drop(starting);
    console.progress("");
    let mut evaluator = started.context(DOES_NOT_START)?;
    let _target = signals::set_target(evaluator.interrupter());
    let execution = execute(
        notebook,
        &mut *evaluator,
        purpose,
        &|| signals::received().is_some(),
        &mut |index| {
            let (number, all) = (index + 1, notebook.cells.len());
            console.progress(&format!("{}: cell {number} of {all}", notebook.name));
        },
    );
    console.progress("");
    Ok(execution)
}

fn enter_folder_of(path: &Path) -> Result<()> {
    let absolute = std::path::absolute(path).on_file("find", path)?;
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    std::env::set_current_dir(folder).on_file("enter", folder)
}
