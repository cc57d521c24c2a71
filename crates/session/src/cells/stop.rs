//! Ends cells that print, sleep or wait, and never ask whether they were interrupted.
//!
//! An interrupt is a signal, which sets a flag in `taper`. If the cell still runs a second later, its next write to a
//! standard stream, its next sleep, or the call in which it waits (`waits`) fails. Rust's library panics or returns the
//! error then: the cell ends, and variables of other cells are kept.
//!
//! A cell that was left to its thread, because it did not stop, fails in the same way as soon as it does any of this.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How long a cell may take to notice an interrupt.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a cell that was left may go on after a failure. Then it is a loop that does not look at them.
const FAILURES: u32 = 1000;

static CELL_RUNS: AtomicBool = AtomicBool::new(false);

/// When the cell was interrupted first, in milliseconds of the monotonic clock; 0 if it was not.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// The thread that runs the cells, as libc names it.
static THREAD: AtomicUsize = AtomicUsize::new(0);

/// How many threads have run cells, one after the other.
static TURNS: AtomicU32 = AtomicU32::new(0);

/// The handler of the signal that was installed before.
static PREVIOUS: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

thread_local! {
    /// Which of the threads that run cells this is; 0 for all other threads.
    static TURN: Cell<u32> = const { Cell::new(0) };
    /// How often something has failed since the cell was left.
    static FAILED: Cell<u32> = const { Cell::new(0) };
}

/// Notes interrupts from now on, and passes them on to the handler that was installed before. The thread that calls
/// this is the one that runs the cells.
pub(super) fn install() {
    take_over();
    install_handler();
}

/// Lets a library install its handler of interrupts, to which ours passes them on.
pub(super) fn with_handler(install: impl FnOnce()) {
    // SAFETY: the handler was installed before ours.
    unsafe { libc::signal(libc::SIGINT, PREVIOUS.load(Ordering::Relaxed)) };
    install();
    install_handler();
}

fn install_handler() {
    // SAFETY: zero is a valid value of each field. The handler does only what is allowed in one: it reads a clock and atomic
    // variables, and sends a signal. Without `SA_RESTART`, the call in which the thread waits returns.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut previous: libc::sigaction = std::mem::zeroed();
        let handler = on_interrupt as extern "C" fn(libc::c_int);
        action.sa_sigaction = handler as libc::sighandler_t;
        libc::sigaction(libc::SIGINT, &action, &mut previous);
        PREVIOUS.store(previous.sa_sigaction, Ordering::Relaxed);
    }
}

/// Makes the calling thread the one that runs the cells.
pub(super) fn take_over() {
    set_cell_runs(false);
    TURN.set(TURNS.fetch_add(1, Ordering::Relaxed) + 1);
    THREAD.store(this_thread(), Ordering::Relaxed);
}

extern "C" fn on_interrupt(signal: libc::c_int) {
    if CELL_RUNS.load(Ordering::Relaxed) {
        let _ = ASKED.compare_exchange(0, now(), Ordering::Relaxed, Ordering::Relaxed);
    }
    // The system chooses the thread.
    let thread = THREAD.load(Ordering::Relaxed);
    if thread != this_thread() {
        // SAFETY: a thread that runs cells never ends.
        unsafe { libc::pthread_kill(thread as libc::pthread_t, signal) };
    }
    let previous = PREVIOUS.load(Ordering::Relaxed);
    if ![libc::SIG_DFL, libc::SIG_IGN, libc::SIG_ERR].contains(&previous) {
        // SAFETY: the field contained the address of a handler, which has this type.
        let previous: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(previous) };
        previous(signal);
    }
}

/// Sets whether a cell runs.
pub(super) fn set_cell_runs(cell_runs: bool) {
    ASKED.store(0, Ordering::Relaxed);
    CELL_RUNS.store(cell_runs, Ordering::Relaxed);
}

/// Returns whether the calling thread is the one that runs the cells.
pub(super) fn is_cell_thread() -> bool {
    is_of_cells() && TURN.get() == TURNS.load(Ordering::Relaxed)
}

/// Returns whether the calling thread runs the cells, or a cell that was left to it.
pub(super) fn is_of_cells() -> bool {
    TURN.get() != 0
}

/// Returns whether the calling thread runs a cell that was left to it.
pub(super) fn is_left() -> bool {
    is_of_cells() && !is_cell_thread()
}

/// Returns whether what this thread is about to do fails: see [`fails`].
pub(super) fn is_due() -> bool {
    let asked = ASKED.load(Ordering::Relaxed);
    let is_late = || now().saturating_sub(asked) > PATIENCE.as_millis() as u64;
    is_left() || (asked > 0 && is_late() && is_cell_thread())
}

/// Returns whether what this thread is about to do fails, because the cell was asked to stop long ago. What follows
/// does not fail, unless the cell was left: it may be the report of a panic.
pub(super) fn fails() -> bool {
    let fails = is_due();
    if fails && is_left() {
        FAILED.set(FAILED.get() + 1);
        while FAILED.get() > FAILURES {
            // SAFETY: the call has no conditions.
            unsafe { libc::pause() };
        }
    } else if fails {
        ASKED.store(0, Ordering::Relaxed);
    }
    fails
}

/// Returns the time of a clock after a while.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn later(clock: libc::clockid_t, wait: Duration) -> libc::timespec {
    let mut time = read(clock);
    let nanoseconds = time.tv_nsec as u64 + u64::from(wait.subsec_nanos());
    time.tv_sec += (wait.as_secs() + nanoseconds / 1_000_000_000) as libc::time_t;
    time.tv_nsec = (nanoseconds % 1_000_000_000) as libc::c_long;
    time
}

fn this_thread() -> usize {
    // SAFETY: the call has no conditions.
    unsafe { libc::pthread_self() as usize }
}

fn now() -> u64 {
    let time = read(libc::CLOCK_MONOTONIC);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills the structure.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time
}
