//! The kernel from its start to its end.

use super::connection_file;
use super::inbox::Inbox;
use super::outbox::{EVALUATION_QUEUE, Outbox};
use super::outgoing::OutboxSender;
use super::shared::Shared;
use super::sockets::{Sockets, answer_heartbeats};
use super::stop::Stop;
use super::{control, editing, evaluation_thread, lifecycle, shell, stdin};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use taper_evaluator::{Evaluator, IsComplete};
use tokio::sync::mpsc;

/// How long to wait at shutdown for the running cell: after an interrupt, then after a second one,
/// which ends its process.
const CELL_TIMEOUTS: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(700)];

/// How long to wait for the last messages, when a front end has stopped reading.
const OUTBOX_TIMEOUT: Duration = Duration::from_millis(300);

/// How long to wait at the end for the sockets, which write in the background and do not report when they
/// are done.
const LINGER: Duration = Duration::from_millis(100);

/// Serves the front ends that connect with `connection_file`, until a front end requests shutdown,
/// SIGTERM arrives or Jupyter ends.
///
/// `start` creates the evaluator, on a thread of its own: the sockets answer meanwhile. If `start`
/// fails, the kernel keeps running and replies to each cell with the error. `is_complete` needs no evaluator.
///
/// The process should end soon after this returns: a cell that could not be stopped may still be
/// running on its thread.
///
/// # Errors
/// When the connection file cannot be read or asks for something other than signed messages over
/// the loopback interface, or when a port is in use.
pub fn serve(
    connection_file: &Path,
    is_complete: IsComplete,
    start: impl FnOnce() -> Result<Box<dyn Evaluator>> + Send + 'static,
) -> Result<()> {
    let info = connection_file::read(connection_file)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the kernel's event loop")?;
    let served = runtime.block_on(async {
        let stop = Stop::default();
        let shared = Arc::new(Shared::new(stop.clone()));
        lifecycle::watch(shared.clone())?;
        let sockets = Sockets::bind(&info).await?;
        run(sockets, stop, shared, is_complete, start).await;
        Ok(())
    });
    runtime.shutdown_background();
    served
}

/// Answers requests until `stop` is requested.
pub(super) async fn run(
    sockets: Sockets,
    stop: Stop,
    shared: Arc<Shared>,
    is_complete: IsComplete,
    start: impl FnOnce() -> Result<Box<dyn Evaluator>> + Send + 'static,
) {
    let (shell_replies, shell_requests) = sockets.shell;
    let (stdin_questions, stdin_answers) = sockets.stdin;
    let (control_replies, control_requests) = sockets.control;
    let (to_outbox, evaluation_messages) = mpsc::channel(EVALUATION_QUEUE);
    let (immediate, immediate_messages) = mpsc::unbounded_channel();
    let (jobs, queue) = std::sync::mpsc::channel();
    let inbox = Arc::new(Inbox::new(stop.clone(), sockets.iopub.wire.clone()));

    let outbox = Outbox::new(
        sockets.iopub,
        shell_replies,
        stdin_questions,
        shared.clone(),
    );
    let outbox = tokio::spawn(outbox.run(immediate_messages, evaluation_messages));
    let to_outbox = OutboxSender::Evaluation(to_outbox);
    let (to_editing, editor) = std::sync::mpsc::channel();
    let evaluation = evaluation_thread::spawn(start, queue, to_outbox, shared.clone(), to_editing);
    let to_outbox = OutboxSender::Immediate(immediate.clone());
    let editing = editing::spawn(editor, to_outbox, shared.clone());
    let readers = [
        tokio::spawn(answer_heartbeats(sockets.heartbeat, stop.clone())),
        tokio::spawn(stdin::run(stdin_answers, inbox.clone(), shared.clone())),
        tokio::spawn(control::run(
            control_requests,
            control_replies,
            immediate.clone(),
            inbox.clone(),
            shared.clone(),
        )),
        tokio::spawn(shell::run(
            shell_requests,
            OutboxSender::Immediate(immediate),
            shell::Queues { jobs, editing },
            inbox,
            shared.clone(),
            is_complete,
        )),
    ];

    stop.requested().await;
    for reader in readers {
        // A panic of a reader has been printed; the shutdown continues.
        let _ = reader.await;
    }
    end_evaluation(evaluation, &shared).await;
    let _ = tokio::time::timeout(OUTBOX_TIMEOUT, outbox).await;
    tokio::time::sleep(LINGER).await;
}

/// Interrupts the cell until the evaluation thread ends, for at most [`CELL_TIMEOUTS`].
async fn end_evaluation(mut ended: evaluation_thread::Ended, shared: &Shared) {
    if !shared.started() {
        return;
    }
    for timeout in CELL_TIMEOUTS {
        shared.interrupt();
        if tokio::time::timeout(timeout, &mut ended).await.is_ok() {
            return;
        }
    }
}
