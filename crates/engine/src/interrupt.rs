//! Stops a cell: an interrupt kills the compiler, or asks the process that runs the cell.

use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use taper_host::mutex::lock;

/// How often a cell that was asked to stop is asked again: it may have begun in the meantime.
const REMINDER: Duration = Duration::from_millis(100);
/// How long a cell may take to notice that it was asked to stop, until its wait for a future ends.
const UNTIL_NO_WAIT: Duration = Duration::from_secs(1);
/// How long it may take until it is left to its thread.
const UNTIL_LEFT: Duration = Duration::from_secs(3);
/// How long it may take until its process is killed.
const UNTIL_KILLED: Duration = Duration::from_secs(6);

/// What runs, and whether it was asked to stop.
#[derive(Clone, Default)]
pub(crate) struct Control(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Whether a cell is evaluated.
    is_busy: bool,
    compiler: Option<u32>,
    cells: Option<u32>,
    asked: Option<Instant>,
    reminded: Option<Instant>,
    /// Whether the cell that runs was left to its thread.
    is_left: bool,
    is_killed: bool,
    /// What is compiled ahead.
    ahead: Option<Control>,
}

/// What is done with a cell that does not notice that it was asked to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The wait for a future ends.
    StopWaiting,
    /// It is left to its thread, and another thread runs the next cell.
    Leave,
}

/// Interrupts the cell of an engine, from any thread.
#[derive(Clone)]
pub struct Interrupter(Control);

impl Interrupter {
    pub(crate) fn new(control: &Control) -> Interrupter {
        Interrupter(control.clone())
    }

    /// Asks the cell that is evaluated to stop. Its compiler is killed. If the cell does not stop within three seconds, it
    /// is left to its thread; if that is not possible, its process is killed. Stops what is compiled
    /// [ahead](crate::Ahead). Returns whether a cell is evaluated.
    pub fn interrupt(&self) -> bool {
        let mut state = lock(&self.0.0);
        state.stop_ahead();
        if !state.is_busy {
            return false;
        }
        // A second one, from an impatient user, counts as the first.
        state.asked.get_or_insert_with(Instant::now);
        if let Some(compiler) = state.compiler {
            signal(compiler, Signal::KILL);
        }
        if let Some(cells) = state.cells {
            signal(cells, Signal::INT);
        }
        true
    }

    /// Kills the process of the cell that runs.
    pub fn kill(&self) {
        let mut state = lock(&self.0.0);
        if let Some(cells) = state.cells {
            state.is_killed = true;
            signal(cells, Signal::KILL);
        }
    }
}

impl State {
    fn busy() -> State {
        State {
            is_busy: true,
            ..State::default()
        }
    }

    fn stop_ahead(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            Interrupter(ahead).interrupt();
        }
    }
}

impl Control {
    /// Returns the control of one evaluation, which is running.
    pub(crate) fn busy() -> Control {
        Control(Arc::new(Mutex::new(State::busy())))
    }

    /// Marks an evaluation as running until the result is dropped. Stops what is compiled ahead.
    pub(crate) fn begin(&self) -> Busy<'_> {
        let mut state = lock(&self.0);
        state.stop_ahead();
        *state = State::busy();
        Busy(self)
    }

    /// Stops what is compiled ahead, and sets what is compiled ahead now.
    pub(crate) fn set_ahead(&self, ahead: Option<Control>) {
        let mut state = lock(&self.0);
        state.stop_ahead();
        state.ahead = ahead;
    }

    /// Marks a compiler as running until the result is dropped. An interrupt kills its process group.
    pub(crate) fn compile(&self, group: u32) -> Compiling<'_> {
        let mut state = lock(&self.0);
        state.compiler = Some(group);
        if state.asked.is_some() {
            signal(group, Signal::KILL);
        }
        Compiling(self)
    }

    /// Sets the process group of the cell that runs, which receives interrupts.
    pub(crate) fn set_cells(&self, group: Option<u32>) {
        let mut state = lock(&self.0);
        state.cells = group;
        (state.reminded, state.is_left) = (None, false);
        if let (Some(group), true) = (group, state.asked.is_some()) {
            signal(group, Signal::INT);
        }
    }

    /// Returns whether the user has asked the cell to stop.
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        lock(&self.0).asked.is_some()
    }

    /// Returns whether the process of the cell was killed.
    pub(crate) fn is_killed(&self) -> bool {
        lock(&self.0).is_killed
    }

    /// Interrupts the running cell again, if it was asked to stop, or kills its process after a long time. Returns what
    /// else is to be done with it now.
    pub(crate) fn insist(&self) -> Option<Step> {
        let mut state = lock(&self.0);
        let (cells, asked) = (state.cells?, state.asked?);
        let waited = asked.elapsed();
        if waited >= UNTIL_KILLED {
            state.is_killed = true;
            signal(cells, Signal::KILL);
            return None;
        }
        if state.is_left {
            return None;
        }
        if waited >= UNTIL_LEFT {
            state.is_left = true;
            return Some(Step::Leave);
        }
        if state.reminded.is_some_and(|last| last.elapsed() < REMINDER) {
            return None;
        }
        state.reminded = Some(Instant::now());
        signal(cells, Signal::INT);
        (waited >= UNTIL_NO_WAIT).then_some(Step::StopWaiting)
    }
}

fn signal(group: u32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group.cast_signed()) {
        // A group that has ended needs no signal.
        let _ = kill_process_group(group, signal);
    }
}

/// See [`Control::begin`].
pub(crate) struct Busy<'a>(&'a Control);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        state.is_busy = false;
        state.cells = None;
    }
}

/// See [`Control::compile`].
pub(crate) struct Compiling<'a>(&'a Control);

impl Drop for Compiling<'_> {
    fn drop(&mut self) {
        lock(&self.0.0).compiler = None;
    }
}
