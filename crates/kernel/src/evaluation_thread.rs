//! The evaluation thread: it owns the evaluator and takes one request after the other.

use super::outbox::Lane;
use super::request::Request;
use super::shared::Shared;
use jupyter_protocol::{JupyterMessage, JupyterMessageContent};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use taper_evaluator::evaluator::Evaluator;
use taper_evaluator::event::CellError;
use tokio::sync::oneshot;

/// As much as a main thread has: the evaluator analyses code by deep recursion.
const STACK: usize = 8 << 20;

/// A request that waits for the evaluator.
pub(super) struct Job {
    pub(super) ticket: u64,
    pub(super) message: Arc<JupyterMessage>,
}

/// Resolves when the evaluation thread has ended.
pub(super) type Ended = oneshot::Receiver<()>;

/// The evaluator, or why there is none, and what belongs to it.
pub(super) struct Evaluation {
    pub(super) evaluator: Result<Box<dyn Evaluator>, CellError>,
    pub(super) shared: Arc<Shared>,
    /// The number of the next cell that counts.
    pub(super) count: usize,
}

/// Starts the thread, which first makes the evaluator. It ends when the queue is closed.
pub(super) fn spawn(
    start: impl FnOnce() -> anyhow::Result<Box<dyn Evaluator>> + Send + 'static,
    queue: Receiver<Job>,
    lane: Lane,
    shared: Arc<Shared>,
) -> Ended {
    let (ended, end) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("evaluation".to_owned())
        .stack_size(STACK);
    let run = move || {
        let mut evaluation = Evaluation::start(start, shared);
        for job in queue {
            evaluation.handle(job, &lane);
        }
        drop(lane);
        let _ = ended.send(());
        // The process ends now. Taking an evaluator's memory apart takes as long as a restart may.
        std::mem::forget(evaluation);
    };
    thread.spawn(run).expect("the system gives no thread");
    end
}

impl Evaluation {
    fn start(
        start: impl FnOnce() -> anyhow::Result<Box<dyn Evaluator>>,
        shared: Arc<Shared>,
    ) -> Self {
        let evaluator = caught(start).and_then(|started| {
            started.map_err(|error| failure("StartError", format!("{error:#}")))
        });
        match &evaluator {
            Ok(evaluator) => shared.set_started(evaluator.interrupter()),
            Err(error) => eprintln!("taper: the evaluator did not start: {}", error.message),
        }
        Self {
            evaluator,
            shared,
            count: 1,
        }
    }

    fn handle(&mut self, job: Job, lane: &Lane) {
        let message = job.message.clone();
        let request = Request::begin(job.message, lane.clone());
        let reply: JupyterMessageContent = match &message.content {
            JupyterMessageContent::ExecuteRequest(cell) => {
                self.execute(&request, cell, job.ticket).into()
            }
            JupyterMessageContent::CompleteRequest(asked) => self.complete(asked).into(),
            JupyterMessageContent::InspectRequest(asked) => self.inspect(asked).into(),
            JupyterMessageContent::IsCompleteRequest(asked) => self.is_complete(asked).into(),
            // The shell queues nothing else; the request itself says that it failed.
            _ => return self.shared.done(),
        };
        // First done, then said to be: whoever reads the `idle` finds the evaluator free.
        self.shared.done();
        request.reply(reply);
    }
}

/// Calls the evaluator: a panic in it is an error of the cell, not the end of the kernel.
pub(super) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, CellError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        failure(
            "InternalError",
            format!("taper itself failed: {}", text(panic)),
        )
    })
}

fn text(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap_or_default()).to_owned(),
    }
}

fn failure(name: &str, message: String) -> CellError {
    CellError {
        name: name.to_owned(),
        traceback: message.lines().map(str::to_owned).collect(),
        message,
        location: None,
    }
}
