//! Keeps standard output and standard error of the cells process in the order of writing.
//!
//! They are two pipes, and a reader that finds bytes in both cannot tell which came first. So a
//! write to one waits until the other is empty: they never hold bytes at the same time. To see
//! every write, this program defines the symbol `write`, and exports it so that the cells' standard
//! library links to it (`cli/build.rs`). On systems where that is not possible, the order is the one
//! that the reader sees, which is nearly always right.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interpose {
    use crate::cells::identity::identity;
    use crate::cells::{stop, threads, waits};
    use std::ffi::{c_int, c_long, c_void};
    use std::os::fd::BorrowedFd;
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};
    use taper_evaluator::Stream;

    /// How long a write waits for the reader.
    const TIMEOUT: Duration = Duration::from_secs(1);

    /// The identities of the pipes for standard output and standard error, once the order is to be kept.
    static STREAMS: OnceLock<[(u64, u64); 2]> = OnceLock::new();

    pub(crate) fn keep_order() {
        let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
        if let (Ok(stdout), Ok(stderr)) = (identity(stdout), identity(stderr)) {
            let _ = STREAMS.set([stdout, stderr]);
        }
    }

    /// Replaces libc's `write`: waits for the reader of the other stream, then writes.
    ///
    /// # Safety
    ///
    /// As for `write(2)`: `buffer` points to `count` readable bytes.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
        if matches!(fd, 1 | 2) && stop::fails() {
            // SAFETY: errno is the calling thread's.
            unsafe { *libc::__errno_location() = libc::ECANCELED };
            return -1;
        }
        if let (1 | 2, Some(streams)) = (fd, STREAMS.get()) {
            if let Some(cell) = threads::earlier_cell_of_this() {
                // SAFETY: the caller guarantees that this many bytes can be read.
                let text = unsafe { std::slice::from_raw_parts(buffer.cast(), count) };
                if let Some(sent) = send_to_cell(streams, cell, fd, text) {
                    return sent as isize;
                }
            }
            wait_until_read(match fd {
                1 => rustix::stdio::stderr(),
                _ => rustix::stdio::stdout(),
            });
        }
        let call = libc::SYS_write;
        // SAFETY: the caller guarantees what `write(2)` requires; result and errno are the call's.
        waits::wait(|| unsafe { libc::syscall(call, fd as c_long, buffer, count) as isize })
    }

    /// Sends what a thread of an earlier cell prints, unless a cell has put a file in the place of the stream. Returns how
    /// many bytes were sent.
    fn send_to_cell(streams: &[(u64, u64); 2], cell: u32, fd: c_int, text: &[u8]) -> Option<usize> {
        // SAFETY: the descriptor is only inspected, which fails if it is not open.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        let [output, errors] = streams;
        let (stream, ours) = match fd {
            1 => (Stream::Stdout, output),
            _ => (Stream::Stderr, errors),
        };
        if identity(file).as_ref() != Ok(ours) {
            return None;
        }
        taper_engine::send_printed(cell, stream, text)
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
