//! rust-analyzer as a library: completes names in a cell that is being written, and shows documentation.
//!
//! It reads the sources of Rust's library and of the packages whose types a cell can see, which takes seconds. That is not
//! on the path of a cell: a thread of its own loads them at a low priority once no cell begins or ends for a while, also
//! before the first cell, or for the first request. A front end drops a list that comes late, so a request for
//! completions waits a moment only.
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
use completion::FIRST;
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

/// How long no cell begins or ends, and no request comes, before the sources are loaded without a request; and then
/// before each of the first completions is prepared, because a request cannot interrupt that. Tests wait less.
const QUIET: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 1000 });

/// How long no cell begins or ends, and no request comes, before everything is forgotten: an idle kernel then needs
/// some 150 MB less. The next cell loads it again.
pub(crate) const FORGETS_AFTER: Duration = Duration::from_secs(4 * 60);

/// How nice the thread is that loads them: a ninth of the processor's time is left to it.
const NICENESS: i32 = 10;

/// How long a request for documentation waits: the sources may have to be loaded first, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a request for completions waits. JupyterLab drops a list that comes after a second.
const PATIENCE_WHILE_TYPING: Duration = Duration::from_millis(500);

/// While the thread is still busy with an earlier request, which had no answer in time, a request waits this part of it.
const AFTER_A_LATE_ONE: u32 = 5;

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
        Analysis::with(move || Packages::of(&metadata()?), FORGETS_AFTER)
    }

    fn with(
        packages: impl Fn() -> Option<Packages> + Send + Sync + 'static,
        forgets_after: Duration,
    ) -> Analysis {
        let (sender, messages) = unbounded();
        let is_late = Arc::new(AtomicBool::new(false));
        let late = is_late.clone();
        let thread = std::thread::Builder::new()
            .name("analysis".to_owned())
            .stack_size(STACK);
        let spawned = thread.spawn(move || serve(&messages, &packages, &late, forgets_after));
        // Without a thread, nothing is completed.
        drop(spawned);
        Analysis {
            messages: sender,
            is_late,
        }
    }

    /// Returns the completions at the byte `cursor` of the cell; `None` while nothing is loaded yet.
    pub(crate) fn complete(&self, source: Source, cursor: usize) -> Option<Completions> {
        let work = move |database: &mut Database| {
            let found = completion::at(database, &source, cursor);
            Some(found.unwrap_or_else(|| Completions::none(cursor)))
        };
        self.ask(PATIENCE_WHILE_TYPING, work)
    }

    /// Returns what is known about the name at the byte `cursor` of the cell.
    pub(crate) fn hover(&self, source: Source, cursor: usize) -> Option<Hover> {
        self.ask(PATIENCE, move |database| {
            hover::at(database, &source, cursor)
        })
    }

    /// Returns whether no request waits longer than its patience.
    pub(crate) fn is_ready(&self) -> bool {
        !self.is_late.load(Ordering::Relaxed)
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
        patience: Duration,
        work: impl FnOnce(&mut Database) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = bounded(1);
        let ask = move |database: Option<&mut Database>| {
            let _ = sender.send(database.and_then(work));
        };
        self.messages.send(Message::Ask(Box::new(ask))).ok()?;
        let patience = match self.is_late.load(Ordering::Relaxed) {
            true => patience / AFTER_A_LATE_ONE,
            false => patience,
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
    forgets_after: Duration,
) {
    let heap = Heap::start();
    let mut database: Option<Database> = None;
    // How many first completions are still to be prepared.
    let mut unprepared = FIRST.len();
    let mut is_forgotten = false;
    loop {
        let message = match unprepared {
            0 if database.is_none() => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            0 => messages.recv_timeout(forgets_after),
            _ => messages.recv_timeout(QUIET),
        };
        let is_work = !matches!(message, Ok(Message::Cell));
        let _busy = is_work.then(|| heap.busy());
        match message {
            Ok(Message::Cell) => {
                if std::mem::take(&mut is_forgotten) {
                    unprepared = FIRST.len();
                }
            }
            Ok(Message::Reload) => {
                database = None;
                unprepared = FIRST.len();
            }
            Ok(Message::Ask(answer)) => {
                if database.is_none() {
                    database = load(packages);
                }
                // Where rust-analyzer panics, the request has no answer.
                let _ = catch_unwind(AssertUnwindSafe(|| answer(database.as_mut())));
                is_late.store(false, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) if unprepared == 0 => {
                database = None;
                is_forgotten = true;
            }
            Err(RecvTimeoutError::Timeout) => match &mut database {
                Some(database) => {
                    unprepared -= 1;
                    in_background(|| completion::prepare(database, FIRST[unprepared]));
                }
                None => {
                    database = in_background(|| load(packages)).flatten();
                    if database.is_none() {
                        // It would not succeed the next time either.
                        unprepared = 0;
                    }
                }
            },
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn load(packages: &impl Fn() -> Option<Packages>) -> Option<Database> {
    Some(Database::load(&packages()?))
}

/// Does something on a thread to which cells go first. The priority of this thread could not be raised again.
fn in_background<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let work = || {
            taper_host::process::let_others_go_first(NICENESS);
            work()
        };
        thread.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

#[cfg(test)]
mod tests;
