//! Compiles the next cell of the notebook while nothing else is to be done, so that it only has to run.
//!
//! Which cell that is says the notebook's file, which Jupyter names, or else the order in which the cells ran before.
//! Nothing of it runs, and nothing of it is seen but that the cell begins sooner: the engine finds what was compiled in its
//! cache if source, items and types are the same. A request stops it at once.

use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use taper_evaluator::joined;

/// The environment variable that turns it off, with the value `0`.
const VARIABLE: &str = "TAPER_AHEAD";
/// The environment variable in which Jupyter's server names the notebook.
const NOTEBOOK: &str = "JPY_SESSION_NAME";
/// How long to wait for what another thread does.
const PAUSE: Duration = Duration::from_millis(30);
/// How long to wait while every core is busy, and how often.
const WHILE_BUSY: Duration = Duration::from_millis(100);
const PATIENCE: u32 = 100;
/// How many cells the order of the last run has, and the size of each in bytes, at most.
const CELLS: usize = 1000;
const BYTES: usize = 20_000;

/// What is compiled before the user runs it.
#[derive(Default)]
pub(super) struct Ahead {
    is_on: bool,
    notebook: Option<PathBuf>,
    /// The last cell that has run.
    last: String,
    /// Which cell ran after a cell, by its source.
    followed: HashMap<String, String>,
    state: State,
}

#[derive(Default)]
enum State {
    #[default]
    Done,
    /// A cell of the notebook, with this id, has run.
    Ran(Option<String>),
    /// The notebook is read.
    Reading(JoinHandle<Option<String>>),
    /// A cell is to be compiled once a core is free, which is looked up so often.
    Found(String, u32),
    Compiling(String, taper_engine::Ahead),
}

impl Ahead {
    /// Reads the settings from an environment.
    pub(super) fn new(variable: impl Fn(&str) -> Option<OsString>) -> Ahead {
        let notebook = variable(NOTEBOOK).map(PathBuf::from);
        Ahead {
            is_on: variable(VARIABLE).is_none_or(|value| value != "0"),
            notebook: notebook.filter(|path| path.extension().is_some_and(|it| it == "ipynb")),
            ..Ahead::default()
        }
    }

    /// Stops, because a cell runs.
    pub(super) fn stop(&mut self) {
        self.state = State::Done;
    }

    /// Stops until the session is idle again, because of a request that runs no cell.
    pub(super) fn pause(&mut self) {
        self.state = match std::mem::take(&mut self.state) {
            State::Compiling(code, ahead) if !ahead.is_done() => State::Found(code, PATIENCE),
            state => state,
        };
    }

    /// Notes a cell of the notebook that has run to its end.
    pub(super) fn ran(&mut self, id: Option<String>, code: &str) {
        if !self.is_on {
            return;
        }
        if self.followed.len() >= CELLS {
            self.followed.clear();
        }
        let last = std::mem::replace(&mut self.last, code.to_owned());
        if last.len().max(code.len()) <= BYTES {
            self.followed.insert(last, code.to_owned());
        }
        self.state = State::Ran(id);
    }

    /// Starts to look for the cell after the last one.
    fn look(&self, id: Option<String>) -> State {
        let before = self.followed.get(&self.last).cloned();
        let Some(path) = self.notebook.clone() else {
            return before.map_or(State::Done, |code| State::Found(code, PATIENCE));
        };
        let last = self.last.clone();
        let look = move || next(&path, id.as_deref(), &last).or(before);
        let thread = std::thread::Builder::new().spawn(look);
        thread.map_or(State::Done, State::Reading)
    }

