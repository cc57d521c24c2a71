//! Standard input of the cells: each line that a cell reads is requested from the user.
//!
//! Descriptor 0 is the null device, and this program defines and exports the symbol `read`, as it does `write`
//! ([`order`](super::order)). A read of descriptor 0 asks the engine, which passes the question on to the session, and waits
//! for the answer. Programs that a cell starts and readers that do not call `read` reach the end of the file at once, as
//! does every reader on systems where the symbol cannot be defined.

use super::identity::identity;
use super::library;
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::stdio;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, OnceLock};
use taper_engine::Answer;
use taper_host::mutex::lock;

static INPUT: OnceLock<Input> = OnceLock::new();

struct Input {
    /// Distinguishes the null device from a file that a cell has put in its place.
    null: (u64, u64),
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    cell_runs: bool,
    /// Whether the user has interrupted the cell while it waited.
    interrupted: bool,
    /// The rest of the last answer.
    pending: Vec<u8>,
}

/// Makes descriptor 0, which is the null device, the standard input of the cells.
pub(super) fn attach() -> Result<()> {
    let _ = INPUT.set(Input {
        null: identity(stdio::stdin()).context("cannot inspect the null device")?,
        state: Mutex::default(),
    });
    Ok(())
}

/// Sets whether a cell runs. At the end of a cell, waits until a thread that has requested a line has
/// received it.
pub(super) fn set_cell_runs(cell_runs: bool) {
    if let Some(input) = INPUT.get() {
        let mut state = lock(&input.state);
        *state = State {
            cell_runs,
            ..State::default()
        };
    }
}

impl Input {
    /// Returns whether descriptor 0 is still the null device.
    fn is_in_place(&self) -> bool {
        // SAFETY: the descriptor is only inspected, which fails if it is not open.
        let stdin = unsafe { BorrowedFd::borrow_raw(0) };
        identity(stdin) == Ok(self.null)
    }

    /// Returns at most `count` bytes of the user's line, and none at the end of the file.
    fn take(&self, count: usize) -> rustix::io::Result<Vec<u8>> {
        let mut state = lock(&self.state);
        if state.pending.is_empty() && state.cell_runs && !state.interrupted {
            library::flush();
            match taper_engine::ask() {
                Answer::Line(line) => state.pending = (line + "\n").into_bytes(),
                Answer::Interrupted => state.interrupted = true,
                Answer::End => {}
            }
        }
        if state.interrupted {
            return Err(Errno::CANCELED);
        }
        let count = count.min(state.pending.len());
        Ok(state.pending.drain(..count).collect())
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interpose {
    use super::INPUT;
    use crate::cells::waits;
    use std::ffi::{c_int, c_long, c_void};

    /// Replaces libc's `read`: a read of the cell's standard input requests a line.
    ///
    /// # Safety
    ///
    /// As for `read(2)`: `buffer` points to `count` writable bytes.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
        let input = (fd == 0).then(|| INPUT.get()).flatten();
        let Some(input) = input.filter(|input| input.is_in_place()) else {
            let call = libc::SYS_read;
            // SAFETY: the caller guarantees what `read(2)` requires; result and errno are the call's.
            let read = || unsafe { libc::syscall(call, fd as c_long, buffer, count) as isize };
            return waits::wait(read);
        };
        match input.take(count) {
            Ok(bytes) => {
                // SAFETY: there are at most `count` bytes.
                unsafe { buffer.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
                bytes.len() as isize
            }
            Err(error) => {
                // SAFETY: errno is the calling thread's.
                unsafe { *libc::__errno_location() = error.raw_os_error() };
                -1
            }
        }
    }
}
