//! Why a file cannot be run as a notebook, and what to do about it.

use std::fmt;

/// A notebook that cannot be run; shown as one line that says what and one that says what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct NotebookError {
    /// The file as it was named on the command line.
    pub name: String,
    pub problem: Problem,
}

/// What is wrong with a notebook file.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    Missing,
    Directory,
    Unreadable(String),
    NotUtf8 {
        offset: usize,
    },
    NotJson {
        line: usize,
        column: usize,
        what: String,
        merge_conflict: bool,
    },
    NotANotebook {
        lacks: &'static str,
    },
    TooOld {
        version: i64,
    },
    TooNew {
        major: i64,
        minor: i64,
    },
    Invalid(String),
    OtherKernel {
        kernel: String,
        language: String,
    },
    BadTolerance(String),
}

impl std::error::Error for NotebookError {}

impl fmt::Display for NotebookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, advice) = self.problem.describe(&self.name);
        write!(f, "{}: {what}\n  {advice}", self.name)
    }
}

const RESTORE: &str =
    "Restore it from version control or a checkpoint (File > Revert Notebook to Checkpoint).";
const RESAVE: &str = "Open it in JupyterLab and save it: Jupyter repairs what it can.";

impl Problem {
    /// What is wrong, and what to do.
    fn describe(&self, name: &str) -> (String, String) {
        match self {
            Problem::Missing => (
                "there is no such file".into(),
                "Check the path; it is taken from the current directory.".into(),
            ),
            Problem::Directory => (
                "is a folder, not a notebook".into(),
                format!(
                    "Name the notebooks in it: {}/*.ipynb",
                    name.trim_end_matches('/')
                ),
            ),
            Problem::Unreadable(why) => (
                format!("cannot be read: {why}"),
                "Check its permissions.".into(),
            ),
            Problem::NotUtf8 { offset } => (
                format!("is not text in UTF-8 (byte {offset}), so it is not a notebook"),
                RESTORE.into(),
            ),
            Problem::NotJson { .. } => self.describe_json(),
            Problem::NotANotebook { lacks } => (
                format!("is JSON but not a notebook: it has no `{lacks}`"),
                "Name a file that Jupyter has saved.".into(),
            ),
            Problem::TooOld { version } => (
                format!("is a notebook in format {version}, from before Jupyter"),
                format!("Convert it: jupyter nbconvert --to notebook --inplace {name}"),
            ),
            Problem::TooNew { major, minor } => (
                format!("is a notebook in format {major}.{minor}; Taper reads up to 4.5"),
                "Update Taper, or save it from a JupyterLab that writes 4.5.".into(),
            ),
            Problem::Invalid(why) => (format!("is not a valid notebook: {why}"), RESAVE.into()),
            Problem::OtherKernel { kernel, language } => (
                format!("is for the kernel `{kernel}` ({language}), not for Rust"),
                "Choose the kernel \"Rust (Taper)\" in JupyterLab and save it, or run it with \
                 `jupyter execute`."
                    .into(),
            ),
            Problem::BadTolerance(why) => (
                format!("its metadata `taper` cannot be read: {why}"),
                "Write it as {\"taper\": {\"rtol\": 1e-3, \"atol\": 1e-6}}.".into(),
            ),
        }
    }

    fn describe_json(&self) -> (String, String) {
        let Problem::NotJson {
            line,
            column,
            what,
            merge_conflict,
        } = self
        else {
            unreachable!("called for NotJson alone");
        };
        let what = format!("is not JSON at line {line}, column {column}: {what}");
        let advice = if *merge_conflict {
            "It holds a merge conflict: resolve it (`nbdime mergetool` helps) or check out one side."
        } else {
            RESTORE
        };
        (what, advice.into())
    }
}
