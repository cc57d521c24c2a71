//! Stops a cell: while it is compiled, it does not begin; a cell that runs is interrupted first, and if it does not
//! stop, its process is killed. Our own engine follows an interrupt itself once it has begun to evaluate a cell.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use taper_evaluator::evaluator::Interrupt;
use taper_host::mutex::lock;

/// How long a cell may take to notice that it was asked to stop.
const PATIENCE: Duration = Duration::from_secs(3);
/// How soon after an interrupt another one is an impatient user's, who clicks twice.
const DOUBLE_CLICK: Duration = Duration::from_secs(1);
/// How often a cell is interrupted again: a cell that has just been compiled forgets an interrupt from
/// before it began.
const REMINDER: Duration = Duration::from_millis(100);

/// What runs and compiles the cells, also after a restart.
pub(crate) trait Cells: Send + Sync {
    /// Ends the compiler, and asks the cell that runs to stop. Returns whether it does what is necessary from now on: asks
    /// again, and ends the process after a while.
    fn interrupt(&self) -> bool;

    /// Ends the process in which the cells run.
    fn kill(&self);

    /// Ends the compilation of a cell ahead.
    fn stop_ahead(&self) {}
}

/// How a cell was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It noticed the interrupt; all variables are kept.
    Politely,
    /// Its process was killed.
    Killed,
}

/// Interrupts the cell of a session.
pub(crate) struct Interrupter {
    target: Arc<Target>,
    cell: Arc<Mutex<Cell>>,
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
    pub(crate) fn new(cells: Box<dyn Cells>) -> Self {
        Interrupter {
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
        *lock(&self.target.instead) = Some(group);
        Instead(self.target.clone())
    }

    pub(crate) fn begin_cell(&self) {
        let mut cell = lock(&self.cell);
        *cell = Cell {
            number: cell.number + 1,
            running: true,
            ..Cell::default()
        };
    }

    /// Sets whether the cell's own code runs, rather than its compilation.
    pub(crate) fn set_begun(&self, begun: bool) {
        lock(&self.cell).begun = begun;
    }

    /// Returns whether the user has asked the running cell to stop.
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        lock(&self.cell).stopped.is_some()
    }

    /// Records that the cell has ended. Returns how it was stopped, if it was.
    pub(crate) fn end_cell(&self) -> Option<Stopped> {
        let mut cell = lock(&self.cell);
        cell.running = false;
        cell.stopped.take()
    }
}

impl Interrupt for Interrupter {
    fn interrupt(&self) {
        let mut cell = lock(&self.cell);
        if !cell.running {
            self.target.cells.stop_ahead();
            return;
        }
        match cell.stopped {
            // Another thread follows the cell already.
            Some(_) if !cell.begun || cell.is_double_click() => return,
            Some(_) => {
                cell.stopped = Some(Stopped::Killed);
                self.target.kill();
                return;
            }
            None => {}
        }
        cell.stopped = Some(Stopped::Politely);
        cell.asked = Some(Instant::now());
        if self.target.interrupt() {
            return;
        }
        let watch = Watch {
            number: cell.number,
            cell: self.cell.clone(),
            target: self.target.clone(),
        };
        std::thread::spawn(move || watch.until_it_stops());
    }
}

/// Follows a cell that was asked to stop, until the engine does.
struct Watch {
    number: u64,
    cell: Arc<Mutex<Cell>>,
    target: Arc<Target>,
}

impl Watch {
    fn until_it_stops(&self) {
        let asked = Instant::now();
        loop {
            std::thread::sleep(REMINDER);
            let mut cell = lock(&self.cell);
            let is_ours = cell.running && cell.number == self.number;
            if !is_ours || cell.stopped != Some(Stopped::Politely) {
                return;
            }
            if cell.begun && asked.elapsed() >= PATIENCE {
                cell.stopped = Some(Stopped::Killed);
                self.target.kill();
                return;
            }
            if self.target.interrupt() {
                return;
            }
        }
    }
}

/// The processes that an interrupt reaches.
struct Target {
    cells: Box<dyn Cells>,
    instead: Mutex<Option<u32>>,
}

impl Target {
    fn interrupt(&self) -> bool {
        if let Some(group) = *lock(&self.instead) {
            signal(group, libc::SIGINT);
            return false;
        }
        self.cells.interrupt()
    }

    fn kill(&self) {
        match *lock(&self.instead) {
            Some(group) => signal(group, libc::SIGKILL),
            None => self.cells.kill(),
        }
    }
}

fn signal(group: u32, signal: libc::c_int) {
    // SAFETY: the group is not collected before `Instead` is dropped.
    unsafe { libc::kill(-(group as libc::pid_t), signal) };
}

/// Keeps interrupts from the cells until it is dropped: see [`Interrupter::instead`].
pub(crate) struct Instead(Arc<Target>);

impl Drop for Instead {
    fn drop(&mut self) {
        *lock(&self.0.instead) = None;
    }
}
