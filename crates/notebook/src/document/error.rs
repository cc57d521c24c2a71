//! The errors of files that cannot be run as a notebook, with the next step for the user.

use std::io;

/// A notebook that cannot be run: one line with the problem, one with the next step.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {}\n  {}", .problem.shortened(), .problem.advice(.name))]
pub struct NotebookError {
    /// The file as it was named on the command line.
    pub name: String,
    /// The problem with the file.
    pub problem: Problem,
}

/// A problem with a notebook file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is no file at this path.
    #[error("there is no such file")]
    Missing,
    /// The path is that of a folder.
    #[error("is a folder, not a notebook")]
    Folder,
    /// The path is that of a pipe or a device, whose content may have no end.
    #[error("is a pipe or a device, not a notebook")]
    SpecialFile,
    /// The file exists but reading it fails.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// The file is not UTF-8 from this byte on.
    #[error("is not text in UTF-8 (byte {offset}), so it is not a notebook")]
    NotUtf8 {
        /// The first byte that is not UTF-8.
        offset: usize,
    },
    /// The text is not JSON.
    #[error("is not JSON: {error}")]
    NotJson {
        /// The error of the parser, with line and column.
        error: serde_json::Error,
        /// What the text is instead.
        found: Content,
    },
    /// No line of the Rust file begins a cell.
    #[error("has no cells: a comment `// %%` begins each cell of a notebook in a Rust file")]
    NoCells,
    /// The comments at the beginning of the Rust file are not YAML.
    #[error("line {line} is not understood: the comments between the lines `// ---` are YAML")]
    BadHeader {
        /// The line of the file.
        line: usize,
    },
    /// The JSON is not that of a notebook.
    #[error("is JSON but not a notebook: it has no `{lacks}`")]
    NotANotebook {
        /// The missing key, which every notebook has.
        lacks: &'static str,
    },
    /// The format is older than 4.
    #[error("is a notebook in format {version}, from before Jupyter")]
    TooOld {
        /// The major version of the format.
        version: i64,
    },
    /// The format is newer than 4.5.
    #[error("is a notebook in format {major}.{minor}; Taper reads up to 4.5")]
    TooNew {
        /// The major version of the format.
        major: i64,
        /// The minor version of the format.
        minor: i64,
    },
    /// The document violates the notebook format.
    #[error("is not a valid notebook: {0}")]
    Invalid(InvalidDocument),
    /// The notebook is written in another language.
    #[error("is for the kernel `{kernel}` ({language}), not for Rust")]
    OtherKernel {
        /// The kernel's name as JupyterLab shows it.
        kernel: String,
        /// The language of the cells.
        language: String,
    },
    /// The metadata `taper` does not hold a valid tolerance.
    #[error("its metadata `taper` cannot be read: `{key}` is {value}")]
    BadTolerance {
        /// `taper`, `rtol`, `atol` or `ignore`.
        key: &'static str,
        /// The value found.
        value: serde_json::Value,
    },
}

/// What a file contains that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// Nothing.
    Nothing,
    /// A byte order mark at its beginning.
    ByteOrderMark,
    /// The markers of a merge conflict.
    MergeConflict,
    /// A web page: what a browser saves from the address of a page that shows the file.
    WebPage,
    /// The note that git keeps in the place of a file of Git LFS.
    GitLfs,
    /// Something else.
    Other,
}

