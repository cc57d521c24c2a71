//! Ctrl-C: the first stops the cell, the run ends with exit code 130, and a file is whole.

use std::io::{PipeReader, Read};
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use taper_evaluator::evaluator::Interrupt;

/// The first signal that came, 0 while none has.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);
/// The end of the pipe that the handler writes to.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// What a signal stops at present.
static TARGET: Mutex<Option<Arc<dyn Interrupt>>> = Mutex::new(None);

/// The signal that asked this process to end, if one has.
pub fn received() -> Option<i32> {
    Some(SIGNAL.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// From here on SIGINT and SIGTERM go to `target`, until the guard is dropped. A signal that came
/// earlier reaches it at once.
pub fn aim(target: Arc<dyn Interrupt>) -> Aim {
    *TARGET.lock().expect("no panic while aiming") = Some(target);
    if received().is_some() {
        interrupt_target();
    }
    Aim
}

/// Takes the target away when dropped.
pub struct Aim;

impl Drop for Aim {
    fn drop(&mut self) {
        *TARGET.lock().expect("no panic while aiming") = None;
    }
}

/// The target while a kernel starts, which takes up to minutes and cannot be asked to stop: nothing
/// has been run and nothing is being written, so the process ends at once.
pub struct EndProcess;

impl Interrupt for EndProcess {
    fn interrupt(&self) {
        std::process::exit(128 + received().unwrap_or(libc::SIGINT));
    }
}

fn interrupt_target() {
    let target = TARGET.lock().expect("no panic while aiming").clone();
    if let Some(target) = target {
        target.interrupt();
    }
}

/// Begins to take SIGINT and SIGTERM; further calls do nothing.
pub fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        // Without a pipe the signals keep their usual meaning: they end the process.
        let Ok((reader, writer)) = std::io::pipe() else {
            return;
        };
        WAKE.store(writer.into_raw_fd(), Ordering::SeqCst);
        std::thread::spawn(move || forward(reader));
        let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: the handler does only what a signal handler may.
            unsafe { libc::signal(signal, handler) };
        }
    });
}

/// The handler. It may only store and write a byte; the rest happens in [`forward`]. The third
/// signal is left to the system, for the case that nothing else helps.
extern "C" fn on_signal(signal: libc::c_int) {
    let _ = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    // SAFETY: write and signal are async-signal-safe, and errno is put back for the code that the
    // signal interrupted.
    unsafe {
        let errno = *errno();
        if COUNT.fetch_add(1, Ordering::SeqCst) >= 1 {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::write(WAKE.load(Ordering::SeqCst), [0u8].as_ptr().cast(), 1);
        *self::errno() = errno;
    }
}

#[cfg(target_os = "linux")]
unsafe fn errno() -> *mut libc::c_int {
    // SAFETY: always callable.
    unsafe { libc::__errno_location() }
}

#[cfg(not(target_os = "linux"))]
unsafe fn errno() -> *mut libc::c_int {
    // SAFETY: always callable.
    unsafe { libc::__error() }
}

/// Passes on each signal, on a thread of its own, where locks may be taken.
fn forward(mut signals: PipeReader) {
    while signals.read_exact(&mut [0]).is_ok() {
        interrupt_target();
    }
}
