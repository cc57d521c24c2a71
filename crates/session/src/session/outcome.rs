//! How a cell ended: for the variables, and for the user.

use super::diagnostics;
use super::diagnostics::failure::Failure;
use super::interrupt::Stopped;
use super::names::Outcome;
use taper_evaluator::CellError;
use taper_evaluator::event::COMPILE_ERROR;
use taper_evaluator::run::Failed;

/// Returns the error of a cell that failed with this message. The line of a panic is left out, as the compiled source is not
/// known.
pub fn error_of(failed: Failed, message: &str, code: &str) -> CellError {
    Failure::new(failed, message.to_owned(), None, None).into_error(code)
}

/// Says how a cell ended that was asked to stop, or not.
pub(super) fn outcome(result: &Result<(), CellError>, is_asked_to_stop: bool) -> Outcome {
    match result.as_ref().map_err(|error| error.name.as_str()) {
        Ok(()) => Outcome::Ran,
        Err(COMPILE_ERROR) => Outcome::DidNotCompile,
        Err(diagnostics::PROCESS_ENDED) => Outcome::ProcessEnded,
        Err(diagnostics::LEFT) => Outcome::Left,
        Err(_) if is_asked_to_stop => Outcome::Stopped,
        Err(_) => Outcome::Failed,
    }
}

pub(super) fn interrupted(stopped: Stopped, cause: Option<CellError>) -> CellError {
    if let Some(left) = cause.as_ref().filter(|it| it.name == diagnostics::LEFT) {
        return diagnostics::error("Interrupted", &left.message, None);
    }
    let ended = cause
        .as_ref()
        .is_some_and(|c| c.name == diagnostics::PROCESS_ENDED);
    let message = if stopped == Stopped::Politely && !ended {
        "The cell was stopped. Variables of earlier cells are kept."
    } else {
        "The cell did not stop when asked to, so its process was ended. \
         All variables are lost: run the cells that define them again."
    };
    let location = cause.and_then(|c| c.location);
    diagnostics::error("Interrupted", message, location)
}
