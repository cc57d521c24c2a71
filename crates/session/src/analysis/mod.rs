//! rust-analyzer as a library: completes names in a cell that is being written, and shows documentation.
//!
//! It reads the sources of Rust's library and of the packages whose types a cell can see, which takes seconds. That is not
//! on the path of a cell: a thread of its own loads them at a low priority once no cell begins or ends for a while, or for
//! the first request.
//!
//! - [`packages`] lists the packages; [`database`] loads their sources;
//! - [`source`] puts a cell between the items and the variables of earlier cells, and maps positions;
//! - [`completion`] and [`hover`] answer.

mod completion;
mod database;
mod hover;
mod packages;
mod source;

use crate::heap::Heap;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use database::Database;
pub(crate) use hover::Hover;
use packages::Packages;
pub(crate) use packages::SEEN_BELOW_TAPER;
pub(crate) use source::Source;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taper_evaluator::evaluator::Completions;

/// The stack of the thread in bytes: rust-analyzer recurses deeply into types.
const STACK: usize = 64 << 20;

/// How long no cell begins or ends before the sources are loaded without a request.
const QUIET: Duration = Duration::from_secs(1);

/// How nice the thread is that loads them: a ninth of the processor's time is left to it.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// How long a request waits: the sources may have to be loaded first, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a request waits while the thread is still busy with an earlier request, which had no answer in time.
const AFTER_A_LATE_ONE: Duration = Duration::from_millis(500);

/// A handle of the thread that analyses. The thread ends when the handle is dropped.
pub(crate) struct Analysis {
    messages: Sender<Message>,
    /// Set when a request had no answer in time, until the thread is free again.
    is_late: Arc<AtomicBool>,
}

type Request = Box<dyn FnOnce(Option<&mut Database>) + Send>;

enum Message {
    Ask(Request),
    /// A cell begins or ends.
    Cell,
    /// The packages have changed.
    Reload,
}

impl Analysis {
    /// Starts the thread, which loads nothing yet. `metadata` asks cargo for the packages of the cells' crate.
    pub(crate) fn start(
        metadata: impl Fn() -> Option<cargo_metadata::Metadata> + Send + Sync + 'static,
    ) -> Analysis {
        let metadata = Arc::new(metadata);
        Analysis::with(move || Packages::of(&metadata()?))
    }

    fn with(packages: impl Fn() -> Option<Packages> + Send + Sync + 'static) -> Analysis {
        let (sender, messages) = unbounded();
        let is_late = Arc::new(AtomicBool::new(false));
        let late = is_late.clone();
        let thread = std::thread::Builder::new()
            .name("analysis".to_owned())
            .stack_size(STACK);
        let spawned = thread.spawn(move || serve(&messages, &packages, &late));
        // Without a thread, nothing is completed.
        drop(spawned);
        Analysis {
            messages: sender,
            is_late,
        }
    }

    /// Returns the completions at the byte `cursor` of the cell.
    pub(crate) fn complete(&self, source: Source, cursor: usize) -> Completions {
        let found = self.ask(move |database| completion::at(database, &source, cursor));
        found.unwrap_or_else(|| Completions::none(cursor))
    }

    /// Returns what is known about the name at the byte `cursor` of the cell.
    pub(crate) fn hover(&self, source: Source, cursor: usize) -> Option<Hover> {
        self.ask(move |database| hover::at(database, &source, cursor))
    }

    /// Notes that a cell begins or ends.
    pub(crate) fn note_cell(&self) {
        let _ = self.messages.send(Message::Cell);
    }

    /// Loads the packages again before the next answer.
    pub(crate) fn reload(&self) {
        let _ = self.messages.send(Message::Reload);
    }

    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = bounded(1);
        let ask = move |database: Option<&mut Database>| {
            let _ = sender.send(database.and_then(work));
        };
        self.messages.send(Message::Ask(Box::new(ask))).ok()?;
        let patience = match self.is_late.load(Ordering::Relaxed) {
            true => AFTER_A_LATE_ONE,
            false => PATIENCE,
        };
        let answer = answer.recv_timeout(patience);
        if matches!(answer, Err(RecvTimeoutError::Timeout)) {
            self.is_late.store(true, Ordering::Relaxed);
        }
        answer.ok()?
    }
}

fn serve(
    messages: &Receiver<Message>,
    packages: &(impl Fn() -> Option<Packages> + Sync),
    is_late: &AtomicBool,
) {
    let heap = Heap::start();
    let mut database: Option<Database> = None;
    let mut is_wanted = false;
    loop {
        let message = match is_wanted && database.is_none() {
            true => messages.recv_timeout(QUIET),
            false => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let is_work = !matches!(message, Ok(Message::Cell));
        let _busy = is_work.then(|| heap.busy());
        match message {
            Ok(Message::Cell) => is_wanted = true,
            Ok(Message::Reload) => database = None,
            Ok(Message::Ask(answer)) => {
                if database.is_none() {
                    database = load(packages, false);
                }
                // Where rust-analyzer panics, the request has no answer.
                let _ = catch_unwind(AssertUnwindSafe(|| answer(database.as_mut())));
                is_late.store(false, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => {
                database = load(packages, true);
                is_wanted = false;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Loads the packages. In the background, a cell that begins meanwhile goes first.
fn load(
    packages: &(impl Fn() -> Option<Packages> + Sync),
    in_background: bool,
) -> Option<Database> {
    let load = || {
        if in_background {
            let_others_go_first();
        }
        let mut database = Database::load(&packages()?);
        if in_background {
            completion::prepare(&mut database);
        }
        Some(database)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, load).ok()?.join().ok()?
    })
}

/// Sets a low priority for this thread. It cannot be raised again.
fn let_others_go_first() {
    // On other systems, the priority is the process's.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(test)]
mod tests;
