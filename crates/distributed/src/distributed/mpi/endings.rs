//! How a rank ends: with the program, by a signal, after a failure, or because another one hangs.

use crate::distributed::place::place;
use crate::distributed::world::World;
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Whether this process was asked to end.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Prints the message and ends all ranks.
pub(super) fn end_all(message: &str) {
    eprintln!("{message}");
    // SAFETY: MPI is initialized.
    unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
}

/// Installs the handlers of the process's end and of the signals that ask for it.
pub(super) fn when_the_process_ends() {
    extern "C" fn ended(status: c_int, _: *mut c_void) {
        if status == 0 {
            // SAFETY: MPI is initialized, and no call of it follows.
            unsafe { ffi::MPI_Finalize() };
            return;
        }
        // Without this, the other ranks would wait for this one.
        let mut rank = 0;
        // SAFETY: MPI is initialized, and the pointer is valid.
        unsafe { ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank) };
        let (step, advice) = place();
        end_all(&format!(
            "rank {rank} ended with status {status}{step}\n{advice}"
        ));
    }
    extern "C" fn asked(_: c_int) {
        if STOP.swap(true, Ordering::Relaxed) {
            // SAFETY: `_exit` is async-signal-safe.
            unsafe { libc::_exit(130) };
        }
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
        }
        // SAFETY: the handler has the signature that the function expects, and needs no argument.
        unsafe { on_exit(ended, std::ptr::null_mut()) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        // The status is not known here.
        extern "C" fn ended_somehow() {
            ended(0, std::ptr::null_mut());
        }
        // SAFETY: the handler has the signature that the function expects.
        unsafe { libc::atexit(ended_somehow) };
    }
    let handler = asked as extern "C" fn(c_int);
    // mpirun forwards the last one, but kills the ranks half a second after one of the others.
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1] {
        // SAFETY: the handler has the signature of a signal handler and is async-signal-safe.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// A thread that ends this process if a call of MPI takes too long: another rank can hang during the call.
pub(super) struct Watchdog {
    origin: Instant,
    /// When the current call began, in milliseconds since `origin`; 0 between calls.
    began: Arc<AtomicU64>,
}

impl Watchdog {
    pub(super) fn start(timeout: Duration, world: World) -> Self {
        let (origin, began) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let watched = began.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(500));
                let began = watched.load(Ordering::Relaxed);
                let now = origin.elapsed().as_millis() as u64;
                if began > 0 && now.saturating_sub(began) > timeout.as_millis() as u64 {
                    let (step, advice) = place();
                    let (rank, seconds) = (world.rank, timeout.as_secs());
                    eprintln!(
                        "rank {rank} waited for {seconds} s in a sum over all ranks{step}: one of them hangs\n{advice}"
                    );
                    // SAFETY: it ends the process; MPI serves one thread, which is in that call. The
                    // launcher ends the other ranks.
                    unsafe { libc::_exit(1) };
                }
            }
        });
        Self { origin, began }
    }

    /// Makes a call, and stores when it began, for the thread.
    pub(super) fn watch(&self, call: impl FnOnce()) {
        let now = self.origin.elapsed().as_millis() as u64;
        self.began.store(now.max(1), Ordering::Relaxed);
        call();
        self.began.store(0, Ordering::Relaxed);
    }
}