    /// Does the next step. Returns when there is another one. `begin` begins to compile a cell: see
    /// [`taper_engine::Engine::compile_ahead`]; it returns `None` for a cell that cannot be compiled ahead.
    pub(super) fn step(
        &mut self,
        begin: impl FnOnce(&str) -> Option<Option<taper_engine::Ahead>>,
    ) -> Option<Duration> {
        let (state, pause) = match std::mem::take(&mut self.state) {
            State::Ran(id) => (self.look(id), Some(PAUSE)),
            State::Reading(thread) if !thread.is_finished() => {
                (State::Reading(thread), Some(PAUSE))
            }
            State::Reading(thread) => match thread.join() {
                Ok(Some(code)) => (State::Found(code, PATIENCE), Some(Duration::ZERO)),
                _ => (State::Done, None),
            },
            State::Found(_, 0) => (State::Done, None),
            State::Found(code, times) if is_busy() => {
                (State::Found(code, times - 1), Some(WHILE_BUSY))
            }
            State::Found(code, times) => match begin(&code)? {
                Some(ahead) => (State::Compiling(code, ahead), None),
                None => (State::Found(code, times - 1), Some(PAUSE)),
            },
            state => (state, None),
        };
        self.state = state;
        pause
    }
}

/// Returns the source of the code cell after the one with this id, or else this source.
fn next(notebook: &Path, id: Option<&str>, source: &str) -> Option<String> {
    let notebook = std::fs::read(notebook).ok()?;
    let notebook: Value = serde_json::from_slice(&notebook).ok()?;
    let cells = notebook.get("cells")?.as_array()?.iter();
    let cells: Vec<&Value> = cells.filter(|cell| cell["cell_type"] == "code").collect();
    let by_id = || cells.iter().position(|cell| cell["id"].as_str() == id);
    let by_source = || {
        cells
            .iter()
            .position(|cell| joined(&cell["source"]) == source)
    };
    let place = id.and_then(|_| by_id()).or_else(by_source)?;
    let mut after = cells[place + 1..]
        .iter()
        .map(|cell| joined(&cell["source"]));
    after.find(|code| !code.trim().is_empty())
}

/// Returns whether every core is busy. Where the system does not say it, none is.
fn is_busy() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = load
        .split(' ')
        .nth(3)
        .and_then(|it| it.split('/').next()?.parse().ok());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // This thread runs too.
    running.is_some_and(|running: usize| running > cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn notebook() -> tempfile::NamedTempFile {
        let cells = json!([
            { "cell_type": "code", "id": "a", "source": "let a = 1;" },
            { "cell_type": "markdown", "id": "b", "source": "text" },
            { "cell_type": "code", "id": "c", "source": [" \n"] },
            { "cell_type": "code", "id": "d", "source": ["a\n", "+ 1"] },
        ]);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, json!({ "cells": cells }).to_string()).expect("it is ours");
        file
    }

    #[test]
    fn the_next_code_cell_of_the_notebook_is_found() {
        let file = notebook();
        let after = |id, source| next(file.path(), id, source);
        let second = Some("a\n+ 1".to_owned());
        assert_eq!(after(Some("a"), "edited"), second);
        assert_eq!(after(None, "let a = 1;"), second);
        assert_eq!(after(Some("new"), "let a = 1;"), second);
        assert_eq!(after(Some("d"), ""), None);
        assert_eq!(after(None, "no such cell"), None);
        assert_eq!(next(Path::new("/no/such/file"), Some("a"), ""), None);
    }

    #[test]
    fn without_a_notebook_the_order_of_the_last_run_counts() {
        let mut ahead = Ahead::new(|_| None);
        for code in ["a", "b", "c", "a"] {
            ahead.ran(None, code);
        }
        assert!(matches!(ahead.look(None), State::Found(code, _) if code == "b"));
        ahead.ran(None, "new");
        assert!(matches!(ahead.look(None), State::Done));
    }

    #[test]
    fn it_can_be_turned_off() {
        let mut ahead = Ahead::new(|name| (name == VARIABLE).then(|| "0".into()));
        ahead.ran(None, "a");
        assert!(matches!(ahead.state, State::Done));
    }
}
