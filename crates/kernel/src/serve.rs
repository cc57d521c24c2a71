//! The kernel from its start to its end.

use super::outbox::{CELL_LANE, Lane, Outbox};
use super::shared::Shared;
use super::sockets::{self, Sockets};
use super::{control, evaluation_thread, lifecycle, prompts, shell};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use taper_evaluator::Evaluator;
use tokio::sync::mpsc;

/// How long the running cell gets to end at shutdown: after an interrupt, then after a second one,
/// which ends its process.
const PATIENCE: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(700)];

/// How long the last messages may take to leave, when a front end has stopped reading.
const DRAIN: Duration = Duration::from_millis(300);

/// The sockets write behind our back and cannot be asked whether they are done.
const LINGER: Duration = Duration::from_millis(100);

/// Where another process stands for this one: takes what to do at each interrupt that it gets, and what
/// to do when it has gone.
pub type Outside = Box<dyn FnOnce(Box<dyn Fn() + Send>, Box<dyn FnOnce() + Send>) -> Result<()>>;

/// Serves the front ends that know `connection_file` until one of them asks for the end.
///
/// `start` makes the evaluator, on a thread of its own: the sockets answer meanwhile. When it
/// fails, the kernel stays and answers each cell with the reason.
///
/// `outside` is there when another process stands for this one.
///
/// The process should end soon after this returns: a cell that could not be stopped may still be
/// running on its thread.
///
/// # Errors
/// When the connection file cannot be read or asks for something other than signed messages over
/// the loopback interface, or when a port is taken.
pub fn serve(
    connection_file: &Path,
    outside: Option<Outside>,
    start: impl FnOnce() -> Result<Box<dyn Evaluator>> + Send + 'static,
) -> Result<()> {
    let info = sockets::read(connection_file)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the kernel's event loop")?;
    let served = runtime.block_on(async {
        let shared = Arc::new(Shared::new());
        lifecycle::watch(shared.clone(), outside)?;
        let sockets = Sockets::bind(&info).await?;
        run(sockets, shared, start).await;
        Ok(())
    });
    runtime.shutdown_background();
    served
}

/// Answers requests until somebody calls [`Shared::stop`].
pub(super) async fn run(
    sockets: Sockets,
    shared: Arc<Shared>,
    start: impl FnOnce() -> Result<Box<dyn Evaluator>> + Send + 'static,
) {
    let (shell_replies, shell_requests) = sockets.shell.split();
    let (stdin_questions, stdin_answers) = sockets.stdin.split();
    let (cell_lane, cell) = mpsc::channel(CELL_LANE);
    let (prompt_lane, prompt) = mpsc::unbounded_channel();
    let (jobs, queue) = std::sync::mpsc::channel();

    let outbox = Outbox::new(
        sockets.iopub,
        shell_replies,
        stdin_questions,
        shared.clone(),
    );
    let outbox = tokio::spawn(outbox.run(prompt, cell));
    let evaluation = evaluation_thread::spawn(start, queue, Lane::Cell(cell_lane), shared.clone());
    let readers = [
        tokio::spawn(sockets::beat(sockets.heartbeat, shared.clone())),
        tokio::spawn(prompts::read(stdin_answers, shared.clone())),
        tokio::spawn(control::run(
            sockets.control,
            prompt_lane.clone(),
            shared.clone(),
        )),
        tokio::spawn(shell::run(
            shell_requests,
            Lane::Prompt(prompt_lane),
            jobs,
            shared.clone(),
        )),
    ];

    shared.stopped().await;
    for reader in readers {
        // A reader that panicked has told standard error; the end goes on.
        let _ = reader.await;
    }
    end_evaluation(evaluation, &shared).await;
    let _ = tokio::time::timeout(DRAIN, outbox).await;
    tokio::time::sleep(LINGER).await;
}

/// Waits for the evaluation thread, pressing harder each time; gives up after [`PATIENCE`].
async fn end_evaluation(mut ended: evaluation_thread::Ended, shared: &Shared) {
    if !shared.started() {
        return;
    }
    for patience in PATIENCE {
        shared.interrupt();
        if tokio::time::timeout(patience, &mut ended).await.is_ok() {
            return;
        }
    }
}
