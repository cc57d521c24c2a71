//! `taper run`: executes notebooks.

use crate::export;
use crate::gpu_outputs::Elsewhere;
use crate::run::execute::{End, Execution, Purpose, store};
use crate::run::file::execute_file;
use crate::run::notebook::Notebook;
use crate::run::pool::{Job, Summary, Verdict, exit_code, run_all};
use crate::run::report::{Console, Tone, count, seconds};
use crate::run::save::{Target, layout};
use crate::run::{StartEvaluator, failure, signals};
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Execute notebooks from a fresh start, cell by cell.
///
/// Stops a notebook at its first failing cell, prints the cell, its line and the error, and exits
/// with 1. Without --inplace or --output nothing is written. A notebook that fails or is
/// interrupted is not written either: its file stays as it was, byte for byte.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// The notebooks.
    #[arg(required = true, value_name = "NOTEBOOK")]
    pub notebooks: Vec<PathBuf>,

    /// Write the outputs into the notebooks.
    #[arg(long, conflicts_with = "output")]
    pub inplace: bool,

    /// Write the notebook with its outputs to this file.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the outputs beside the notebook, as those of a GPU of this name: the book shows both.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["inplace", "output"])]
    pub machine: Option<String>,

    /// How many notebooks to run at the same time (each takes about a gigabyte).
    #[arg(short, long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,

    /// Go on after a cell that fails, write its error as its output, and exit with 0.
    #[arg(long)]
    pub allow_errors: bool,

    /// Do not run the cells: take what this log of an exported program holds.
    #[arg(long, value_name = "LOG")]
    pub outputs: Option<PathBuf>,

    /// Where to leave the summary for the process that started this one.
    #[arg(long, hide = true)]
    pub worker_result: Option<PathBuf>,
}

/// Executes the notebooks; the exit code is 0, 1 after a failure, or 128 and the signal.
pub fn run(args: &RunArgs, start: &StartEvaluator) -> anyhow::Result<ExitCode> {
    signals::listen();
    let console = Console::new();
    if let [notebook] = &args.notebooks[..] {
        let verdict = run_here(notebook, args, start, &console)?;
        if let Some(file) = &args.worker_result {
            Summary::from(verdict).leave(file)?;
        }
        return Ok(exit_code(&[verdict.into()]));
    }
    if args.outputs.is_some() {
        bail!("--outputs takes the log of one notebook; name one notebook");
    }
    if args.output.is_some() {
        bail!("--output takes the outputs of one notebook; for several use --inplace");
    }
    if args.machine.is_some() {
        bail!("--machine takes the outputs of one notebook; name one notebook");
    }
    let jobs: Vec<Job> = args
        .notebooks
        .iter()
        .map(|notebook| job(notebook, args))
        .collect();
    Ok(exit_code(&run_all(&jobs, args.jobs.into(), &console)?))
}

fn job(notebook: &Path, args: &RunArgs) -> Job {
    let mut command: Vec<OsString> = vec!["run".into()];
    command.extend(args.inplace.then(|| "--inplace".into()));
    command.extend(args.allow_errors.then(|| "--allow-errors".into()));
    Job {
        command,
        notebook: notebook.into(),
    }
}

fn run_here(
    path: &Path,
    args: &RunArgs,
    start: &StartEvaluator,
    console: &Console,
) -> anyhow::Result<Verdict> {
    let mut notebook = match Notebook::load(path) {
        Ok(notebook) => notebook,
        Err(error) => {
            console.warn(&error.to_string());
            return Ok(Verdict::Failed);
        }
    };
    if args.outputs.is_some() {
        export::skip_what_is_not_exported(&mut notebook);
    }
    let target = match place(path, args) {
        Some(path) => Some(
            Target::new(&path).with_context(|| format!("{} cannot be written", path.display()))?,
        ),
        None => None,
    };
    let purpose = Purpose::Run {
        allow_errors: args.allow_errors,
    };
    let execution = match execute_file(&notebook, path, purpose, start, console) {
        Ok(execution) => execution,
        Err(error) => {
            console.warn(&format!(
                "{}: the kernel does not start: {error:#}",
                notebook.name
            ));
            return Ok(Verdict::Failed);
        }
    };
    let verdict = report(&notebook, &execution, args.allow_errors, console);
    match target {
        Some(target) if verdict == Verdict::Passed => {
            write(&mut notebook, &execution, &target, args, console)
        }
        Some(_) => {
            console.warn(&format!("{}: nothing was written", notebook.name));
            Ok(verdict)
        }
        None => Ok(verdict),
    }
}

/// Where the outputs are to be written, if anywhere.
fn place(notebook: &Path, args: &RunArgs) -> Option<PathBuf> {
    if args.machine.is_some() {
        return Some(Elsewhere::file_of(notebook));
    }
    let path = args.output.as_deref();
    path.or(args.inplace.then_some(notebook)).map(PathBuf::from)
}

/// Prints what happened, failures first, the notebook's one line last.
fn report(
    notebook: &Notebook,
    execution: &Execution,
    allow_errors: bool,
    console: &Console,
) -> Verdict {
    let name = &notebook.name;
    let mut errors = 0;
    for (index, ran) in execution.ran().filter(|(_, ran)| ran.unexpected) {
        errors += 1;
        let Some(error) = &ran.error else { continue };
        let lines = failure::describe(notebook, &notebook.cells[index], ran, error);
        console.warn(&console.err(Tone::Bad, &lines[0]));
        lines[1..].iter().for_each(|line| console.warn(line));
    }
    if notebook.cells.is_empty() {
        console.say(&format!("{name}: no code cells, nothing to run"));
    } else {
        let cells = count(execution.ran().count(), "cell");
        let errors = count(errors, "error");
        console.say(&format!(
            "{name}: {cells}, {errors}, {}",
            seconds(execution.took)
        ));
    }
    match execution.end {
        End::Interrupted => {
            console.warn(&format!("{name}: interrupted"));
            Verdict::Interrupted(signals::received().unwrap_or(libc::SIGINT))
        }
        End::Failed(_) if !allow_errors => Verdict::Failed,
        End::Failed(_) | End::Finished => Verdict::Passed,
    }
}

fn write(
    notebook: &mut Notebook,
    execution: &Execution,
    target: &Target,
    args: &RunArgs,
    console: &Console,
) -> anyhow::Result<Verdict> {
    let name = notebook.name.clone();
    if args.inplace && notebook.cells.is_empty() {
        return Ok(Verdict::Passed);
    }
    if args.inplace && target.has_changed_since(&notebook.original) {
        console.warn(&format!(
            "{name}: was changed by someone else while it ran, so it was not written\n  \
             Run it again, or use --output to write beside it."
        ));
        return Ok(Verdict::Failed);
    }
    store(notebook, execution);
    let text = match &args.machine {
        Some(machine) => Elsewhere::of(notebook, execution, machine)?.layout()?,
        None => layout(notebook),
    };
    target
        .write(&text)
        .with_context(|| format!("{name}: cannot be written"))?;
    if let Some(upgraded) = &notebook.upgraded {
        console.warn(&format!(
            "{name}: written in the notebook format 4.5 ({upgraded})"
        ));
    }
    Ok(Verdict::Passed)
}
