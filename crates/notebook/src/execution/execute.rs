//! Runs the cells of a notebook in order and stores their outputs in its document.

use super::outputs::Outputs;
use crate::document::layout::name_kernel;
use crate::document::notebook::{CodeCell, Notebook};
use nbformat::v4::Output;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use taper_evaluator::evaluator::{CellName, Evaluator, Front, Interrupt};
use taper_evaluator::event::{CellError, Event};

/// The command for which the cells run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `taper run`: the outputs are kept.
    Run { allow_errors: bool },
    /// `taper test`: the outputs are compared with the stored ones.
    Test,
    /// `taper test --grade`: all cells run, each for at most this time.
    Grade { limit: Duration },
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Execution {
    /// One entry for each code cell.
    pub(crate) cells: Vec<CellRun>,
    pub(crate) end: End,
    pub(crate) took: Duration,
}

/// How the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// After the last cell.
    Finished,
    /// After a cell that failed: its index among the code cells.
    Failed(usize),
    /// Because of a signal.
    Interrupted,
}

/// The result of one cell.
#[derive(Debug)]
pub(crate) enum CellRun {
    /// Not run, because of its tags or because the run ended before it.
    Untouched,
    /// Not run, because it contains only white space.
    Empty,
    Ran(Ran),
}

/// A cell that was run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) execution_count: usize,
    pub(crate) outputs: Vec<Output>,
    pub(crate) error: Option<CellError>,
    /// Whether the error, or its absence, contradicts the cell's tags.
    pub(crate) unexpected: bool,
}

impl Execution {
    /// Returns the result for a notebook in which no cell is to be run.
    pub(crate) fn empty(notebook: &Notebook) -> Execution {
        let purpose = Purpose::Run { allow_errors: true };
        let cells = gather(notebook, purpose, Vec::new(), Vec::new(), End::Finished);
        Execution {
            cells,
            end: End::Finished,
            took: Duration::ZERO,
        }
    }

    /// Iterates over the cells that were run, with their indices among the code cells.
    pub(crate) fn ran(&self) -> impl Iterator<Item = (usize, &Ran)> {
        self.cells
            .iter()
            .enumerate()
            .filter_map(|(index, cell)| match cell {
                CellRun::Ran(ran) => Some((index, ran)),
                CellRun::Untouched | CellRun::Empty => None,
            })
    }
}

/// Returns whether a run for this purpose executes the cell.
pub(crate) fn is_wanted(cell: &CodeCell, purpose: Purpose) -> bool {
    let skipped = cell.tags.skip || (purpose == Purpose::Test && cell.tags.skip_in_test);
    !skipped && !is_empty(cell)
}

fn is_empty(cell: &CodeCell) -> bool {
    cell.source.trim().is_empty()
}

/// Runs the cells until one fails or `stop` returns true; calls `progress` before each cell with its
/// index.
pub(crate) fn execute(
    notebook: &Notebook,
    evaluator: &mut dyn Evaluator,
    purpose: Purpose,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(usize),
) -> Execution {
    let started = Instant::now();
    let mut outputs = Outputs::default();
    evaluator.set_late(outputs.late());
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
        let number = errors.len() + 1;
        outputs.begin_cell(number);
        let error = execute_cell(cell, number, evaluator, purpose, &mut outputs);
        let failed = error.is_some() && !cell.tags.raises;
        errors.push((index, error));
        if stop() {
            end = End::Interrupted;
            break;
        }
        let goes_on = matches!(
            purpose,
            Purpose::Run { allow_errors: true } | Purpose::Grade { .. }
        );
        if failed && !goes_on {
            end = End::Failed(index);
            break;
        }
    }
    let cells = gather(notebook, purpose, errors, outputs.finish(), end);
    Execution {
        cells,
        end,
        took: started.elapsed(),
    }
}

/// Runs one cell, unless it must not run. An error that the evaluator does not report becomes an output here.
fn execute_cell(
    cell: &CodeCell,
    number: usize,
    evaluator: &mut dyn Evaluator,
    purpose: Purpose,
    outputs: &mut Outputs,
) -> Option<CellError> {
    let own = |error: CellError, outputs: &mut Outputs| {
        outputs.event(Event::Error(error.clone()));
        Some(error)
    };
    if let Some(reason) = &cell.refusal {
        return own(refused(reason), outputs);
    }
    let deadline = match purpose {
        Purpose::Grade { limit } => Some(Deadline::new(limit, evaluator.interrupter())),
        Purpose::Run { .. } | Purpose::Test => None,
    };
    let name = CellName { id: None, number };
    let ran = evaluator.execute(&cell.source, Some(&name), &mut Recorder(outputs));
    let error = ran.err()?;
    match deadline.and_then(|deadline| deadline.passed()) {
        Some(limit) => own(over_limit(limit), outputs),
        None => Some(error),
    }
}

/// Returns the error of a cell of a submission that must not run.
pub(crate) fn refused(reason: &str) -> CellError {
    let message = format!("grading does not run this cell: {reason}");
    CellError {
        name: "Refused".to_owned(),
        traceback: vec![message.clone()],
        message,
        location: None,
    }
}

/// The name of the error of a cell that was stopped at its time limit.
pub(crate) const TIME_LIMIT: &str = "TimeLimit";

fn over_limit(limit: Duration) -> CellError {
    let message = format!(
        "the cell was stopped after {} s, the time limit of a cell",
        limit.as_secs()
    );
    CellError {
        name: TIME_LIMIT.to_owned(),
        traceback: vec![message.clone()],
        message,
        location: None,
    }
}

/// Interrupts the cell when its time limit has passed, unless the deadline is dropped before.
struct Deadline {
    limit: Duration,
    has_passed: Arc<AtomicBool>,
    #[expect(dead_code, reason = "dropping it ends the thread")]
    alive: mpsc::Sender<()>,
}

impl Deadline {
    fn new(limit: Duration, interrupter: Arc<dyn Interrupt>) -> Self {
        let (alive, ended) = mpsc::channel();
        let has_passed = Arc::new(AtomicBool::new(false));
        let passed = has_passed.clone();
        thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                passed.store(true, Ordering::SeqCst);
                interrupter.interrupt();
            }
        });
        Self {
            limit,
            has_passed,
            alive,
        }
    }

    /// Returns the limit if it has passed.
    fn passed(&self) -> Option<Duration> {
        let has_passed = self.has_passed.load(Ordering::SeqCst);
        has_passed.then_some(self.limit)
    }
}

/// Joins the errors and the outputs of the cells. Called after the last cell, since outputs are not final
/// before.
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
            // As in Jupyter: the tag allows an error but does not require one.
            Purpose::Run { .. } | Purpose::Grade { .. } => error.is_some() && !raises,
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

/// A front that keeps the outputs. A request for input fails, because the run is not interactive.
struct Recorder<'a>(&'a mut Outputs);

impl Front for Recorder<'_> {
    fn event(&mut self, event: Event) {
        self.0.event(event);
    }

    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        None
    }
}

/// Stores the outputs of a run in the notebook's document and removes stale ones.
pub(crate) fn store(notebook: &mut Notebook, execution: &Execution) {
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
            // The times at which JupyterLab and a classic extension ran the cell.
            metadata.remove("execution");
            metadata.remove("ExecuteTime");
        }
    }
    name_kernel(&mut notebook.document);
}