impl Content {
    /// Recognises a text that is not JSON.
    pub(super) fn of(text: &str) -> Content {
        let begin = text.trim_start();
        if begin.is_empty() {
            Content::Nothing
        } else if text.starts_with('\u{feff}') {
            Content::ByteOrderMark
        } else if begin.starts_with("version https://git-lfs") {
            Content::GitLfs
        } else if begin.starts_with('<') && !begin.starts_with("<<<<<<<") {
            Content::WebPage
        } else if text.lines().any(|line| line.starts_with("<<<<<<<")) {
            Content::MergeConflict
        } else {
            Content::Other
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Content::Nothing => {
                "The file is empty. Restore it, or make a new notebook in JupyterLab."
            }
            Content::ByteOrderMark => "Save it as UTF-8 without a byte order mark (BOM).",
            Content::MergeConflict => {
                "It holds a merge conflict: resolve it (`nbdime mergetool` helps) or check out one side."
            }
            Content::WebPage => "It is a web page. Download the notebook itself: on GitHub, *Raw*.",
            Content::GitLfs => "Git LFS keeps its content: `git lfs pull` downloads it.",
            Content::Other => RESTORE,
        }
    }
}

/// A violation of the notebook format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDocument {
    /// A value has the wrong type, or a key is missing.
    #[error("{0}")]
    Json(serde_json::Error),
    /// A rule of the format that no type expresses.
    #[error("{0}")]
    Rule(String),
    /// The version that the parser found is not the one that was checked before.
    #[error("it is not in format 4.5")]
    Version,
}

impl From<nbformat::NotebookError> for InvalidDocument {
    fn from(error: nbformat::NotebookError) -> Self {
        match error {
            nbformat::NotebookError::JsonError(error) => InvalidDocument::Json(error),
            nbformat::NotebookError::ValidationError(rule) => InvalidDocument::Rule(rule),
            nbformat::NotebookError::UnsupportedVersion(..) => InvalidDocument::Version,
        }
    }
}

const CHECK_PATH: &str = "Check the path; it is relative to the current directory.";
const RESTORE: &str =
    "Restore it from version control or a checkpoint (File > Revert Notebook to Checkpoint).";

impl Problem {
    /// Returns the beginning of the message: parsers repeat the value that they do not expect, which may have megabytes.
    pub(crate) fn shortened(&self) -> String {
        const LENGTH: usize = 500;
        let mut text = self.to_string();
        if let Some((end, _)) = text.char_indices().nth(LENGTH) {
            text.replace_range(end.., "…");
        }
        text
    }

    /// Returns the next step for the user of the notebook `name`.
    fn advice(&self, name: &str) -> String {
        let advice = match self {
            Problem::Missing => CHECK_PATH,
            Problem::Folder => {
                let folder = name.trim_end_matches('/');
                return format!("Name the notebooks in it: {folder}/*.ipynb");
            }
            Problem::SpecialFile => "Save its content to a file, and name that.",
            Problem::Unreadable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "Check its permissions."
            }
            Problem::Unreadable(_) => CHECK_PATH,
            Problem::NotUtf8 { .. } | Problem::NotJson { .. } if !name.ends_with(".ipynb") => {
                "Name a notebook: the names of notebooks end in `.ipynb`, or in `.rs` in the percent format."
            }
            Problem::NoCells => {
                "Write `// %%` above each cell. A program with a `main` is run by `cargo run`."
            }
            Problem::BadHeader { .. } => "Write `key: value`, or remove the header.",
            Problem::NotJson { found, .. } => found.advice(),
            Problem::NotUtf8 { .. } => "Save it as UTF-8, or restore it from version control.",
            Problem::NotANotebook { .. } => "Name a file that Jupyter has saved.",
            Problem::TooOld { .. } => {
                return format!("Convert it: jupyter nbconvert --to notebook --inplace {name}");
            }
            Problem::TooNew { .. } => "Update Taper, or save it from a JupyterLab that writes 4.5.",
            Problem::Invalid(_) => {
                "Open it in JupyterLab and save it: Jupyter repairs what it can."
            }
            Problem::OtherKernel { .. } => {
                "Choose the kernel \"Rust (Taper)\" in JupyterLab and save it, or run it with `jupyter execute`."
            }
            Problem::BadTolerance { .. } => {
                "Write it as {\"taper\": {\"rtol\": 1e-3, \"atol\": 1e-6, \"ignore\": \"times\"}}."
            }
        };
        advice.to_owned()
    }
}
