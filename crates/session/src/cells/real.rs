//! The functions of libc that this program replaces: each replacement calls the real one.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of libc.
pub(super) struct Real {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Real {
    pub(super) const fn new(name: &'static CStr) -> Real {
        Real {
            name,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Returns the address of the function, which is not null.
    pub(super) fn address(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            // The replacement could not call it.
            std::process::abort();
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}
