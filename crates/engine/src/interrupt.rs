//! Stops a cell: an interrupt kills the compiler, or asks the process that runs the cell.

use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use taper_host::mutex::lock;

/// How long a cell may take to notice that it was asked to stop.
const PATIENCE: Duration = Duration::from_secs(3);

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
    is_killed: bool,
    /// What is compiled ahead.
    ahead: Option<Control>,
}

/// Interrupts the cell of an engine, from any thread.
#[derive(Clone)]
pub struct Interrupter(Control);

impl Interrupter {
    pub(crate) fn new(control: &Control) -> Interrupter {
        Interrupter(control.clone())
    }

    /// Asks the cell that is evaluated to stop. Its compiler is killed; its process is killed if the cell does
    /// not stop within three seconds. Stops what is compiled [ahead](crate::Ahead).
    pub fn interrupt(&self) {
        let mut state = lock(&self.0.0);
        state.stop_ahead();
        if !state.is_busy {
            return;
        }
        // A second one, from an impatient user, counts as the first.
        state.asked.get_or_insert_with(Instant::now);
        if let Some(compiler) = state.compiler {
            signal(compiler, Signal::KILL);
        }
        if let Some(cells) = state.cells {
            signal(cells, Signal::INT);
        }
    }
}

impl Interrupter {
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

    /// Interrupts the running cell again, or kills its process if it was asked long ago.
    pub(crate) fn remind(&self) {
        let mut state = lock(&self.0);
        let (Some(cells), Some(asked)) = (state.cells, state.asked) else {
            return;
        };
        if asked.elapsed() < PATIENCE {
            signal(cells, Signal::INT);
        } else {
            state.is_killed = true;
            signal(cells, Signal::KILL);
        }
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
