//! `taper test`: executes notebooks and compares with the outputs in them.

use crate::export;
use crate::run::compare::compare;
use crate::run::execute::{End, Execution, Purpose, Ran};
use crate::run::file::execute_file;
use crate::run::notebook::{CodeCell, Notebook};
use crate::run::pool::{Job, Summary, Verdict, exit_code, run_all};
use crate::run::problem::{NotebookError, Problem};
use crate::run::report::{Console, Tone, count, seconds};
use crate::run::{StartEvaluator, failure, signals};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Execute notebooks and compare with the outputs stored in them.
///
/// Numbers may differ by a relative 1e-5 or an absolute 1e-8, whole numbers not at all; the
/// metadata {"taper": {"rtol": …, "atol": …}} of a notebook or a cell says otherwise. Images count
/// by their presence. Cell tags: skip-execution, raises-exception, nbval-ignore-output, nbval-skip;
/// or a comment line: // NBVAL_IGNORE_OUTPUT.
#[derive(Debug, Clone, clap::Args)]
pub struct TestArgs {
    /// Notebooks, and folders in which to look for them.
    #[arg(default_value = "notebooks", value_name = "NOTEBOOK|FOLDER")]
    pub notebooks: Vec<PathBuf>,

    /// How many notebooks to run at the same time (each takes about a gigabyte).
    #[arg(short, long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,

    /// Do not run the cells: take what this log of an exported program holds.
    #[arg(long, value_name = "LOG")]
    pub outputs: Option<PathBuf>,

    /// Where to leave the summary for the process that started this one.
    #[arg(long, hide = true)]
    pub worker_result: Option<PathBuf>,
}

/// Tests the notebooks; the exit code is 0, 1 after a failure or where no notebook was run, or 128
/// and the signal.
pub fn test(args: &TestArgs, start: &StartEvaluator) -> anyhow::Result<ExitCode> {
    signals::listen();
    let console = Console::new();
    if let (Some(file), [notebook]) = (&args.worker_result, &args.notebooks[..]) {
        let summary = test_here(notebook, args, start, &console)?;
        summary.leave(file)?;
        return Ok(exit_code(&[summary]));
    }
    let (notebooks, mut summaries) = find(&args.notebooks, &console)?;
    if let [notebook] = &notebooks[..] {
        summaries.push(test_here(notebook, args, start, &console)?);
    } else if args.outputs.is_some() {
        bail!("--outputs takes the log of one notebook; name one notebook");
    } else {
        let job = |notebook| Job {
            command: vec!["test".into()],
            notebook,
        };
        let jobs: Vec<Job> = notebooks.into_iter().map(job).collect();
        summaries.extend(run_all(&jobs, args.jobs.into(), &console)?);
    }
    Ok(total(&summaries, &console))
}

/// The last lines: how many of what.
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

/// The notebooks to test. In a folder, those of other kernels are skipped; a file that is named is
/// always tried.
fn find(paths: &[PathBuf], console: &Console) -> anyhow::Result<(Vec<PathBuf>, Vec<Summary>)> {
    let (mut notebooks, mut skipped) = (Vec::new(), Vec::new());
    for path in paths {
        if !path.is_dir() {
            notebooks.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        walk(path, &mut found).with_context(|| format!("cannot look into {}", path.display()))?;
        found.sort();
        for file in found {
            let other = Notebook::load(&file).err();
            let other = other.filter(|e| matches!(e.problem, Problem::OtherKernel { .. }));
            if let Some(NotebookError {
                name,
                problem: Problem::OtherKernel { kernel, .. },
            }) = other
            {
                console.say(&format!("{name}: skipped, it is for the kernel `{kernel}`"));
                skipped.push(Verdict::Skipped.into());
            } else {
                notebooks.push(file);
            }
        }
    }
    Ok((notebooks, skipped))
}

/// All notebooks under a folder, but not those in hidden folders (checkpoints) and build folders.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
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

fn test_here(
    path: &Path,
    args: &TestArgs,
    start: &StartEvaluator,
    console: &Console,
) -> anyhow::Result<Summary> {
    let mut notebook = match Notebook::load(path) {
        Ok(notebook) => notebook,
        Err(error) => {
            console.warn(&error.to_string());
            return Ok(Verdict::Failed.into());
        }
    };
    if args.outputs.is_some() {
        export::skip_what_is_not_exported(&mut notebook);
    }
    let execution = match execute_file(&notebook, path, Purpose::Test, start, console) {
        Ok(execution) => execution,
        Err(error) => {
            console.warn(&format!(
                "{}: the kernel does not start: {error:#}",
                notebook.name
            ));
            return Ok(Verdict::Failed.into());
        }
    };
    Ok(judge(&notebook, &execution, console))
}

/// Compares all cells that were run, prints what differs, then the notebook's one line.
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
            surprise(notebook, cell, ran, console);
        } else if !cell.tags.ignore_output {
            cells_compared += 1;
            failed |= !matches_file(notebook, cell, ran, console);
        }
    }
    let (verdict, word) = match execution.end {
        End::Interrupted => (
            Verdict::Interrupted(signals::received().unwrap_or(libc::SIGINT)),
            "interrupted",
        ),
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
        Verdict::Skipped => "no cell is to be run".to_string(),
        _ => format!(
            "{} compared, {}",
            count(cells_compared, "cell"),
            seconds(execution.took)
        ),
    };
    console.say(&format!("{name}: {word}, {rest}"));
    Summary {
        verdict,
        cells_compared,
    }
}

/// A cell that failed and should not have, or the other way round.
fn surprise(notebook: &Notebook, cell: &CodeCell, ran: &Ran, console: &Console) {
    let Some(error) = &ran.error else {
        let place = failure::place(notebook, cell, ran);
        console.say(&console.out(Tone::Bad, &place));
        console.say("    is tagged `raises-exception`, but no error came");
        return;
    };
    let lines = failure::describe(notebook, cell, ran, error);
    console.say(&console.out(Tone::Bad, &lines[0]));
    lines[1..].iter().for_each(|line| console.say(line));
    console.say("    (if the error is meant, tag the cell `raises-exception`)");
}

fn matches_file(notebook: &Notebook, cell: &CodeCell, ran: &Ran, console: &Console) -> bool {
    let place = failure::place(notebook, cell, ran);
    let stored = match &cell.stored {
        Ok(stored) => stored,
        Err(why) => {
            console.say(&console.out(Tone::Bad, &format!("{place}: in the file, {why}")));
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
