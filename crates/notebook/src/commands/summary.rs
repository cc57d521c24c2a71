//! The result of each notebook, and the exit code for all of them.

use crate::signals;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// The result of one notebook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) verdict: Verdict,
    pub(super) cells_compared: usize,
    /// The file, if it ran in a process of its own.
    pub(super) name: String,
    /// The tests of an assignment whose value is none that it may have.
    pub(super) odd_tests: Vec<String>,
}

/// Whether a notebook passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Verdict {
    Passed,
    Failed,
    Skipped,
    /// The run was ended by this signal.
    Interrupted(i32),
}

impl Verdict {
    /// Returns the verdict for a run that a signal has ended.
    pub(super) fn interrupted() -> Verdict {
        Verdict::Interrupted(signals::received().unwrap_or(libc::SIGINT))
    }
}

impl From<Verdict> for Summary {
    fn from(verdict: Verdict) -> Self {
        Summary {
            verdict,
            cells_compared: 0,
            name: String::new(),
            odd_tests: Vec::new(),
        }
    }
}

/// Returns the exit code for all notebooks: 0, 1 after a failure, or 128 plus the number of the signal.
pub(super) fn exit_code(summaries: &[Summary]) -> ExitCode {
    let interrupted = summaries.iter().find_map(|summary| match summary.verdict {
        Verdict::Interrupted(signal) => Some(signal),
        _ => None,
    });
    if let Some(signal) = interrupted.or(signals::received()) {
        return ExitCode::from(128 + signal as u8);
    }
    let failed = |summary: &Summary| summary.verdict == Verdict::Failed;
    ExitCode::from(u8::from(summaries.iter().any(failed)))
}
