//! The border between the fronts (Jupyter, the headless runner) and the language.
//!
//! Fronts know this trait and [`Event`]; nothing in them knows how Rust is compiled. A fake
//! evaluator in the fronts' tests proves it.

use crate::event::{CellError, Event, MimeBundle};
use std::sync::Arc;

/// Evaluates cells, one after the other, with variables that live on.
pub trait Evaluator: Send {
    /// Runs one cell; `front` hears of everything that happens, in order. The error, if there is
    /// one, has already been given to `front` as the last event.
    fn execute(&mut self, code: &str, front: &mut dyn Front) -> Result<(), CellError>;

    /// What could stand at the cursor (a byte offset into `code`).
    fn complete(&mut self, code: &str, cursor: usize) -> Completions;

    /// Documentation of what stands at the cursor (a byte offset into `code`).
    fn inspect(&mut self, code: &str, cursor: usize) -> Option<MimeBundle>;

    /// Whether `code` can be run as it is or lacks its end.
    fn is_complete(&self, code: &str) -> Completeness;

    /// A handle by which another thread stops the cell that is running.
    fn interrupter(&self) -> Arc<dyn Interrupt>;
}

/// Who asked for a cell to be run.
pub trait Front {
    /// Takes one event; called in order, on the thread that called `execute`.
    fn event(&mut self, event: Event);

    /// Asks the person for a line of input; `None` where nobody can be asked.
    fn input(&mut self, prompt: &str, password: bool) -> Option<String>;
}

/// Stops the running cell, from any thread.
pub trait Interrupt: Send + Sync {
    /// First call: asks the cell to stop, every variable lives. A second call, or a few seconds
    /// without an answer: ends the process that runs it.
    fn interrupt(&self);
}

/// Proposals that replace the bytes from `start` to `end` of the code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    pub start: usize,
    pub end: usize,
    pub items: Vec<Completion>,
}

/// One proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The text to insert.
    pub text: String,
    /// What it is: `method`, `function`, `struct`, `keyword`, …
    pub kind: String,
    /// How to show it, often with its signature.
    pub label: String,
}

/// Whether a piece of code can be run as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    Complete,
    /// More lines must follow; the next one begins with `indent`.
    Incomplete {
        indent: String,
    },
    Invalid,
}
