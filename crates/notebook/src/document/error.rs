//! The errors of files that cannot be run as a notebook, with the next step for the user.

use anyhow::{Error, anyhow};
use std::fmt;

/// A problem with a notebook file.
#[derive(Debug)]
pub(crate) enum Problem {
    /// There is no file at this path.
    Missing,
    /// The notebook is written in another language.
    OtherKernel {
        /// The kernel's name as JupyterLab shows it.
        kernel: String,
        /// The language of the cells.
        language: String,
    },
    /// Another problem.
    Other {
        /// What is wrong.
        found: String,
        /// The next step for the user.
        advice: String,
    },
}

pub(super) const CHECK_PATH: &str = "Check the path; it is relative to the current directory.";
const RESTORE: &str =
    "Restore it from version control or a checkpoint (File > Revert Notebook to Checkpoint).";

/// Returns what to do with a text that is not JSON.
pub(super) fn advice_without_json(text: &str) -> &'static str {
    let begin = text.trim_start();
    if begin.is_empty() {
        "The file is empty. Restore it, or make a new notebook in JupyterLab."
    } else if text.starts_with('\u{feff}') {
        "Save it as UTF-8 without a byte order mark (BOM)."
    } else if begin.starts_with("version https://git-lfs") {
        "Git LFS keeps its content: `git lfs pull` downloads it."
    } else if begin.starts_with('<') && !begin.starts_with("<<<<<<<") {
        "It is a web page. Download the notebook itself: on GitHub, *Raw*."
    } else if text.lines().any(|line| line.starts_with("<<<<<<<")) {
        "It holds a merge conflict: resolve it (`nbdime mergetool` helps) or check out one side."
    } else {
        RESTORE
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing => write!(f, "there is no such file"),
            Problem::OtherKernel { kernel, language } => {
                write!(f, "is for the kernel `{kernel}` ({language}), not for Rust")
            }
            Problem::Other { found, .. } => write!(f, "{found}"),
        }
    }
}

impl Problem {
    pub(super) fn new(found: impl Into<String>, advice: impl Into<String>) -> Problem {
        Problem::Other {
            found: found.into(),
            advice: advice.into(),
        }
    }

    /// Returns the error for the user: one line with the problem of the file `name`, one with the next step.
    pub(crate) fn of(&self, name: &str) -> Error {
        let advice = match self {
            Problem::Missing => CHECK_PATH,
            Problem::OtherKernel { .. } => {
                "Choose the kernel \"Rust (Taper)\" in JupyterLab and save it, or run it with `jupyter execute`."
            }
            Problem::Other { advice, .. } => advice,
        };
        anyhow!("{name}: {}\n  {advice}", self.shortened())
    }

    /// Returns the beginning of the message: parsers repeat the value that they do not expect, which may have megabytes.
    pub(crate) fn shortened(&self) -> String {
        const LENGTH: usize = 500;
        let mut text = self.to_string();
        if let Some((end, _)) = text.char_indices().nth(LENGTH) {
            text.replace_range(end.., "…");
        }
        text
    }
}
