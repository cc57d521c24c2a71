//! `taper test`: executes notebooks and compares the outputs with the stored ones.

use super::failure;
use super::summary::{Summary, Verdict, exit_code};
use super::task::Task;
use super::workers::{no_report, run_all};
use crate::compare::outputs::compare;
use crate::console::{Console, Tone, count, seconds};
use crate::document::error::Problem;
use crate::document::notebook::{CodeCell, Notebook, check_kernel, read_document};
use crate::document::percent;
use crate::execution::execute::{End, Execution, Purpose, Ran};
use crate::execution::start::{StartEvaluator, execute_file};
use crate::export::program::skip_unexported;
use crate::signals::{self, EndProcess};
use anyhow::{Result, bail};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use taper_host::error::OnFile as _;

/// Tests notebooks, given as files or folders. If there are several, tests each in its own process, `jobs` at
/// a time.
///
/// With `from_log` the evaluator replays the log of an exported program, and only exported cells are
/// tested. The exit code is 0, 1 after a failure or if no notebook was run, or 128 plus the number of the
/// signal that interrupted the test.
///
/// # Errors
///
/// Fails if a folder cannot be read, or if several notebooks are tested with one log.
pub fn test(
    notebooks: &[PathBuf],
    from_log: bool,
    jobs: usize,
    start: &StartEvaluator,
) -> Result<ExitCode> {
    signals::listen();
    let console = Console::new();
    let (notebooks, mut summaries) = find(notebooks, &console)?;
    if let [notebook] = &notebooks[..] {
        summaries.push(test_notebook(notebook, from_log, start, &console)?);
    } else if from_log {
        bail!("--outputs takes the log of one notebook; name one notebook");
    } else {
        summaries.extend(run_all(&Task::Test, &notebooks, jobs, &no_report, &console));
    }
    Ok(total(&summaries, &console))
}

/// Prints the totals and returns the exit code.
fn total(summaries: &[Summary], console: &Console) -> ExitCode {
    let of = |verdict| {
        summaries
            .iter()
            .filter(|summary| summary.verdict == verdict)
            .count()
    };
    let (passed, failed, skipped) = (
        of(Verdict::Passed),
        of(Verdict::Failed),
        of(Verdict::Skipped),
    );
    let compared = summaries.iter().map(|summary| summary.cells_compared).sum();
    console.say(&format!("{} compared", count(compared, "cell")));
    console.say(&format!(
        "{passed} passed, {failed} failed, {skipped} skipped"
    ));
    let code = exit_code(summaries);
    if code == ExitCode::SUCCESS && passed + failed == 0 {
        console.warn("no notebook was run, so nothing was tested");
        return ExitCode::FAILURE;
    }
    code
}

/// Finds the notebooks to test, and returns a summary for each skipped notebook. In a folder, notebooks
/// for other kernels are skipped; a file named on the command line is always tested.
fn find(paths: &[PathBuf], console: &Console) -> Result<(Vec<PathBuf>, Vec<Summary>)> {
    let (mut notebooks, mut skipped) = (Vec::new(), Vec::new());
    for path in paths {
        if !path.is_dir() {
            notebooks.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        walk(path, &mut found).on_file("read", path)?;
        found.sort();
        for file in found {
            let document = read_document(&file);
            match document.and_then(|document| check_kernel(&document["metadata"])) {
                Err(Problem::OtherKernel { kernel, .. }) => {
                    let name = file.display();
                    console.say(&format!("{name}: skipped, it is for the kernel `{kernel}`"));
                    skipped.push(Verdict::Skipped.into());
                }
                _ => notebooks.push(file),
            }
        }
    }
    Ok((notebooks, skipped))
}

/// Finds all notebooks under a folder, except in hidden folders (checkpoints) and build folders.
pub(super) fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                walk(&path, found)?;
            }
        } else if name.ends_with(".ipynb") && !name.starts_with('.') {
            found.push(path);
        }
    }
    Ok(())
}

