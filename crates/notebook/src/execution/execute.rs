//! Runs the cells of a notebook, in order, and puts what they showed into its document.

use super::notebook::{CodeCell, Notebook};
use super::outputs::Outputs;
use nbformat::v4::Output;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use taper_evaluator::evaluator::{Evaluator, Front};
use taper_evaluator::event::{CellError, Event};

/// Who asks for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The outputs are wanted.
    Run { allow_errors: bool },
    /// The outputs are to be compared with the stored ones.
    Test,
}

/// A notebook's run.
#[derive(Debug)]
pub struct Execution {
    /// One entry for each code cell.
    pub cells: Vec<CellRun>,
    pub end: End,
    pub took: Duration,
}

/// How the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the last cell.
    Finished,
    /// At the first cell that failed: its index among the code cells.
    Failed(usize),
    /// Because somebody wanted it to.
    Interrupted,
}

/// What became of one cell.
#[derive(Debug)]
pub enum CellRun {
    /// Not run: its tags say so, or it comes after the end.
    Untouched,
    /// Nothing in it but spaces.
    Empty,
    Ran(Ran),
}

/// A cell that has been run.
#[derive(Debug)]
pub struct Ran {
    pub execution_count: usize,
    pub outputs: Vec<Output>,
    pub error: Option<CellError>,
    /// Whether the error, or its absence, is against what the cell's tags say.
    pub unexpected: bool,
}

impl Execution {
    /// The run of a notebook in which no cell is to be run.
    pub fn of_nothing(notebook: &Notebook) -> Execution {
        let purpose = Purpose::Run { allow_errors: true };
        let cells = gather(notebook, purpose, Vec::new(), Vec::new(), End::Finished);
        Execution {
            cells,
            end: End::Finished,
            took: Duration::ZERO,
        }
    }

    /// The cells that were run.
    pub fn ran(&self) -> impl Iterator<Item = (usize, &Ran)> {
        self.cells
            .iter()
            .enumerate()
            .filter_map(|(index, cell)| match cell {
                CellRun::Ran(ran) => Some((index, ran)),
                CellRun::Untouched | CellRun::Empty => None,
            })
    }
}

/// Whether a run would run this cell.
pub fn is_wanted(cell: &CodeCell, purpose: Purpose) -> bool {
    let skipped = cell.tags.skip || (purpose == Purpose::Test && cell.tags.skip_in_test);
    !skipped && !is_empty(cell)
}

fn is_empty(cell: &CodeCell) -> bool {
    cell.source.trim().is_empty()
}

/// Runs the cells until one fails, or until `stop` says so; `progress` hears before each cell how
/// many have been looked at.
pub fn execute(
    notebook: &Notebook,
    evaluator: &mut dyn Evaluator,
    purpose: Purpose,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(usize),
) -> Execution {
    let begun = Instant::now();
    let mut outputs = Outputs::default();
    let mut errors = Vec::new();
    let mut end = End::Finished;
    let wanted = notebook
        .cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| is_wanted(cell, purpose));
    for (index, cell) in wanted {
        if stop() {
            end = End::Interrupted;
            break;
        }
        progress(index);
        outputs.begin_cell(errors.len() + 1);
        let error = evaluator
            .execute(&cell.source, &mut Recorder(&mut outputs))
            .err();
        let failed = error.is_some() && !cell.tags.raises;
        errors.push((index, error));
        if stop() {
            end = End::Interrupted;
            break;
        }
        if failed && purpose != (Purpose::Run { allow_errors: true }) {
            end = End::Failed(index);
            break;
        }
    }
    let cells = gather(notebook, purpose, errors, outputs.finish(), end);
    Execution {
        cells,
        end,
        took: begun.elapsed(),
    }
}

/// Brings together what the loop has kept apart: outputs are final only after the last cell.
fn gather(
    notebook: &Notebook,
    purpose: Purpose,
    errors: Vec<(usize, Option<CellError>)>,
    outputs: Vec<Vec<Output>>,
    end: End,
) -> Vec<CellRun> {
    let mut cells: Vec<CellRun> = notebook
        .cells
        .iter()
        .map(|cell| match end {
            End::Finished if is_empty(cell) && !cell.tags.skip => CellRun::Empty,
            _ => CellRun::Untouched,
        })
        .collect();
    for (number, ((index, error), outputs)) in errors.into_iter().zip(outputs).enumerate() {
        let raises = notebook.cells[index].tags.raises;
        let unexpected = match purpose {
            Purpose::Test => error.is_some() != raises,
            // As in Jupyter: the tag allows an error, it does not ask for one.
            Purpose::Run { .. } => error.is_some() && !raises,
        };
        cells[index] = CellRun::Ran(Ran {
            execution_count: number + 1,
            outputs,
            error,
            unexpected,
        });
    }
    cells
}

/// The evaluator's front: keeps the outputs and has nobody to ask for input.
struct Recorder<'a>(&'a mut Outputs);

impl Front for Recorder<'_> {
    fn event(&mut self, event: Event) {
        self.0.event(event);
    }

    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        None
    }
}

/// Puts the outputs of a run into the notebook's document, and takes away what is stale.
pub fn store(notebook: &mut Notebook, execution: &Execution) {
    for (cell, run) in notebook.cells.iter().zip(&execution.cells) {
        let (count, outputs) = match run {
            CellRun::Untouched => continue,
            CellRun::Empty => (Value::Null, json!([])),
            CellRun::Ran(ran) => (json!(ran.execution_count), json!(ran.outputs)),
        };
        let stored = &mut notebook.document["cells"][cell.position];
        stored["execution_count"] = count;
        stored["outputs"] = outputs;
        if let Some(metadata) = stored["metadata"].as_object_mut() {
            // When each cell ran, as JupyterLab and a classic extension note it.
            metadata.remove("execution");
            metadata.remove("ExecuteTime");
        }
    }
    super::save::name_kernel(&mut notebook.document);
}
