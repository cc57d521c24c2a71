//! `taper run`: executes notebooks and writes their outputs.

use super::failure;
use super::summary::{Verdict, exit_code};
use super::task::Task;
use super::workers::{no_report, run_all};
use crate::console::{Console, Tone, count, seconds};
use crate::document::layout::layout;
use crate::document::notebook::Notebook;
use crate::document::percent;
use crate::document::write::Target;
use crate::execution::execute::{End, Execution, Purpose, store};
use crate::execution::start::{StartEvaluator, execute_file};
use crate::export::program::skip_unexported;
use crate::machine_outputs::MachineOutputs;
use crate::parameters::with_parameters;
use crate::signals;
use anyhow::{Result, bail};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_host::error::OnFile as _;

/// The options of `taper run`.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The place to which the outputs are written.
    pub destination: Destination,
    /// Whether the run continues after a cell that fails and keeps its error as an output.
    pub allow_errors: bool,
    /// Whether the evaluator replays the log of an exported program: cells that are not exported then keep
    /// their outputs.
    pub from_log: bool,
    /// The names and values of parameters, which replace the defaults of the cell with the tag `parameters`.
    pub parameters: Vec<(String, String)>,
}

/// The place to which the outputs of a run are written.
#[derive(Debug, Clone, Default)]
pub enum Destination {
    /// Nowhere: the outputs are dropped.
    #[default]
    None,
    /// Into the notebook.
    Inplace,
    /// Into a copy of the notebook with this path.
    File(PathBuf),
    /// Into a file beside the notebook that holds the outputs of the machine with this name.
    Machine(String),
}

/// Executes notebooks. If there are several, runs each in its own process, `jobs` at a time.
///
/// The exit code is 0, 1 after a failure, or 128 plus the number of the signal that interrupted the run.
///
/// # Errors
///
/// Fails if an option for one notebook is used with several, or if a file cannot be written.
pub fn run(
    notebooks: &[PathBuf],
    options: &RunOptions,
    jobs: usize,
    start: &StartEvaluator,
) -> Result<ExitCode> {
    signals::listen();
    let console = Console::new();
    if let [notebook] = notebooks {
        let verdict = run_notebook(notebook, options, start, &console)?;
        return Ok(exit_code(&[verdict.into()]));
    }
    let task = task_for_several(options)?;
    Ok(exit_code(&run_all(
        &task, notebooks, jobs, &no_report, &console,
    )))
}

fn task_for_several(options: &RunOptions) -> Result<Task> {
    let inplace = match options.destination {
        _ if options.from_log => {
            bail!("--outputs takes the log of one notebook; name one notebook")
        }
        Destination::File(_) => {
            bail!("--output takes the outputs of one notebook; for several use --inplace")
        }
        Destination::Machine(_) => {
            bail!("--machine takes the outputs of one notebook; name one notebook")
        }
        Destination::Inplace => true,
        Destination::None => false,
    };
    Ok(Task::Run {
        inplace,
        allow_errors: options.allow_errors,
        parameters: options.parameters.clone(),
    })
}

/// Executes one notebook in this process.
pub(super) fn run_notebook(
    path: &Path,
    options: &RunOptions,
    start: &StartEvaluator,
    console: &Console,
) -> Result<Verdict> {
    let mut notebook = match Notebook::load(path) {
        Ok(notebook) => notebook,
        Err(error) => {
            console.warn(&error.to_string());
            return Ok(Verdict::Failed);
        }
    };
    if let Some(refusal) = cannot_write(path, &options.destination) {
        console.warn(&format!("{}: {refusal}", notebook.name));
        return Ok(Verdict::Failed);
    }
    notebook = with_parameters(notebook, &options.parameters)?;
    if options.from_log {
        skip_unexported(&mut notebook);
    }
    let target = match file_to_write(path, &options.destination) {
        Some(file) => Some(Target::new(&file).on_file("write", &file)?),
        None => None,
    };
    let purpose = Purpose::Run {
        allow_errors: options.allow_errors,
    };
    let execution = match execute_file(&notebook, path, purpose, start, console) {
        Ok(execution) => execution,
        Err(error) => {
            console.warn(&format!("{}: {error:#}", notebook.name));
            return Ok(Verdict::Failed);
        }
    };
    let verdict = report(&notebook, &execution, options.allow_errors, console);
    match target {
        Some(target) if verdict == Verdict::Passed => {
            write(&mut notebook, &execution, &target, options, console)
        }
        Some(_) => {
            console.warn(&format!("{}: nothing was written", notebook.name));
            Ok(verdict)
        }
        None => Ok(verdict),
    }
}

fn file_to_write<'a>(notebook: &'a Path, destination: &'a Destination) -> Option<Cow<'a, Path>> {
    match destination {
        Destination::None => None,
        Destination::Inplace => Some(notebook.into()),
        Destination::File(file) => Some(file.into()),
        Destination::Machine(_) => Some(MachineOutputs::path(notebook).into()),
    }
}

/// Returns why the outputs cannot be written: a file in the percent format keeps none.
fn cannot_write(notebook: &Path, destination: &Destination) -> Option<String> {
    match destination {
        Destination::Inplace | Destination::Machine(_) if percent::is_script(notebook) => {
            let file = notebook.with_extension("ipynb");
            let file = file.display();
            Some(format!("a file .rs keeps no outputs\n  Write a notebook with --output {file}"))
        }
        Destination::File(file) if percent::is_script(file) => Some(
            "--output names a notebook, and a file .rs keeps no outputs\n  Name a file that ends in `.ipynb`".into(),
        ),
        _ => None,
    }
}

/// Prints the failures, then one line about the notebook.
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
            Verdict::interrupted()
        }
        End::Failed(_) if !allow_errors => Verdict::Failed,
        End::Failed(_) | End::Finished => Verdict::Passed,
    }
}

fn write(
    notebook: &mut Notebook,
    execution: &Execution,
    target: &Target,
    options: &RunOptions,
    console: &Console,
) -> Result<Verdict> {
    let name = notebook.name.clone();
    if let Destination::Inplace = options.destination {
        if notebook.cells.is_empty() {
            return Ok(Verdict::Passed);
        }
        if target.has_changed_since(&notebook.original) {
            console.warn(&format!(
                "{name}: was changed by another program while it ran, so it was not written\n  \
                 Run it again, or use --output to write beside it."
            ));
            return Ok(Verdict::Failed);
        }
    }
    store(notebook, execution);
    let mut refuted = vec![];
    let text = match &options.destination {
        Destination::Machine(machine) => {
            let outputs = MachineOutputs::new(notebook, execution, machine);
            let document = serde_json::from_str(&layout(notebook));
            refuted = outputs.refuted(&document.expect("a notebook is written as JSON"));
            outputs.layout()
        }
        _ => layout(notebook),
    };
    target.write(&text).on_file("write", target.path())?;
    for claim in &refuted {
        console.warn(&format!(
            "{name}: what the chapter says is refuted: {claim}"
        ));
    }
    if !refuted.is_empty() {
        return Ok(Verdict::Failed);
    }
    if let Some(upgraded) = &notebook.upgraded {
        console.warn(&format!(
            "{name}: written in the notebook format 4.5 ({upgraded})"
        ));
    }
    Ok(Verdict::Passed)
}
