//! Keeps standard output and standard error of the cells process in the order of writing.
//!
//! They are two pipes, and a reader that finds bytes in both cannot tell which came first. So a
//! write to one waits until the other has been read empty: at no moment do both hold bytes. To see
//! every write, our program has a function `write` of its own, and the linker makes it the one that
//! the cells' standard library finds (`build.rs`). Where that cannot be had, the order is what the
//! reader sees, which is nearly always right.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interpose {
    use std::ffi::{c_int, c_long, c_void};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    static IN_ORDER: AtomicBool = AtomicBool::new(false);

    /// A reader that does not read for so long is not waited for.
    const PATIENCE: Duration = Duration::from_secs(1);

    pub(crate) fn keep_order() {
        IN_ORDER.store(true, Ordering::Relaxed);
    }

    /// libc's `write`, with the wait before it.
    ///
    /// # Safety
    /// That of `write(2)`: `buffer` points to `count` bytes that can be read.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
        if IN_ORDER.load(Ordering::Relaxed) {
            match fd {
                1 => wait_until_read(2),
                2 => wait_until_read(1),
                _ => {}
            }
        }
        // SAFETY: the caller's promise is passed on unchanged; the result and errno are the call's.
        unsafe { libc::syscall(libc::SYS_write, fd as c_long, buffer, count) as isize }
    }

    fn wait_until_read(fd: c_int) {
        if unread(fd) == 0 {
            return;
        }
        let start = Instant::now();
        while unread(fd) > 0 && start.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }

    /// How many bytes lie in the pipe; 0 if it is no pipe.
    fn unread(fd: c_int) -> c_int {
        let mut count: c_int = 0;
        // SAFETY: FIONREAD stores one c_int.
        match unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut count) } {
            0 => count,
            _ => 0,
        }
    }
}

/// From here on this process's two output streams keep their order.
pub(crate) fn keep_order() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    interpose::keep_order();
}
