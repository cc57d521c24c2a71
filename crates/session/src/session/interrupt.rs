//! Stops a running cell: politely first, by ending its process if it does not listen.

use crate::compile::Compilation;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use taper_evaluator::evaluator::Interrupt;

/// How long a cell may take to notice that it was asked to stop.
const PATIENCE: Duration = Duration::from_secs(3);
/// A cell that is still being compiled forgets what it was asked before it began: it is asked again.
const REMINDER: Duration = Duration::from_millis(100);

/// How a cell was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It noticed the interrupt; every variable lives.
    Politely,
    /// Its process was ended.
    Killed,
}

pub(crate) struct Interrupter {
    compilation: Compilation,
    target: Arc<Target>,
    cell: Arc<Mutex<Cell>>,
}

#[derive(Default)]
struct Cell {
    /// Counts cells, so that a late watcher does not stop the next one.
    number: u64,
    running: bool,
    stopped: Option<Stopped>,
}

impl Interrupter {
    pub(crate) fn new(process: Arc<Mutex<Child>>, compilation: Compilation) -> Self {
        Interrupter {
            compilation,
            target: Arc::new(Target {
                relay: process,
                instead: Mutex::default(),
            }),
            cell: Arc::default(),
        }
    }

    /// Until the result is dropped, this process group receives interrupts instead of the cells.
    pub(crate) fn instead(&self, group: u32) -> Instead {
        *self.target.instead.lock().expect("no panic while locked") = Some(group);
        Instead(self.target.clone())
    }

    pub(crate) fn begin_cell(&self) {
        let mut cell = self.cell.lock().expect("no panic while locked");
        cell.number += 1;
        cell.running = true;
        cell.stopped = None;
        self.compilation.allow();
    }

    /// Says whether, and how, the cell was stopped.
    pub(crate) fn end_cell(&self) -> Option<Stopped> {
        let mut cell = self.cell.lock().expect("no panic while locked");
        cell.running = false;
        self.compilation.allow();
        cell.stopped.take()
    }
}

impl Interrupt for Interrupter {
    fn interrupt(&self) {
        let mut cell = self.cell.lock().expect("no panic while locked");
        if !cell.running {
            return;
        }
        if self.compilation.stop() {
            // The cell has not begun, and does not begin any more.
            cell.stopped = Some(Stopped::Politely);
            return;
        }
        if cell.stopped.is_some() {
            cell.stopped = Some(Stopped::Killed);
            self.target.signal(libc::SIGKILL);
            return;
        }
        cell.stopped = Some(Stopped::Politely);
        self.target.signal(libc::SIGINT);
        let (number, watched, target) = (cell.number, self.cell.clone(), self.target.clone());
        std::thread::spawn(move || {
            let asked = Instant::now();
            loop {
                std::thread::sleep(REMINDER);
                let mut cell = watched.lock().expect("no panic while locked");
                if !cell.running || cell.number != number || cell.stopped != Some(Stopped::Politely)
                {
                    return;
                }
                if asked.elapsed() >= PATIENCE {
                    cell.stopped = Some(Stopped::Killed);
                    target.signal(libc::SIGKILL);
                    return;
                }
                target.signal(libc::SIGINT);
            }
        });
    }
}

/// Whom an interrupt reaches.
struct Target {
    /// Its process group holds the cells process and what that started.
    relay: Arc<Mutex<Child>>,
    instead: Mutex<Option<u32>>,
}

impl Target {
    fn signal(&self, signal: libc::c_int) {
        let instead = *self.instead.lock().expect("no panic while locked");
        if let Some(group) = instead {
            // SAFETY: the group is not collected before `Instead` is dropped.
            unsafe { libc::kill(-(group as libc::pid_t), signal) };
        } else if let Ok(relay) = self.relay.try_lock() {
            // Locked for long only while evcxr waits for a process that has ended already.
            let group = relay.id() as libc::pid_t;
            // SAFETY: the relay leads its own group and is not collected before evcxr waits for it.
            unsafe { libc::kill(-group, signal) };
        }
    }
}

/// See [`Interrupter::instead`].
pub(crate) struct Instead(Arc<Target>);

impl Drop for Instead {
    fn drop(&mut self) {
        *self.0.instead.lock().expect("no panic while locked") = None;
    }
}
