//! Completes names in a cell that is being written, and shows documentation, with the toolchain's rust-analyzer.
//!
//! It reads Rust's library and the packages whose types a cell can see, which takes one to two seconds. That is not on the
//! path of a cell: a thread starts the process once no cell begins or ends for a while, also before the first cell, or for
//! the first request. A front end drops a list that comes late, so a request for completions waits a moment only.
//!
//! - [`packages`] lists the packages; [`skeleton`] writes what is read of them;
//! - [`server`] is the process;
//! - [`source`] puts a cell between the items and the variables of earlier cells, and maps positions;
//! - [`completion`] and [`hover`] read answers.

mod completion;
mod hover;
mod packages;
mod server;
mod skeleton;
mod source;

use completion::FIRST;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use packages::Packages;
pub(crate) use packages::SEEN_BELOW_TAPER;
use server::Server;
pub(crate) use source::Source;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taper_evaluator::evaluator::Completions;
use taper_host::{cache, toolchain};

/// The folder of skeletons in the cache. Another version of what writes them needs another folder.
const SKELETONS: &str = "skeletons-1";

/// How long no cell begins or ends, and no request comes, before the process is started without a request; and then
/// before each of the first completions is prepared. Tests wait less.
const QUIET: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 1000 });

/// How long no cell begins or ends, and no request comes, before the process is ended: an idle kernel then needs
/// some 210 MB less. The next cell starts it again.
pub(crate) const FORGETS_AFTER: Duration = Duration::from_secs(4 * 60);

/// How long a request for documentation waits: the process may have to be started first, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a request for completions waits. JupyterLab drops a list that comes after a second.
const PATIENCE_WHILE_TYPING: Duration = Duration::from_millis(500);

/// While the thread is still busy with an earlier request, which had no answer in time, a request waits this part of it.
const AFTER_A_LATE_ONE: u32 = 2;

/// A handle of the thread that analyses. The thread ends when the handle is dropped.
pub(crate) struct Analysis {
    messages: Sender<Message>,
    /// Set when a request had no answer in time, until the thread is free again.
    is_late: Arc<AtomicBool>,
}

type Request = Box<dyn FnOnce(&mut Option<Server>) + Send>;

enum Message {
    Ask(Request),
    /// A cell begins or ends.
    Cell,
    /// The packages have changed.
    Reload,
}

impl Analysis {
    /// Starts the thread, and not yet the process. `metadata` asks cargo for the packages of the cells' crate.
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
        let thread = std::thread::Builder::new().name("analysis".to_owned());
        let spawned = thread.spawn(move || serve(&messages, &packages, &late, forgets_after));
        // Without a thread, nothing is completed.
        drop(spawned);
        Analysis {
            messages: sender,
            is_late,
        }
    }

    /// Returns the completions at the byte `cursor` of the cell; `None` while rust-analyzer cannot answer.
    pub(crate) fn complete(&self, source: Source, cursor: usize) -> Option<Completions> {
        self.ask(PATIENCE_WHILE_TYPING, move |server| {
            completion::at(server, &source, cursor)
        })
    }

    /// Returns what is known about the name at the byte `cursor` of the cell, in Markdown.
    pub(crate) fn hover(&self, source: Source, cursor: usize) -> Option<String> {
        self.ask(PATIENCE, move |server| hover::at(server, &source, cursor))?
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

    /// Asks the process, which is ended if `work` returns `None`: it has ended itself, or hangs.
    fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&mut Server) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = bounded(1);
        let asker = Arc::new(());
        let is_asked = Arc::downgrade(&asker);
        let ask = move |server: &mut Option<Server>| {
            // The request was given up meanwhile.
            if is_asked.strong_count() == 0 {
                return;
            }
            let found = server.as_mut().and_then(work);
            if found.is_none() {
                *server = None;
            }
            let _ = sender.send(found);
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
    packages: &impl Fn() -> Option<Packages>,
    is_late: &AtomicBool,
    forgets_after: Duration,
) {
    let mut server: Option<Server> = None;
    // How many first completions are still to be prepared.
    let mut unprepared = FIRST.len();
    let mut is_forgotten = false;
    loop {
        let message = match unprepared {
            0 if server.is_none() => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            0 => messages.recv_timeout(forgets_after),
            _ => messages.recv_timeout(QUIET),
        };
        match message {
            Ok(Message::Cell) => {
                if std::mem::take(&mut is_forgotten) {
                    unprepared = FIRST.len();
                }
            }
            Ok(Message::Reload) => {
                server = None;
                unprepared = FIRST.len();
            }
            Ok(Message::Ask(answer)) => {
                server = server.or_else(|| start(packages));
                answer(&mut server);
                is_late.store(false, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) if unprepared == 0 => {
                server = None;
                is_forgotten = true;
            }
            Err(RecvTimeoutError::Timeout) => {
                let prepared = match &mut server {
                    Some(server) => {
                        unprepared -= 1;
                        completion::prepare(server, FIRST[unprepared])
                    }
                    None => {
                        server = start(packages);
                        server.as_ref().map(|_| ())
                    }
                };
                if prepared.is_none() {
                    // It would not succeed the next time either.
                    server = None;
                    unprepared = 0;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Starts the process, after the skeletons were brought up to date.
fn start(packages: &impl Fn() -> Option<Packages>) -> Option<Server> {
    let program = toolchain::analyzer().ok()?;
    let folder = cache::folder().ok()?.join(SKELETONS);
    let packages = packages()?;
    packages.update(&folder);
    Server::start(&program, &packages.project(&folder))
}

#[cfg(test)]
mod tests;
