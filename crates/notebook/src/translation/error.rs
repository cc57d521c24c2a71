//! The errors of an edition.

use std::io;
use std::path::PathBuf;

/// The reason why an edition cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditionError {
    /// There are no catalogues for a language.
    #[error("the course is not available in the language `{language}`; there are: {}", .available.join(", "))]
    Unknown {
        /// The language that was asked for.
        language: String,
        /// The languages that there are, `en` first.
        available: Vec<String>,
    },
    /// A file or folder of catalogues cannot be read.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A catalogue is damaged.
    #[error("{} is not a catalogue of gettext: {reason}", .path.display())]
    Damaged {
        /// The catalogue.
        path: PathBuf,
        /// What the parser found.
        reason: String,
    },
}
