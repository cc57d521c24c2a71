//! SIGINT and SIGTERM: the first signal interrupts the running cell, the run ends with the exit code 128 plus
//! the number of the signal, and no file is left half written.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use taper_evaluator::evaluator::Interrupt;

/// The first signal received, 0 before that.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The number of signals received.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// The pipe to which the handler writes.
static WAKE: OnceLock<PipeWriter> = OnceLock::new();

/// The target that a signal interrupts now.
static TARGET: Mutex<Option<Arc<dyn Interrupt>>> = Mutex::new(None);

/// Returns the signal that asked this process to end, if there was one.
pub(crate) fn received() -> Option<i32> {
    Some(SIGNAL.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Makes SIGINT and SIGTERM interrupt `target` until the guard is dropped. If a signal has already been
/// received, interrupts `target` at once.
pub(crate) fn set_target(target: Arc<dyn Interrupt>) -> TargetGuard {
    *lock_target() = Some(target);
    if received().is_some() {
        interrupt_target();
    }
    TargetGuard
}

/// Removes the target when dropped.
pub(crate) struct TargetGuard;

impl Drop for TargetGuard {
    fn drop(&mut self) {
        *lock_target() = None;
    }
}

fn lock_target() -> MutexGuard<'static, Option<Arc<dyn Interrupt>>> {
    TARGET
        .lock()
        .expect("no code panics while it holds the lock")
}

/// A target that ends the process at once, for steps that can take minutes, cannot be interrupted and write
/// nothing, such as the start of the kernel.
pub(crate) struct EndProcess;

impl Interrupt for EndProcess {
    fn interrupt(&self) {
        std::process::exit(128 + received().unwrap_or(libc::SIGINT));
    }
}

fn interrupt_target() {
    let target = lock_target().clone();
    if let Some(target) = target {
        target.interrupt();
    }
}

/// Installs the handler of SIGINT and SIGTERM; further calls do nothing.
pub(crate) fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        // Without a pipe the signals keep their default action: they end the process.
        let Ok((reader, writer)) = std::io::pipe() else {
            return;
        };
        let _ = WAKE.set(writer);
        std::thread::spawn(move || forward(reader));
        let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: `on_signal` has the signature of a handler and is async-signal-safe.
            unsafe { libc::signal(signal, handler) };
        }
    });
}

/// Handles a signal. A handler may only use atomics and write a byte; [`forward`] does the rest. The second
/// signal restores the default action, so that the third one ends the process.
///
/// Neither call fails, so errno is unchanged for the code that the signal interrupted.
extern "C" fn on_signal(signal: libc::c_int) {
    let _ = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    if COUNT.fetch_add(1, Ordering::SeqCst) >= 1 {
        // SAFETY: `signal` is async-signal-safe, and SIG_DFL is a valid action of both signals.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    if let Some(mut pipe) = WAKE.get() {
        let _ = pipe.write(&[0]);
    }
}

/// Interrupts the target for each signal, on a thread of its own, where locking is allowed.
fn forward(mut signals: PipeReader) {
    while signals.read_exact(&mut [0]).is_ok() {
        interrupt_target();
    }
}
