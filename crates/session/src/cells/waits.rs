//! Calls in which a cell waits, for a connection, a program, a thread, a file or the time: after an interrupt they fail, as
//! its next write does ([`super::stop`]). Rust's library returns the error or panics; the cell ends, and
//! variables of other cells are kept.
//!
//! This program defines the symbols of these functions, as it does `write` ([`order`](super::order)). An interrupt wakes the
//! thread, because the handler of the signal is installed without `SA_RESTART`. What waits for another thread with a lock,
//! a channel or a condition does not return from it: such a cell is left to its thread.

use super::real::Real;
use super::{callers, stop};
use libc::{
    c_char, c_int, c_void, clockid_t, id_t, idtype_t, iovec, mode_t, msghdr, nfds_t, pid_t, pollfd,
    pthread_t, siginfo_t, size_t, sockaddr, socklen_t, ssize_t, timespec,
};
use std::time::Duration;

/// How often a thread that waits for another one looks whether it was interrupted: that wait does not end at a signal.
const LOOK: Duration = Duration::from_millis(100);

/// Makes a call that may wait. Fails if a signal ends it and the cell was interrupted long ago.
pub(super) fn wait<R: From<i8> + PartialEq>(call: impl FnOnce() -> R) -> R {
    let failed = R::from(-1);
    if !stop::is_left() {
        let result = call();
        // SAFETY: errno is the calling thread's.
        let is_interrupted = unsafe { *libc::__errno_location() } == libc::EINTR;
        if result != failed || !is_interrupted || !fails() {
            return result;
        }
    }
    // SAFETY: errno is the calling thread's.
    unsafe { *libc::__errno_location() = libc::ECANCELED };
    failed
}

/// Returns whether what this thread waits for fails: this program's own waits do not.
fn fails() -> bool {
    stop::is_due() && callers::is_rust() && stop::fails()
}

macro_rules! replace {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        /// Replaces libc's function of this name.
        ///
        /// # Safety
        ///
        /// As for that function.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            static REAL: Real = Real::new(match std::ffi::CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            });
            type Function = unsafe extern "C" fn($($kind),*) -> $result;
            // SAFETY: the function has this type.
            let call: Function = unsafe { std::mem::transmute(REAL.address()) };
            // SAFETY: the caller guarantees what the function requires.
            wait(|| unsafe { call($($argument),*) })
        }
    )*};
}

replace! {
    fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    fn flock(fd: c_int, operation: c_int) -> c_int;
    fn poll(polled: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    fn ppoll(polled: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const c_void) -> c_int;
    fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    fn recv(fd: c_int, buffer: *mut c_void, length: size_t, flags: c_int) -> ssize_t;
    fn recvfrom(fd: c_int, buffer: *mut c_void, length: size_t, flags: c_int, from: *mut sockaddr, size: *mut socklen_t) -> ssize_t;
    fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    fn send(fd: c_int, buffer: *const c_void, length: size_t, flags: c_int) -> ssize_t;
    fn sendto(fd: c_int, buffer: *const c_void, length: size_t, flags: c_int, to: *const sockaddr, size: socklen_t) -> ssize_t;
    fn waitid(kind: idtype_t, id: id_t, information: *mut siginfo_t, options: c_int) -> c_int;
    fn waitpid(process: pid_t, status: *mut c_int, options: c_int) -> pid_t;
}

/// Replaces libc's `open64`, which waits if the file is a pipe that nothing writes to.
///
/// # Safety
///
/// As for `open(2)`. The last argument may be missing.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    static REAL: Real = Real::new(c"open64");
    type Function = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
    // SAFETY: the function has this type.
    let call: Function = unsafe { std::mem::transmute(REAL.address()) };
    // SAFETY: the caller guarantees what the function requires.
    wait(|| unsafe { call(path, flags, mode) })
}

/// Replaces libc's `clock_nanosleep`, with which threads sleep. Rust's library panics if it fails.
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
    if fails() {
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

/// Replaces libc's `pthread_join`. Rust's library panics if it fails; the thread goes on.
///
/// # Safety
///
/// As for `pthread_join(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    static REAL: Real = Real::new(c"pthread_join");
    type Function = unsafe extern "C" fn(pthread_t, *mut *mut c_void) -> c_int;
    if !stop::is_of_cells() {
        // SAFETY: the function has this type.
        let call: Function = unsafe { std::mem::transmute(REAL.address()) };
        // SAFETY: the caller guarantees what the function requires.
        return unsafe { call(thread, result) };
    }
    loop {
        if fails() {
            return libc::ECANCELED;
        }
        let until = stop::later(libc::CLOCK_REALTIME, LOOK);
        // SAFETY: the caller guarantees what the function requires, and the time is valid.
        let joined = unsafe { libc::pthread_timedjoin_np(thread, result, &until) };
        if joined != libc::ETIMEDOUT {
            return joined;
        }
    }
}
