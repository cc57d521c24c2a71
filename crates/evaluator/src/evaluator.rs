//! The traits between the fronts (the Jupyter kernel, the runner of notebook files) and the evaluators.

use crate::event::{CellError, Event, MimeBundle};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Evaluates cells, one after the other. Variables are kept from cell to cell.
pub trait Evaluator: Send {
    /// Runs a cell, and sends the front everything that happens, in order. Without a name, the code belongs to no cell
    /// of the notebook.
    ///
    /// # Errors
    /// Returns an error if the cell fails. The front has already received this error as the last event.
    fn execute(
        &mut self,
        code: &str,
        cell: Option<&CellName>,
        front: &mut dyn Front,
    ) -> Result<(), CellError>;

    /// Sets where the events of cells go that have ended. Without it, they are events of the next cell, if the evaluator has
    /// any.
    fn set_late(&mut self, late: Arc<dyn Late>) {
        // The cells of most evaluators start no threads.
        let _ = late;
    }

    /// Returns the cells that no longer show what a run from the top would show, in their order; `None` if the
    /// evaluator does not know.
    fn stale(&mut self) -> Option<Vec<StaleCell>> {
        None
    }

    /// Sets the order of the cells in the notebook, by their ids.
    fn set_order(&mut self, cells: &[String]) {
        let _ = cells;
    }

    /// Returns which cells must run before the cell `id` shows what a run from the top would show, in their order, and last
    /// that cell. `cells` are the ids and the sources of the notebook's cells, from the top.
    fn needed(&mut self, cells: &[(String, String)], id: &str) -> Vec<String> {
        let _ = cells;
        vec![id.to_owned()]
    }

    /// Does a little of what can be done before the next request, such as compiling the next cell. Called while there is
    /// no request; returns after which time it should be called again, if there is more to do.
    fn idle(&mut self) -> Option<Duration> {
        None
    }

    /// Runs the callback of a control that the user has set to `value`, a number or a text, as
    /// [`Evaluator::execute`] runs a cell.
    ///
    /// # Errors
    /// As for [`Evaluator::execute`].
    fn update_widget(
        &mut self,
        id: &str,
        value: &str,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        // Most evaluators have no controls.
        let _ = (id, value, front);
        Ok(())
    }

    /// Returns the variables. Includes their values only if `with_values` is true, because reading them takes
    /// as long as running a cell.
    fn inspect_variables(&mut self, with_values: bool) -> Vec<Variable> {
        let _ = with_values;
        Vec::new()
    }

    /// Returns what completes and documents code, on another thread.
    fn editor(&self) -> Arc<dyn Editor> {
        Arc::new(())
    }

    /// Returns a handle with which another thread stops the running cell.
    fn interrupter(&self) -> Arc<dyn Interrupt>;
}

/// The side that has the cells (the Jupyter kernel, or the runner of notebook files), which receives their
/// events.
pub trait Front {
    /// Receives an event. Called for the events in their order, on the thread that called `execute`.
    fn event(&mut self, event: Event);

    /// Is called when a cell that was compiled begins to run.
    fn begun(&mut self) {
        // Most fronts do not show it.
    }

    /// Asks the user for a line of input; `None` where no user can be asked.
    fn input(&mut self, prompt: &str, password: bool) -> Option<String>;
}

/// The side of a [`Front`] that receives the events of cells that have ended: a thread that a cell has started goes on, and
/// prints, shows or updates something.
pub trait Late: Send + Sync {
    /// Receives an event of a cell. Called from a thread of the evaluator's, at any time, also while another cell runs.
    fn event(&self, cell: &CellName, event: Event);
}

/// Completes and documents code, also while a cell runs: it knows what the cells before have defined.
pub trait Editor: Send + Sync {
    /// Returns the completions at the cursor (a byte offset into `code`).
    fn complete(&self, code: &str, cursor: usize) -> Completions;

    /// Returns the documentation of the item at the cursor (a byte offset into `code`).
    fn inspect(&self, code: &str, cursor: usize) -> Option<MimeBundle>;

    /// Returns whether all documentation is known by now, so that nothing was found because there is nothing.
    fn is_ready(&self) -> bool {
        true
    }
}

/// An editor that knows nothing.
impl Editor for () {
    fn complete(&self, _code: &str, cursor: usize) -> Completions {
        Completions::none(cursor)
    }

    fn inspect(&self, _code: &str, _cursor: usize) -> Option<MimeBundle> {
        None
    }
}

/// Stops the running cell, from any thread.
pub trait Interrupt: Send + Sync {
    /// Asks the cell to stop, which keeps all variables. A second call, or a few seconds in which the cell
    /// does not stop, ends the process that runs it.
    fn interrupt(&self);
}

/// How a front names a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellName {
    /// The id of the cell in the notebook, which stays when the cell is edited.
    pub id: Option<String>,
    /// The execution count.
    pub number: usize,
}

/// A cell that no longer shows what a run from the top would show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleCell {
    /// The id of the cell in the notebook.
    pub id: Option<String>,
    /// The execution count of its last run.
    pub number: usize,
    /// Its first line.
    pub line: String,
    /// Whether this is certain. Some types do not show whether a value has changed.
    pub certain: bool,
    /// Why, as sentences without a full stop.
    pub reasons: Vec<String>,
}

/// A variable of the cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// The name of the variable.
    pub name: String,
    /// The type of the variable.
    pub kind: String,
    /// The value in a line of text; empty if it is unknown.
    pub value: String,
    /// The value as Rust's `{:?}` writes it, perhaps cut and then with `…` at its end; empty if it is unknown.
    pub content: String,
}

/// Completions, which replace a part of the code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// The byte offset at which the replaced part begins.
    pub start: usize,
    /// The byte offset at which the replaced part ends.
    pub end: usize,
    /// The completions, the best first.
    pub items: Vec<Completion>,
}

impl Completions {
    /// Returns no completions for a cursor (a byte offset into the code).
    pub fn none(cursor: usize) -> Self {
        Self {
            start: cursor,
            end: cursor,
            items: Vec::new(),
        }
    }
}

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The text to insert.
    pub text: String,
    /// The kind of item: `method`, `function`, `struct`, `keyword`, …
    pub kind: String,
    /// The text to show, often with a signature.
    pub label: String,
    /// The first sentence of the documentation; empty where it is not known.
    pub documentation: String,
}

/// Returns whether code can be run, or whether its end is missing. A front end asks also before an evaluator has started
/// and while a cell runs.
pub type IsComplete = fn(&str) -> Completeness;

/// Whether code can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The code can be run.
    Complete,
    /// More lines must follow.
    Incomplete {
        /// The indentation of the next line.
        indent: String,
    },
    /// No further line makes the code valid.
    Invalid,
}
