//! What errors have in common: the file to which they belong, and a full disk.
//!
//! The command's crates report with [`anyhow::Error`]: a sentence with the next step, then its causes. They have types of
//! their own only for errors by which a caller decides.

use anyhow::{Context, Result};
use std::io;
use std::path::Path;

/// What to do when the disk is full.
pub const DISK_FULL: &str = "The disk is full: free some space (a set-up needs about 3 GB), then run the same command again.";

/// Returns whether the system had no space left on a disk.
pub fn is_disk_full(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let system = cause.downcast_ref::<io::Error>();
        system.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull)
    })
}

/// Adds the operation and the file to an error of the system.
pub trait OnFile<T> {
    /// Adds the operation that failed, as a verb, and the file, folder or program.
    fn on_file(self, operation: &str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T, E: Into<io::Error>> OnFile<T> for std::result::Result<T, E> {
    fn on_file(self, operation: &str, path: impl AsRef<Path>) -> Result<T> {
        let result: io::Result<T> = self.map_err(Into::into);
        result.with_context(|| format!("cannot {operation} {}", path.as_ref().display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_operation_the_file_and_the_cause() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Err::<(), _>(denied).on_file("open", "/a");
        let error = error.expect_err("it was denied");
        assert_eq!(format!("{error:#}"), "cannot open /a: permission denied");
    }

    #[test]
    fn a_full_disk_is_found_among_the_causes() {
        let with = |kind: io::ErrorKind| {
            let result = Err::<(), _>(io::Error::from(kind)).on_file("write", "/a");
            result.context("cannot build").expect_err("it failed")
        };
        assert!(is_disk_full(&with(io::ErrorKind::StorageFull)));
        assert!(!is_disk_full(&with(io::ErrorKind::PermissionDenied)));
    }
}
