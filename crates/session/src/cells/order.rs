//! Keeps standard output and standard error of the cells process in the order of writing.
//!
//! They are two pipes, and a reader that finds bytes in both cannot tell which came first. So a
//! write to one waits until the other is empty: they never hold bytes at the same time. To see
//! every write, this program defines the symbol `write`, and exports it so that the cells' standard
//! library links to it (`cli/build.rs`). On systems where that is not possible, the order is the one
//! that the reader sees, which is nearly always right.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interpose {
    use crate::cells::identity::identity;
    use crate::cells::{stop, threads, waits};
    use std::ffi::{c_int, c_long, c_void};
    use std::os::fd::BorrowedFd;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI32, Ordering};
    use std::time::{Duration, Instant};
    use taper_evaluator::Stream;

    /// The duplicate of standard output; negative until the order is to be kept.
    static OUTPUT: AtomicI32 = AtomicI32::new(-1);

    /// How long a write waits for the reader.
    const TIMEOUT: Duration = Duration::from_secs(1);

    /// The identities of the pipes for standard output and standard error.
    static STREAMS: OnceLock<[(u64, u64); 2]> = OnceLock::new();

    pub(crate) fn keep_order(output: c_int) {
        let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
        if let (Ok(stdout), Ok(stderr)) = (identity(stdout), identity(stderr)) {
            let _ = STREAMS.set([stdout, stderr]);
        }
        OUTPUT.store(output, Ordering::Relaxed);
    }

    /// Replaces libc's `write`: waits for the reader of the other stream, then writes.
    ///
    /// # Safety
    ///
    /// As for `write(2)`: `buffer` points to `count` readable bytes.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
        #[cfg(feature = "evcxr")]
        let joined = matches!((fd, count), (1 | 2, 1..))
            .then(crate::cells::adapter::adapter)
            .flatten()
            // SAFETY: the caller guarantees that this many bytes can be read.
            .map(|adapter| (adapter, unsafe { bytes(buffer, count) }));
        #[cfg(feature = "evcxr")]
        if joined.is_some_and(|(adapter, text)| (adapter.write_mark)(text)) {
            return count as isize;
        }
        if matches!(fd, 1 | 2) && stop::fails() {
            // SAFETY: errno is the calling thread's.
            unsafe { *libc::__errno_location() = libc::ECANCELED };
            return -1;
        }
        #[cfg(feature = "evcxr")]
        if joined.is_some_and(|(adapter, text)| (adapter.write_instead)(fd, text)) {
            return count as isize;
        }
        let output = OUTPUT.load(Ordering::Relaxed);
        if output >= 0 {
            if let (1 | 2, Some(cell)) = (fd, threads::earlier_cell_of_this()) {
                // SAFETY: the caller guarantees that this many bytes can be read.
                let text = unsafe { std::slice::from_raw_parts(buffer.cast(), count) };
                if let Some(sent) = send_to_cell(cell, fd, text) {
                    return sent as isize;
                }
            }
            match fd {
                2 => wait_until_read(rustix::stdio::stdout()),
                _ if fd == 1 || fd == output => wait_until_read(rustix::stdio::stderr()),
                _ => {}
            }
        }
        let call = libc::SYS_write;
        // SAFETY: the caller guarantees what `write(2)` requires; result and errno are the call's.
        waits::wait(|| unsafe { libc::syscall(call, fd as c_long, buffer, count) as isize })
    }

    /// # Safety
    ///
    /// As for `write(2)`.
    #[cfg(feature = "evcxr")]
    unsafe fn bytes<'a>(buffer: *const c_void, count: usize) -> &'a [u8] {
        // SAFETY: guaranteed by the caller.
        unsafe { std::slice::from_raw_parts(buffer.cast(), count) }
    }

    /// Sends what a thread of an earlier cell prints, unless a cell has put a file in the place of the stream. Returns how
    /// many bytes were sent.
    fn send_to_cell(cell: u32, fd: c_int, text: &[u8]) -> Option<usize> {
        // SAFETY: the descriptor is only inspected, which fails if it is not open.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        let [output, errors] = STREAMS.get()?;
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

/// Keeps the order of this process's two output streams from now on. `output` is a duplicate of standard
/// output, to which [`write()`] writes.
pub(crate) fn keep_order(output: RawFd) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    interpose::keep_order(output);
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = output;
}

/// Writes through the symbol that keeps the order, and returns the number of bytes written.
pub(crate) fn write(output: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    // rustix would call the kernel itself, past the symbol that keeps the order.
    // SAFETY: the descriptor is open and the bytes are readable.
    let count = unsafe { libc::write(output.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(count).map_err(|_| {
        let error = std::io::Error::last_os_error();
        rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO)
    })
}
