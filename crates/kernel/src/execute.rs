//! Execution of a cell: its number, its events, its reply.

use super::evaluation::{Evaluation, caught, cell_error};
use super::expressions::evaluate;
use super::marks;
use super::outputs::publish;
use super::request::Request;
use super::shared::Shared;
use jupyter_protocol::{
    ExecuteInput, ExecuteReply, ExecuteRequest, ExecutionCount, ExpressionResult, InputRequest,
    Payload, ReplyError, ReplyStatus,
};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use taper_evaluator::evaluator::Front;
use taper_evaluator::event::{CellError, Event, MimeBundle, Stream};
use taper_host::mutex::lock;

/// The bytes that a cell may have: the compiler needs a multiple of that in memory, and the history keeps the cell.
const MAX_CELL: usize = 8 << 20;

/// The tag of a cell that is not run together with others, such as a loop that runs until it is interrupted. JupyterLab runs
/// it with *Run All*, and sends the tags of a cell with its code.
const SKIP: &str = "skip-execution";
const SKIPPED: &str = "Skipped: the cell has the tag `skip-execution`. To run it, run it alone.\n";

/// Runs a cell, unless an earlier cell has failed or an interrupt has come since the cell was queued. The outputs
/// are published through `request`.
pub(super) fn execute(
    evaluation: &mut Evaluation,
    request: &Request,
    cell: &ExecuteRequest,
    ticket: u64,
) -> ExecuteReply {
    let count = ExecutionCount::new(evaluation.count);
    let shared = evaluation.shared.clone();
    if !shared.begin_cell(ticket) {
        // Without an execution count: front ends show the cell as not run.
        return ExecuteReply {
            status: ReplyStatus::Aborted,
            ..Default::default()
        };
    }
    let is_too_long = cell.code.len() > MAX_CELL;
    if !cell.silent && !is_too_long {
        request.publish(ExecuteInput {
            code: cell.code.clone(),
            execution_count: count,
        });
    }
    let mut front = CellFront {
        request,
        cell,
        count,
        shared: &shared,
        error: None,
        result: None,
        next_input: None,
    };
    let is_skipped = is_tagged(request, SKIP) && shared.has_waiting(ticket);
    if is_skipped {
        request.text(Stream::Stdout, SKIPPED.to_owned());
    }
    let needs_no_evaluator = is_skipped || is_blank(&cell.code) || is_exit_command(&cell.code);
    let outcome = match (&mut evaluation.evaluator, needs_no_evaluator) {
        _ if is_too_long => Err(too_long(cell.code.len())),
        (_, true) => Ok(()),
        (Err(error), _) => Err(error.clone()),
        (Ok(evaluator), _) => {
            let is_of_notebook = cell.store_history && !cell.silent;
            let name = is_of_notebook.then(|| marks::cell(request, evaluation.count));
            if is_of_notebook {
                evaluation.late.begin_cell(request, cell, evaluation.count);
                marks::keep(&shared, request, evaluation.count);
                marks::progress(&shared, request, "compiling");
            }
            caught(|| evaluator.execute(&cell.code, name.as_ref(), &mut front)).flatten()
        }
    };
    evaluation.late.end_cell();
    let (outcome, result, next_input) = front.finish(outcome);
    let values = match &outcome {
        Ok(()) => evaluate(evaluation, cell.user_expressions.iter().flatten()),
        Err(_) => HashMap::new(),
    };
    let is_shown = shared.inspected.load(Ordering::Relaxed);
    keep_variables(evaluation, is_shown);
    marks::publish(evaluation, request);
    shared.end_cell(outcome.is_err() && cell.stop_on_error);
    if cell.store_history && !cell.silent && !is_blank(&cell.code) && !is_too_long {
        lock(&shared.history).push(evaluation.count, &cell.code, result);
        evaluation.count += 1;
    }
    reply(cell, count, outcome, values, next_input)
}

fn too_long(bytes: usize) -> CellError {
    cell_error(
        "CellError",
        format!(
            "a cell can have at most {MAX_CELL} bytes, this one has {bytes}: read large data from a file",
        ),
    )
}

/// Keeps the variables for front ends that show them.
pub(super) fn keep_variables(evaluation: &mut Evaluation, with_values: bool) {
    if let Ok(evaluator) = &mut evaluation.evaluator {
        let variables = caught(|| evaluator.inspect_variables(with_values)).unwrap_or_default();
        *lock(&evaluation.shared.variables) = variables;
    }
}

