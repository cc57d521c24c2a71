//! Keeps standard output and standard error of the cells process in the order of writing.
//!
//! They are two pipes, and a reader that finds bytes in both cannot tell which came first. So a
//! write to one waits until the other is empty: they never hold bytes at the same time. To see
//! every write, this program defines the symbol `write`, and exports it so that the cells' standard
//! library links to it (`cli/build.rs`). On systems where that is not possible, the order is the one
//! that the reader sees, which is nearly always right.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interpose {
    use std::ffi::{c_int, c_long, c_void};
    use std::os::fd::BorrowedFd;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    static IN_ORDER: AtomicBool = AtomicBool::new(false);

    /// How long a write waits for the reader.
    const TIMEOUT: Duration = Duration::from_secs(1);

    pub(crate) fn keep_order() {
        IN_ORDER.store(true, Ordering::Relaxed);
    }

    /// Replaces libc's `write`: waits for the reader of the other stream, then writes.
    ///
    /// # Safety
    ///
    /// As for `write(2)`: `buffer` points to `count` readable bytes.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
        if IN_ORDER.load(Ordering::Relaxed) {
            match fd {
                1 => wait_until_read(rustix::stdio::stderr()),
                2 => wait_until_read(rustix::stdio::stdout()),
                _ => {}
            }
        }
        // SAFETY: the caller guarantees what `write(2)` requires; result and errno are the call's.
        unsafe { libc::syscall(libc::SYS_write, fd as c_long, buffer, count) as isize }
    }

    fn wait_until_read(stream: BorrowedFd) {
        if unread(stream) == 0 {
            return;
        }
        let start = Instant::now();
        while unread(stream) > 0 && start.elapsed() < TIMEOUT {
            std::thread::yield_now();
        }
    }

    /// Returns the number of bytes in the pipe, or 0 if the stream is not a pipe.
    fn unread(stream: BorrowedFd) -> u64 {
        rustix::io::ioctl_fionread(stream).unwrap_or(0)
    }
}

/// Keeps the order of this process's two output streams from now on.
pub(crate) fn keep_order() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    interpose::keep_order();
}
