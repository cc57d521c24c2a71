//! One notebook's run, with an evaluator of its own.

use super::execute::{Execution, Purpose, execute, is_wanted};
use super::notebook::Notebook;
use super::report::Console;
use super::{StartEvaluator, signals};
use anyhow::Context;
use std::path::Path;
use std::sync::Arc;

/// Goes to the notebook's folder and executes its cells with a fresh evaluator, if there are any.
pub fn execute_file(
    notebook: &Notebook,
    path: &Path,
    purpose: Purpose,
    start: &StartEvaluator,
    console: &Console,
) -> anyhow::Result<Execution> {
    if !notebook.cells.iter().any(|cell| is_wanted(cell, purpose)) {
        return Ok(Execution::of_nothing(notebook));
    }
    let folder = std::path::absolute(path)?;
    let folder = folder.parent().unwrap_or(Path::new("/"));
    std::env::set_current_dir(folder)
        .with_context(|| format!("cannot go to {}", folder.display()))?;
    console.progress(&format!("{}: starting the kernel", notebook.name));
    let starting = signals::aim(Arc::new(signals::EndProcess));
    let started = start();
    drop(starting);
    console.progress("");
    let mut evaluator = started?;
    let _aim = signals::aim(evaluator.interrupter());
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