/// Runs the callbacks of the controls that the user has moved, unless an earlier cell has failed or an interrupt has
/// come since: then they run after the next move of a control.
pub(super) fn update_widgets(evaluation: &mut Evaluation, request: &Request, ticket: u64) {
    let shared = evaluation.shared.clone();
    let Ok(evaluator) = &mut evaluation.evaluator else {
        return;
    };
    if !shared.begin_cell(ticket) {
        return;
    }
    for (id, value) in shared.widgets.take_changed() {
        let mut front = CellFront {
            request,
            cell: &ExecuteRequest::new(String::new()),
            count: ExecutionCount::new(evaluation.count),
            shared: &shared,
            error: None,
            result: None,
            next_input: None,
        };
        let outcome = caught(|| evaluator.update_widget(&id, &value, &mut front)).flatten();
        let _ = front.finish(outcome);
    }
    shared.end_cell(false);
}

fn reply(
    cell: &ExecuteRequest,
    execution_count: ExecutionCount,
    outcome: Result<(), CellError>,
    values: HashMap<String, ExpressionResult>,
    next_input: Option<String>,
) -> ExecuteReply {
    let exit = is_exit_command(&cell.code).then_some(Payload::AskExit { keepkernel: false });
    let replace = true;
    let next_input = next_input.map(|text| Payload::SetNextInput { text, replace });
    let status = match outcome {
        Ok(()) => ReplyStatus::Ok,
        Err(_) => ReplyStatus::Error,
    };
    ExecuteReply {
        status,
        execution_count,
        payload: exit.into_iter().chain(next_input).collect(),
        user_expressions: Some(values),
        error: outcome.err().map(|error| {
            Box::new(ReplyError {
                ename: error.name,
                evalue: error.message,
                traceback: error.traceback,
            })
        }),
    }
}

fn is_tagged(request: &Request, tag: &str) -> bool {
    let mut tags = request.metadata()["tags"].as_array().into_iter().flatten();
    tags.any(|one| one == tag)
}

/// Returns whether a cell has no code: the evaluator does not run it, and it does not increase the execution count.
fn is_blank(code: &str) -> bool {
    code.trim().is_empty()
}

/// Returns whether a cell ends a console, as in IPython.
fn is_exit_command(code: &str) -> bool {
    matches!(code.trim(), "exit" | "quit")
}

/// Publishes the events of one cell.
struct CellFront<'a> {
    request: &'a Request,
    cell: &'a ExecuteRequest,
    count: ExecutionCount,
    shared: &'a Shared,
    error: Option<CellError>,
    /// The cell's value as text, for the history.
    result: Option<String>,
    /// The text that replaces the cell's source in the front end.
    next_input: Option<String>,
}

/// The outcome of a cell, its value as text, and the text that replaces its source.
type Finished = (Result<(), CellError>, Option<String>, Option<String>);

impl CellFront<'_> {
    /// Ends the cell. An error is published once: as an event, or here when the evaluator sent none.
    fn finish(mut self, outcome: Result<(), CellError>) -> Finished {
        if let (Err(error), None) = (outcome, &self.error) {
            self.event(Event::Error(error));
        }
        (self.error.map_or(Ok(()), Err), self.result, self.next_input)
    }
}

impl Front for CellFront<'_> {
    fn event(&mut self, event: Event) {
        match &event {
            Event::Error(error) => self.error = Some(error.clone()),
            Event::Result { data, .. } => self.result = plain_text(data),
            Event::NextInput { text } => self.next_input = Some(text.clone()),
            _ => {}
        }
        match event {
            Event::Widget { id, state } => {
                let (open, metadata) = self.shared.widgets.open(id, state);
                self.request.publish_with(open, metadata);
            }
            event if !self.cell.silent => publish(self.request, event, self.count),
            _ => {}
        }
    }

    fn begun(&mut self) {
        if self.cell.store_history && !self.cell.silent {
            marks::progress(self.shared, self.request, "running");
        }
    }

    fn input(&mut self, prompt: &str, password: bool) -> Option<String> {
        if !self.cell.allow_stdin {
            return None;
        }
        let question = self.request.question(InputRequest {
            prompt: prompt.to_owned(),
            password,
        });
        let answer = self.shared.prompts.open(&question)?;
        self.request.ask(question);
        answer.recv().ok()
    }
}

fn plain_text(data: &MimeBundle) -> Option<String> {
    data.get("text/plain")?.as_str().map(str::to_owned)
}
