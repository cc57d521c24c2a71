//! Notes about likely mistakes that are not errors.

use std::sync::atomic::{AtomicBool, Ordering};

/// A note that is printed once in a process.
pub(crate) struct Note {
    found: &'static str,
    advice: &'static str,
    is_printed: AtomicBool,
}

impl Note {
    /// Creates a note of what was found, and what to do.
    pub(crate) const fn new(found: &'static str, advice: &'static str) -> Self {
        let is_printed = AtomicBool::new(false);
        Note {
            found,
            advice,
            is_printed,
        }
    }

    pub(crate) fn is_printed(&self) -> bool {
        self.is_printed.load(Ordering::Relaxed)
    }

    /// Prints the note to standard error, unless it was printed.
    pub(crate) fn print(&self) {
        if !self.is_printed.swap(true, Ordering::Relaxed) {
            eprintln!("note: {}\n{}", self.found, self.advice);
        }
    }
}