/// Tests one notebook in this process.
pub(super) fn test_notebook(
    path: &Path,
    from_log: bool,
    start: &StartEvaluator,
    console: &Console,
) -> Result<Summary> {
    let mut notebook = match Notebook::load(path) {
        Ok(notebook) => notebook,
        Err(error) => {
            console.warn(&error.to_string());
            return Ok(Verdict::Failed.into());
        }
    };
    if percent::is_script(path) {
        for cell in &mut notebook.cells {
            cell.tags.ignore_output = true;
        }
    }
    if from_log {
        skip_unexported(&mut notebook);
        // The log may be of a program that ran on a GPU.
        for cell in &mut notebook.cells {
            cell.tags.ignore_output |= cell.tags.other_on_gpu;
        }
    }
    // Without a compiler, the run says so.
    let release = taper_host::toolchain::release().unwrap_or_default();
    for cell in &mut notebook.cells {
        cell.tags.ignore_output |= cell.tags.is_of_other_rust(release);
    }
    let execution = match execute_file(&notebook, path, Purpose::Test, start, console) {
        Ok(execution) => execution,
        Err(error) => {
            console.warn(&format!("{}: {error:#}", notebook.name));
            return Ok(Verdict::Failed.into());
        }
    };
    let _comparing =
        (execution.end != End::Interrupted).then(|| signals::set_target(Arc::new(EndProcess)));
    Ok(judge(&notebook, &execution, console))
}

/// Compares all cells that were run; prints the differences, then one line about the notebook.
fn judge(notebook: &Notebook, execution: &Execution, console: &Console) -> Summary {
    let name = &notebook.name;
    let (mut cells_compared, mut failed) = (0, false);
    for (index, ran) in execution.ran() {
        let cell = &notebook.cells[index];
        let last_and_interrupted =
            execution.end == End::Interrupted && ran.execution_count == execution.ran().count();
        if last_and_interrupted {
            break;
        }
        if ran.unexpected {
            failed = true;
            report_unexpected(notebook, cell, ran, console);
        } else if !cell.tags.ignore_output {
            cells_compared += 1;
            failed |= !matches_file(notebook, cell, ran, console);
        }
    }
    let (verdict, word) = match execution.end {
        End::Interrupted => (Verdict::interrupted(), "interrupted"),
        _ if failed => (Verdict::Failed, "failed"),
        _ if execution.ran().next().is_none() => (Verdict::Skipped, "skipped"),
        _ => (Verdict::Passed, "passed"),
    };
    let word = match verdict {
        Verdict::Passed => console.out(Tone::Good, word),
        Verdict::Skipped => console.out(Tone::Quiet, word),
        Verdict::Failed | Verdict::Interrupted(_) => console.out(Tone::Bad, word),
    };
    let rest = match verdict {
        Verdict::Skipped if notebook.cells.is_empty() => "no code cells".to_string(),
        Verdict::Skipped => "no cells to run".to_string(),
        _ if percent::is_script(Path::new(name)) => format!(
            "{}, {}; a file .rs keeps no outputs to compare with",
            count(execution.ran().count(), "cell"),
            seconds(execution.took)
        ),
        _ => format!(
            "{} compared, {}",
            count(cells_compared, "cell"),
            seconds(execution.took)
        ),
    };
    console.say(&format!("{name}: {word}, {rest}"));
    Summary {
        cells_compared,
        ..verdict.into()
    }
}

/// Reports a cell that failed unexpectedly, or that did not fail although it is expected to.
fn report_unexpected(notebook: &Notebook, cell: &CodeCell, ran: &Ran, console: &Console) {
    let Some(error) = &ran.error else {
        let place = failure::place(notebook, cell, ran);
        console.say(&console.out(Tone::Bad, &place));
        console.say("    is tagged `raises-exception`, but did not fail");
        return;
    };
    let lines = failure::describe(notebook, cell, ran, error);
    console.say(&console.out(Tone::Bad, &lines[0]));
    lines[1..].iter().for_each(|line| console.say(line));
    console.say("    (if the error is expected, tag the cell `raises-exception`)");
}

fn matches_file(notebook: &Notebook, cell: &CodeCell, ran: &Ran, console: &Console) -> bool {
    let place = failure::place(notebook, cell, ran);
    let stored = match &cell.stored {
        Ok(stored) => stored,
        Err(error) => {
            console.say(&console.out(Tone::Bad, &format!("{place}: in the file, {error}")));
            return false;
        }
    };
    let mismatches = compare(stored, &ran.outputs, cell.tolerance);
    for mismatch in &mismatches {
        let line = format!("{place}, output {}: {}", mismatch.number, mismatch.what);
        console.say(&console.out(Tone::Strong, &line));
        for line in &mismatch.diff {
            console.say(&format!("    {}", console.diff_line(line)));
        }
    }
    mismatches.is_empty()
}
