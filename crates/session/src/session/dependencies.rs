//! Compiles the packages of `:dep` lines with progress.

use super::interrupt::Interrupter;
use super::{Session, diagnostics};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::time::{Duration, Instant};
use taper_evaluator::event::{Event, MimeBundle};
use taper_evaluator::{CellError, Front};
use taper_host::progress::{Progress, Step, duration};

/// The variable that with the value `0` forbids cells to load packages: where submitted work is graded,
/// a package is unknown code.
const VARIABLE: &str = "TAPER_DEP";

/// Returns why packages cannot be loaded, if this value of the variable forbids it.
fn refusal(value: Option<OsString>) -> Option<CellError> {
    let message = "`:dep` is switched off here (TAPER_DEP=0). Use what `taper` has, or ask for the package to be allowed.";
    let refused = || super::cell_error("DependencyRefused", message, None);
    (value? == "0").then(refused)
}

impl Session {
    /// Compiles the packages of `:dep` lines.
    pub(super) fn add_packages(
        &mut self,
        dependencies: &[(&str, &str)],
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        if let Some(refused) = refusal(std::env::var_os(VARIABLE)) {
            return Err(refused);
        }
        let other = dependencies
            .iter()
            .find_map(|(name, value)| self.preloaded.other(name, value));
        let interrupter = self.interrupter.clone();
        let emit = &mut |event| front.event(event);
        let mut progress = LiveLine::with(emit, &interrupter);
        let own = self.own();
        let added = own.map(|own| own.add_packages(dependencies, &mut progress));
        let is_stopped = interrupter.is_asked_to_stop();
        match &added {
            Some(Err(_)) if is_stopped => progress.end(
                "Stopped after",
                " What is compiled is kept: the same line goes on from there.",
            ),
            Some(Err(_)) => progress.end("Failed after", ""),
            _ => progress.finish(),
        }
        let added = match added {
            Some(Err(_)) if is_stopped => {
                return Err(diagnostics::error("Interrupted", "", None));
            }
            Some(added) => added.map_err(|error| {
                let names = dependencies.iter().map(|(name, _)| *name);
                let code = names.collect::<Vec<&str>>().join("\n");
                let context = diagnostics::Context::new(&code, &self.names, &[]);
                diagnostics::explain(error, &context)
            })?,
            // The engine compiles them when it reads the cell.
            None => return Ok(()),
        };
        if added.is_rebuilt {
            let why = match (other, added.shared) {
                (Some(folder), _) => format!(
                    "The crate `taper` of {} was loaded in place of the installed one. ",
                    folder.display()
                ),
                (None, None) => {
                    "Taper was rebuilt, because a new package needs other features of its dependencies. "
                        .to_owned()
                }
                (None, Some(package)) => format!(
                    "Taper was rebuilt, because a new package needs other features of `{package}`, whose types it \
                     shares with Taper. "
                ),
            };
            self.replace_cells_process(&why, front);
        }
        self.report_replaced(&added.replaced, front);
        Ok(())
    }
}

/// A line of output below the cell, which is updated in place.
pub(crate) struct LiveLine<'a> {
    emit: &'a mut dyn FnMut(Event),
    id: String,
    started_at: Instant,
    /// Says whether the user has asked to stop.
    interrupter: Option<&'a Interrupter>,
}

/// How long a compilation takes before its progress is shown.
const DELAY: Duration = Duration::from_secs(1);

impl<'a> LiveLine<'a> {
    pub(crate) fn new(emit: &'a mut dyn FnMut(Event)) -> Self {
        LiveLine {
            emit,
            id: String::new(),
            started_at: Instant::now(),
            interrupter: None,
        }
    }

    /// Creates a line for steps that an interrupt stops.
    pub(super) fn with(emit: &'a mut dyn FnMut(Event), interrupter: &'a Interrupter) -> Self {
        let interrupter = Some(interrupter);
        LiveLine {
            interrupter,
            ..Self::new(emit)
        }
    }

    fn show(&mut self, text: &str) {
        let data: MimeBundle = [("text/plain".to_owned(), Value::from(text))]
            .into_iter()
            .collect();
        let metadata = Map::new();
        let is_first = self.id.is_empty();
        if is_first {
            self.id = uuid::Uuid::new_v4().simple().to_string();
        }
        let display_id = self.id.clone();
        (self.emit)(if is_first {
            Event::Display {
                data,
                metadata,
                display_id: Some(display_id),
            }
        } else {
            Event::UpdateDisplay {
                data,
                metadata,
                display_id,
            }
        });
    }

    pub(crate) fn finish(&mut self) {
        self.end("Compiled in", "");
    }

    /// Shows at last what has happened, and after how long.
    pub(super) fn end(&mut self, what: &str, rest: &str) {
        if !self.id.is_empty() {
            let took = duration(self.started_at.elapsed());
            self.show(&format!("{what} {took}.{rest}"));
        }
    }
}

impl Progress for LiveLine<'_> {
    fn line(&mut self, text: &str) {
        self.show(text);
    }

    fn step(&mut self, step: &Step) {
        if step.elapsed > DELAY {
            self.show(&step.describe());
        }
    }

    fn is_stopped(&self) -> bool {
        let interrupter = self.interrupter.iter();
        interrupter.copied().any(Interrupter::is_asked_to_stop)
    }
}
