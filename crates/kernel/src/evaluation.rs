//! The evaluator, or the error with which its start failed, and calls that survive a panic.

use super::late::LateOutputs;
use super::outgoing::OutboxSender;
use super::shared::Shared;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use taper_evaluator::evaluator::Evaluator;
use taper_evaluator::event::CellError;

/// The state of the evaluation thread.
pub(super) struct Evaluation {
    pub(super) evaluator: Result<Box<dyn Evaluator>, CellError>,
    pub(super) shared: Arc<Shared>,
    pub(super) late: Arc<LateOutputs>,
    /// The execution count of the next cell.
    pub(super) count: usize,
}

impl Evaluation {
    /// Starts the evaluator. Outputs of cells that have ended go through `outbox`.
    pub(super) fn start(
        start: impl FnOnce() -> anyhow::Result<Box<dyn Evaluator>>,
        shared: Arc<Shared>,
        outbox: OutboxSender,
    ) -> Self {
        let late = LateOutputs::new(outbox, shared.clone());
        let mut evaluator = caught(start).and_then(|started| {
            started.map_err(|error| cell_error("StartError", format!("{error:#}")))
        });
        match &mut evaluator {
            Ok(evaluator) => {
                evaluator.set_late(late.clone());
                shared.set_started(evaluator.interrupter());
            }
            Err(error) => eprintln!("taper: the evaluator did not start: {}", error.message),
        }
        Self {
            evaluator,
            shared,
            late,
            count: 1,
        }
    }

    /// Stops what the evaluator does ahead, and what its cells still do.
    pub(super) fn stop(&self) {
        self.late.close();
        if let Ok(evaluator) = &self.evaluator {
            evaluator.interrupter().interrupt();
        }
    }

    /// Lets the evaluator do what can be done ahead; returns when there is more to do.
    pub(super) fn idle(&mut self) -> Option<Duration> {
        let evaluator = self.evaluator.as_mut().ok()?;
        caught(|| evaluator.idle()).unwrap_or_default()
    }
}

/// Calls the evaluator: a panic in it becomes an error of the cell, and the kernel continues.
pub(super) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, CellError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        cell_error(
            "InternalError",
            format!("taper itself failed: {}", panic_message(panic)),
        )
    })
}

fn panic_message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap_or_default()).to_owned(),
    }
}

/// Creates an error without a position.
pub(super) fn cell_error(name: &str, message: String) -> CellError {
    CellError {
        name: name.to_owned(),
        traceback: message.lines().map(str::to_owned).collect(),
        message,
        location: None,
    }
}
