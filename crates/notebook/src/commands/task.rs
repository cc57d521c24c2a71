//! The task of a worker process, and its command line.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The first argument that makes the program run as a worker process.
pub const WORKER_ARGUMENT: &str = "__notebook";

const ARGUMENTS: &str = "expected the arguments of a worker process";

/// The command and its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Task {
    Run {
        inplace: bool,
        allow_errors: bool,
        parameters: Vec<(String, String)>,
    },
    Test,
    /// Grades with the tests of the notebook `assignment`; a cell is interrupted after the limit.
    Grade {
        assignment: PathBuf,
        limit: Duration,
    },
}

/// A task for one notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) task: Task,
    pub(super) notebook: PathBuf,
    /// The file to which the worker writes its summary.
    pub(super) summary: PathBuf,
}

impl Assignment {
    /// Returns the arguments of the program, including [`WORKER_ARGUMENT`].
    pub(super) fn to_arguments(&self) -> Vec<OsString> {
        let task = serde_json::to_string(&self.task).expect("a task has only string keys");
        vec![
            WORKER_ARGUMENT.into(),
            task.into(),
            self.notebook.clone().into(),
            self.summary.clone().into(),
        ]
    }

    /// Parses the arguments that [`Self::to_arguments`] returned, without the first one.
    pub(super) fn from_arguments(arguments: &[OsString]) -> Result<Assignment> {
        let [task, notebook, summary] = arguments else {
            bail!(ARGUMENTS);
        };
        Ok(Assignment {
            task: serde_json::from_slice(task.as_encoded_bytes())
                .ok()
                .context(ARGUMENTS)?,
            notebook: notebook.into(),
            summary: summary.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_survives_the_command_line() {
        for task in [
            Task::Test,
            Task::Grade {
                assignment: "/an assignment.ipynb".into(),
                limit: Duration::from_secs(300),
            },
            Task::Run {
                inplace: true,
                allow_errors: false,
                parameters: vec![("lr".into(), "0.1".into())],
            },
        ] {
            let assignment = Assignment {
                task,
                notebook: "--odd name.ipynb".into(),
                summary: "/tmp/summary".into(),
            };
            let arguments = assignment.to_arguments();
            assert_eq!(arguments[0], WORKER_ARGUMENT);
            let parsed = Assignment::from_arguments(&arguments[1..]).expect("our arguments");
            assert_eq!(parsed, assignment);
            assert!(Assignment::from_arguments(&arguments).is_err());
        }
    }
}
