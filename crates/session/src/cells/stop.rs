//! Ends cells that print or sleep, and never ask whether they were interrupted.
//!
//! An interrupt is a signal, which sets a flag in `taper`. If the cell still runs a second later, its next write to a
//! standard stream, or its next sleep, fails. Rust's library panics then: the cell ends, and variables of other
//! cells are kept.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How long a cell may take to notice an interrupt.
const PATIENCE: Duration = Duration::from_secs(1);

static CELL_RUNS: AtomicBool = AtomicBool::new(false);

/// When the cell was interrupted first, in milliseconds of the monotonic clock; 0 if it was not.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// The thread that runs the cells, as libc names it.
static THREAD: AtomicUsize = AtomicUsize::new(0);

/// The handler of the signal that was installed before.
static PREVIOUS: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// Notes interrupts from now on, and passes them on to the handler that was installed before. The thread that calls
/// this is the one that runs the cells.
pub(super) fn install() {
    THREAD.store(this_thread(), Ordering::Relaxed);
    let handler = on_interrupt as extern "C" fn(libc::c_int);
    // SAFETY: the handler does only what is allowed in one: it reads a clock and atomic variables.
    let previous = unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
    PREVIOUS.store(previous, Ordering::Relaxed);
}

extern "C" fn on_interrupt(signal: libc::c_int) {
    if CELL_RUNS.load(Ordering::Relaxed) {
        let _ = ASKED.compare_exchange(0, now(), Ordering::Relaxed, Ordering::Relaxed);
    }
    let previous = PREVIOUS.load(Ordering::Relaxed);
    if ![libc::SIG_DFL, libc::SIG_IGN, libc::SIG_ERR].contains(&previous) {
        // SAFETY: `signal` returned the address of a handler, which has this type.
        let previous: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(previous) };
        previous(signal);
    }
}

/// Sets whether a cell runs.
pub(super) fn set_cell_runs(cell_runs: bool) {
    ASKED.store(0, Ordering::Relaxed);
    CELL_RUNS.store(cell_runs, Ordering::Relaxed);
}

/// Returns whether a cell runs.
#[cfg(feature = "evcxr")]
pub(super) fn cell_runs() -> bool {
    CELL_RUNS.load(Ordering::Relaxed)
}

/// Returns whether the calling thread is the one that runs the cells.
pub(super) fn is_cell_thread() -> bool {
    this_thread() == THREAD.load(Ordering::Relaxed)
}

/// Returns whether what this thread is about to do fails, because the cell was asked to stop long ago. What follows
/// does not fail: it may be the report of a panic.
pub(super) fn fails() -> bool {
    let asked = ASKED.load(Ordering::Relaxed);
    let is_due = asked > 0 && now().saturating_sub(asked) > PATIENCE.as_millis() as u64;
    let fails = is_due && is_cell_thread();
    if fails {
        ASKED.store(0, Ordering::Relaxed);
    }
    fails
}

fn this_thread() -> usize {
    // SAFETY: the call has no conditions.
    unsafe { libc::pthread_self() as usize }
}

fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interpose {
    use libc::{c_int, clockid_t, timespec};

    /// Replaces libc's `clock_nanosleep`, with which threads sleep.
    ///
    /// # Safety
    ///
    /// As for `clock_nanosleep(2)`: the pointers are valid, and `left` may be null.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn clock_nanosleep(
        clock: clockid_t,
        flags: c_int,
        request: *const timespec,
        left: *mut timespec,
    ) -> c_int {
        if super::fails() {
            return libc::ECANCELED;
        }
        let call = libc::SYS_clock_nanosleep;
        // SAFETY: the caller guarantees what the call requires.
        match unsafe { libc::syscall(call, clock, flags, request, left) } {
            0 => 0,
            // SAFETY: errno is the calling thread's.
            _ => unsafe { *libc::__errno_location() },
        }
    }
}
