//! Running a cell: its number, its events, its reply.

use super::evaluation_thread::{Evaluation, caught};
use super::request::Request;
use super::shared::{Shared, lock};
use jupyter_protocol::{
    ClearOutput, DisplayData, ErrorOutput, ExecuteInput, ExecuteReply, ExecuteRequest,
    ExecuteResult, ExecutionCount, ExpressionResult, Media, Payload, ReplyError, ReplyStatus,
    Transient, UpdateDisplayData,
};
use serde_json::Value;
use std::collections::HashMap;
use taper_evaluator::evaluator::Front;
use taper_evaluator::event::{CellError, Event, MimeBundle};

impl Evaluation {
    /// Runs a cell, unless one before it has failed; its outputs go out through `request`.
    pub(super) fn execute(
        &mut self,
        request: &Request,
        cell: &ExecuteRequest,
        ticket: u64,
    ) -> ExecuteReply {
        let count = ExecutionCount::new(self.count);
        if !self.shared.begin_cell(ticket) {
            // Without a number: front ends show it as a cell that was not run.
            return ExecuteReply {
                status: ReplyStatus::Aborted,
                ..Default::default()
            };
        }
        if !cell.silent {
            request.publish(ExecuteInput {
                code: cell.code.clone(),
                execution_count: count,
            });
        }
        let mut front = CellFront::new(request, cell, count, &self.shared);
        let needs_no_evaluator = is_blank(&cell.code) || is_farewell(&cell.code);
        let outcome = match (&mut self.evaluator, needs_no_evaluator) {
            (_, true) => Ok(()),
            (Err(error), _) => Err(error.clone()),
            (Ok(evaluator), _) => {
                caught(|| evaluator.execute(&cell.code, &mut front)).and_then(|outcome| outcome)
            }
        };
        let (outcome, result) = front.finish(outcome);
        let values = match &outcome {
            Ok(()) => self.evaluate(cell.user_expressions.iter().flatten()),
            Err(_) => HashMap::new(),
        };
        self.shared.end_cell(outcome.is_err() && cell.stop_on_error);
        if cell.store_history && !cell.silent && !is_blank(&cell.code) {
            lock(&self.shared.history).push(self.count, &cell.code, result);
            self.count += 1;
        }
        ExecuteReply {
            payload: is_farewell(&cell.code).then(leave).into_iter().collect(),
            ..reply(outcome, count, values)
        }
    }
}

/// Such a cell runs without the evaluator and without a number.
fn is_blank(code: &str) -> bool {
    code.trim().is_empty()
}

/// What a person types into a console to leave it, as in Python's.
fn is_farewell(code: &str) -> bool {
    matches!(code.trim(), "exit" | "quit")
}

/// Asks the front end to end, and the kernel with it.
fn leave() -> Payload {
    Payload::AskExit { keepkernel: false }
}

fn reply(
    outcome: Result<(), CellError>,
    count: ExecutionCount,
    values: HashMap<String, ExpressionResult>,
) -> ExecuteReply {
    let (status, error) = match outcome {
        Ok(()) => (ReplyStatus::Ok, None),
        Err(error) => (ReplyStatus::Error, Some(error)),
    };
    ExecuteReply {
        status,
        execution_count: count,
        user_expressions: Some(values),
        error: error.map(|error| {
            Box::new(ReplyError {
                ename: error.name,
                evalue: error.message,
                traceback: error.traceback,
            })
        }),
        ..Default::default()
    }
}

/// Turns the events of one cell into messages.
struct CellFront<'a> {
    request: &'a Request,
    cell: &'a ExecuteRequest,
    count: ExecutionCount,
    shared: &'a Shared,
    error: Option<CellError>,
    /// The text of the cell's value, for the history.
    result: Option<String>,
}

impl<'a> CellFront<'a> {
    fn new(
        request: &'a Request,
        cell: &'a ExecuteRequest,
        count: ExecutionCount,
        shared: &'a Shared,
    ) -> Self {
        Self {
            request,
            cell,
            count,
            shared,
            error: None,
            result: None,
        }
    }

    /// The cell's outcome and the text of its value. An error is shown once: as an event, or here
    /// when the evaluator could not tell.
    fn finish(mut self, outcome: Result<(), CellError>) -> (Result<(), CellError>, Option<String>) {
        if let (Err(error), None) = (outcome, &self.error) {
            self.event(Event::Error(error));
        }
        (self.error.map_or(Ok(()), Err), self.result)
    }
}

impl Front for CellFront<'_> {
    fn event(&mut self, event: Event) {
        match &event {
            Event::Error(error) => self.error = Some(error.clone()),
            Event::Result { data, .. } => self.result = plain_text(data),
            _ => {}
        }
        if !self.cell.silent {
            publish(self.request, event, self.count);
        }
    }

    fn input(&mut self, prompt: &str, password: bool) -> Option<String> {
        if !self.cell.allow_stdin {
            return None;
        }
        self.shared.prompts.ask(self.request, prompt, password)
    }
}

fn publish(request: &Request, event: Event, execution_count: ExecutionCount) {
    match event {
        Event::Text { stream, text } => request.text(stream, text),
        Event::Display {
            data,
            metadata,
            display_id,
        } => request.publish(DisplayData {
            data: media(data),
            metadata,
            transient: display_id.map(transient),
        }),
        Event::UpdateDisplay {
            data,
            metadata,
            display_id,
        } => request.publish(UpdateDisplayData {
            data: media(data),
            metadata,
            transient: transient(display_id),
        }),
        Event::Clear { wait } => request.publish(ClearOutput { wait }),
        Event::Result { data, metadata } => request.publish(ExecuteResult {
            execution_count,
            data: media(data),
            metadata,
            transient: Some(Transient::default()),
        }),
        Event::Error(error) => request.publish(ErrorOutput {
            ename: error.name,
            evalue: error.message,
            traceback: error.traceback,
        }),
    }
}

fn transient(display_id: String) -> Transient {
    Transient {
        display_id: Some(display_id),
    }
}

/// A bundle that the library cannot read, an image that is a number for instance, is shown as it is.
pub(super) fn media(data: MimeBundle) -> Media {
    let json = Value::Object(data);
    serde_json::from_value(json.clone()).unwrap_or_else(|error| {
        eprintln!("taper: an output is not a MIME bundle: {error}");
        jupyter_protocol::MediaType::Plain(json.to_string()).into()
    })
}

fn plain_text(data: &MimeBundle) -> Option<String> {
    data.get("text/plain")?.as_str().map(str::to_owned)
}
