//! The evaluation thread: it owns the evaluator and handles one request after the other.

use super::evaluation::Evaluation;
use super::outgoing::OutboxSender;
use super::request::Request;
use super::shared::Shared;
use super::{execute, introspect, marks};
use jupyter_protocol::{JupyterMessage, JupyterMessageContent};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use taper_evaluator::{Editor, Evaluator};
use tokio::sync::oneshot;

/// The size of the stack, as large as a main thread's: the evaluator analyses code by deep recursion.
const STACK: usize = 8 << 20;

/// How long no request comes until the evaluator is idle.
const QUIET: Duration = Duration::from_millis(50);

/// A request that waits for the evaluator.
pub(super) struct Job {
    pub(super) ticket: u64,
    pub(super) message: Arc<JupyterMessage>,
}

/// Resolves when the evaluation thread has ended.
pub(super) type Ended = oneshot::Receiver<()>;

/// Starts the thread, which first starts the evaluator, and passes on its editor. It ends when the queue is closed.
pub(super) fn spawn(
    start: impl FnOnce() -> anyhow::Result<Box<dyn Evaluator>> + Send + 'static,
    queue: Receiver<Job>,
    outbox: OutboxSender,
    shared: Arc<Shared>,
    editor: Sender<Arc<dyn Editor>>,
) -> Ended {
    let (ended, end) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("evaluation".to_owned())
        .stack_size(STACK);
    let run = move || {
        let mut evaluation = Evaluation::start(start, shared, outbox.clone());
        if let Ok(evaluator) = &evaluation.evaluator {
            let _ = editor.send(evaluator.editor());
        }
        drop(editor);
        while let Some(job) = next(&queue, &mut evaluation) {
            handle(&mut evaluation, job, outbox.clone());
        }
        evaluation.stop();
        drop(outbox);
        let _ = ended.send(());
        // The process is ending: freeing the evaluator's memory would only delay a restart.
        std::mem::forget(evaluation);
    };
    thread.spawn(run).expect("the system starts a thread");
    end
}

/// Waits for the next request. Meanwhile the evaluator does what can be done ahead.
pub(super) fn next(queue: &Receiver<Job>, evaluation: &mut Evaluation) -> Option<Job> {
    let mut pause = Some(QUIET);
    loop {
        let job = match pause {
            Some(pause) => queue.recv_timeout(pause),
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match job {
            Ok(job) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => pause = evaluation.idle(),
        }
    }
}

fn handle(evaluation: &mut Evaluation, job: Job, outbox: OutboxSender) {
    let message = job.message.clone();
    let request = Request::begin(job.message, outbox);
    let reply: Option<JupyterMessageContent> = match &message.content {
        JupyterMessageContent::ExecuteRequest(cell) => {
            Some(execute::execute(evaluation, &request, cell, job.ticket).into())
        }
        JupyterMessageContent::CommOpen(open) => {
            marks::answer(evaluation, &request, &open.comm_id, &open.data);
            None
        }
        JupyterMessageContent::CommMsg(message)
            if evaluation.shared.stale.contains(&message.comm_id) =>
        {
            marks::answer(evaluation, &request, &message.comm_id, &message.data);
            None
        }
        JupyterMessageContent::CommMsg(_) => {
            execute::update_widgets(evaluation, &request, job.ticket);
            None
        }
        JupyterMessageContent::InspectRequest(asked) => {
            execute::keep_variables(evaluation, true);
            let evaluator = evaluation.evaluator.as_ref().ok();
            let editor = evaluator.map(|evaluator| evaluator.editor());
            editor.map(|editor| introspect::inspect(&*editor, asked, &evaluation.shared).into())
        }
        // The shell queues no other type; the request replies with an error when it is dropped.
        _ => None,
    };
    // Before the reply: a front end that has received `idle` finds the evaluator idle.
    evaluation.shared.done();
    if let Some(reply) = reply {
        request.reply(reply);
    }
}
