//! Runs plain Rust while the library `taper` is compiled, for example after `rustup update`.
//!
//! A thread builds the image, or waits for another process that does ([`super::awaited`]). A cell that needs the library
//! waits for it and shows the progress; an interrupt ends the wait, and not the build. When the image is there, the library is
//! loaded into the process that runs the cells, which keeps their variables.

use super::dependencies::LiveLine;
use super::{Session, Silent, Start, diagnostics, own_cell};
use crate::current::Current;
use crate::workspace::Workspace;
use anyhow::{Context as _, Result};
use std::time::Duration;
use taper_evaluator::{CellError, Front};
use taper_host::progress::Progress;
use taper_rust_cell::commands::Cell;

/// How often to look whether the library is there.
const POLL: Duration = Duration::from_millis(200);

impl Session {
    /// Loads the library if it is there by now. Returns when to look again.
    pub(super) fn look_for_library(&mut self) -> Option<Duration> {
        let awaited = self.awaited.as_ref().filter(|it| it.is_building())?;
        if awaited.is_done() {
            // A cell that needs the library says why it is missing.
            let _ = self.load_library();
            return None;
        }
        Some(POLL)
    }

    /// Runs the commands of a cell, then its Rust, with the library if the cell needs it.
    pub(super) fn run_with_library(
        &mut self,
        cell: &Cell,
        names_library: bool,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        self.look_for_library();
        let Some(awaited) = &self.awaited else {
            return self.run_all(cell, front);
        };
        if names_library || awaited.is_named_in(cell) {
            self.wait_for_library(front)?;
            return self.run_all(cell, front);
        }
        let result = self.run_all(cell, front);
        let is_missing = |error: &CellError| {
            let awaited = self.awaited.as_ref();
            // A shell line has run already.
            cell.shell.is_empty() && awaited.is_some_and(|it| it.is_missing(error))
        };
        match result {
            Err(error) if is_missing(&error) => {
                self.wait_for_library(front)?;
                self.run_all(cell, front)
            }
            result => result,
        }
    }

    /// Waits until the library is compiled, and shows the progress; then loads it.
    fn wait_for_library(&mut self, front: &mut dyn Front) -> Result<(), CellError> {
        let interrupter = self.interrupter.clone();
        let Some(awaited) = &mut self.awaited else {
            return Ok(());
        };
        awaited.begin();
        let emit = &mut |event| front.event(event);
        let mut line = LiveLine::with(emit, &interrupter);
        let mut shown = String::new();
        while !awaited.is_done() {
            if line.is_stopped() {
                line.end("Waited", " The library is still being compiled.");
                return Err(diagnostics::error("Interrupted", "", None));
            }
            let now = awaited.shown();
            if now != shown {
                line.line(&now);
                shown = now;
            }
            std::thread::sleep(POLL);
        }
        let loaded = self.load_library();
        match &loaded {
            Ok(()) => line.end("The library `taper` is ready. Waited", ""),
            Err(_) => line.end("Failed after", ""),
        }
        loaded.map_err(|error| diagnostics::error("StartError", &format!("{error:#}"), None))
    }

    /// Loads the library, for which the image has been built.
    fn load_library(&mut self) -> Result<()> {
        let Some(mut awaited) = self.awaited.take() else {
            return Ok(());
        };
        let loaded = awaited.take();
        let loaded = loaded.and_then(|current| self.load(&awaited.work, current));
        match loaded {
            Ok(()) => self.work = Some(awaited.work),
            Err(_) => self.awaited = Some(awaited),
        }
        loaded
    }

    fn load(&mut self, work: &Workspace, current: Current) -> Result<()> {
        let library = current.copy_into(work)?;
        let start = Start {
            work: &work.path(),
            taper: current.key.taper,
            features: current.key.features,
            library: Some(library),
        };
        let loaded = self.own().map_or(Ok(()), |own| own.load_image(&start));
        let first_cell = self.first_cell();
        let loaded = loaded.map_err(|error| {
            let context = diagnostics::Context::new(&first_cell, &self.names, &[]);
            diagnostics::explain(error, &context)
        });
        loaded.with_context(|| own_cell(&first_cell))?;
        self.image = Some(current.used);
        let result = self.run(&first_cell, &mut Silent);
        result.with_context(|| own_cell(&first_cell))
    }
}
