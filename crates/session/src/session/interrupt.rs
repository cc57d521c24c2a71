//! Stops a cell. While a cell is analysed or compiled, that is given up or ended, and the cell does not
//! begin. A cell that runs is interrupted first; if it does not stop, its process is killed.

use crate::compile::Compilation;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use taper_evaluator::evaluator::Interrupt;

/// How long a cell may take to notice that it was asked to stop.
const PATIENCE: Duration = Duration::from_secs(3);
/// How soon after an interrupt another one is an impatient user's, who clicks twice.
const DOUBLE_CLICK: Duration = Duration::from_secs(1);
/// How often a cell is interrupted again: a cell that has just been compiled forgets an interrupt from
/// before it began.
const REMINDER: Duration = Duration::from_millis(100);
/// How long a cell that is not being compiled may take to begin. A cell that takes longer is being analysed.
const TO_BEGIN: Duration = Duration::from_millis(300);

/// How a cell was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It noticed the interrupt; all variables are kept.
    Politely,
    /// Its process was killed.
    Killed,
}

pub(crate) struct Interrupter {
    compilation: Arc<Compilation>,
    target: Arc<Target>,
    cell: Arc<Mutex<Cell>>,
    /// Makes the engine give up the analysis of the cell.
    given_up: Arc<AtomicBool>,
}

#[derive(Default)]
struct Cell {
    /// Counts cells, so that a late watcher does not stop the next one.
    number: u64,
    running: bool,
    /// Whether its own code runs.
    begun: bool,
    stopped: Option<Stopped>,
    /// When the user first asked it to stop.
    asked: Option<Instant>,
}

impl Cell {
    fn is_double_click(&self) -> bool {
        self.asked
            .is_some_and(|asked| asked.elapsed() < DOUBLE_CLICK)
    }
}

impl Interrupter {
    pub(crate) fn new(cells: Cells, compilation: Compilation, given_up: Arc<AtomicBool>) -> Self {
        Interrupter {
            compilation: Arc::new(compilation),
            given_up,
            target: Arc::new(Target {
                cells,
                instead: Mutex::default(),
            }),
            cell: Arc::default(),
        }
    }

    /// Sends interrupts to this process group, instead of to the cells, until the result is dropped.
    pub(crate) fn instead(&self, group: u32) -> Instead {
        self.set_begun(true);
        *self.target.instead.lock().expect("no panic while locked") = Some(group);
        Instead(self.target.clone())
    }

    pub(crate) fn begin_cell(&self) {
        let mut cell = self.cell.lock().expect("no panic while locked");
        *cell = Cell {
            number: cell.number + 1,
            running: true,
            ..Cell::default()
        };
        self.given_up.store(false, Ordering::Relaxed);
    }

    /// Sets whether the cell's own code runs, rather than its analysis or compilation.
    pub(crate) fn set_begun(&self, begun: bool) {
        self.cell.lock().expect("no panic while locked").begun = begun;
    }

    /// Returns whether the user has asked the running cell to stop.
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        let cell = self.cell.lock().expect("no panic while locked");
        cell.stopped.is_some()
    }

    /// Allows compilation again. Call this only when no abandoned evaluation is left: it would continue.
    pub(crate) fn allow_compilation(&self) {
        self.compilation.allow();
    }

    /// Records that the cell has ended. Returns how it was stopped, if it was.
    pub(crate) fn end_cell(&self) -> Option<Stopped> {
        let mut cell = self.cell.lock().expect("no panic while locked");
        cell.running = false;
        cell.stopped.take()
    }
}

impl Interrupt for Interrupter {
    fn interrupt(&self) {
        let mut cell = self.cell.lock().expect("no panic while locked");
        if !cell.running {
            // It may compile a cell ahead.
            self.target.stop_compiler();
            return;
        }
        // What has not begun does not begin any more, unless it has just been compiled.
        self.compilation.stop();
        self.target.stop_compiler();
        match (cell.stopped, cell.begun) {
            (None, _) => {}
            // Another thread follows the cell already.
            (Some(_), false) => return,
            (Some(_), true) if cell.is_double_click() => return,
            (Some(_), true) => {
                cell.stopped = Some(Stopped::Killed);
                self.target.signal(libc::SIGKILL);
                return;
            }
        }
        cell.stopped = Some(Stopped::Politely);
        cell.asked = Some(Instant::now());
        if cell.begun {
            self.target.signal(libc::SIGINT);
        }
        let watch = Watch {
            number: cell.number,
            cell: self.cell.clone(),
            target: self.target.clone(),
            compilation: self.compilation.clone(),
            given_up: self.given_up.clone(),
        };
        std::thread::spawn(move || watch.until_it_stops());
    }
}

/// Follows a cell that was asked to stop.
struct Watch {
    number: u64,
    cell: Arc<Mutex<Cell>>,
    target: Arc<Target>,
    compilation: Arc<Compilation>,
    given_up: Arc<AtomicBool>,
}

impl Watch {
    fn until_it_stops(&self) {
        let asked = Instant::now();
        loop {
            std::thread::sleep(REMINDER);
            let mut cell = self.cell.lock().expect("no panic while locked");
            let is_ours = cell.running && cell.number == self.number;
            if !is_ours || cell.stopped != Some(Stopped::Politely) {
                return;
            }
            if !cell.begun {
                // A compiler may have been started meanwhile.
                self.compilation.stop();
                self.target.stop_compiler();
                if asked.elapsed() >= TO_BEGIN {
                    self.given_up.store(true, Ordering::Relaxed);
                }
                continue;
            }
            if asked.elapsed() >= PATIENCE {
                cell.stopped = Some(Stopped::Killed);
                self.target.signal(libc::SIGKILL);
                return;
            }
            self.target.signal(libc::SIGINT);
        }
    }
}

/// The process that runs the cells.
pub(crate) enum Cells {
    /// evcxr's child. Its process group holds the cells process and what that started.
    Relay(Arc<Mutex<Child>>),
    /// That of our own engine.
    Own(taper_engine::Interrupter),
}

/// The processes that an interrupt reaches.
struct Target {
    cells: Cells,
    instead: Mutex<Option<u32>>,
}

impl Target {
    fn signal(&self, signal: libc::c_int) {
        let instead = *self.instead.lock().expect("no panic while locked");
        if let Some(group) = instead {
            // SAFETY: the group is not collected before `Instead` is dropped.
            unsafe { libc::kill(-(group as libc::pid_t), signal) };
            return;
        }
        match &self.cells {
            Cells::Relay(relay) => {
                // Locked for long only while evcxr waits for a process that has ended already.
                if let Ok(relay) = relay.try_lock() {
                    let group = relay.id() as libc::pid_t;
                    // SAFETY: the relay leads its own group and is not collected before evcxr waits for it.
                    unsafe { libc::kill(-group, signal) };
                }
            }
            Cells::Own(cells) if signal == libc::SIGKILL => cells.kill(),
            Cells::Own(cells) => cells.interrupt(),
        }
    }

    /// Stops the compiler of our own engine.
    fn stop_compiler(&self) {
        let instead = *self.instead.lock().expect("no panic while locked");
        if let (None, Cells::Own(cells)) = (instead, &self.cells) {
            cells.interrupt();
        }
    }
}

/// Keeps interrupts from the cells until it is dropped: see [`Interrupter::instead`].
pub(crate) struct Instead(Arc<Target>);

impl Drop for Instead {
    fn drop(&mut self) {
        *self.0.instead.lock().expect("no panic while locked") = None;
    }
}
