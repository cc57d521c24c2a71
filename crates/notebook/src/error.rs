//! The errors of this crate.

use crate::document::error::NotebookError;
use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

/// An error of any type, such as the error of an evaluator that does not start.
pub type AnyError = Box<dyn StdError + Send + Sync>;

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The error of a command. Its sources contain the details, so print the whole chain of sources.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be run as a notebook.
    #[error(transparent)]
    Notebook(#[from] NotebookError),
    /// An operation on a file or folder fails.
    #[error("cannot {operation} {}", .path.display())]
    File {
        /// A verb: `read`, `write`, `copy`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The evaluator of the cells does not start.
    #[error("the kernel does not start")]
    Evaluator(#[source] AnyError),
    /// The arguments of a worker process are not those that its parent writes.
    #[error("expected the arguments of a worker process")]
    WorkerArguments,
    /// An option for one notebook is used with several.
    #[error("{option} takes {takes}; {advice}")]
    OneNotebook {
        /// The option as the user types it.
        option: &'static str,
        /// The value of the option, which belongs to one notebook: `the log of one notebook`.
        takes: &'static str,
        /// The next step for the user.
        advice: &'static str,
    },
    /// A file exists that must not be replaced.
    #[error("{} exists\n{advice}", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// The next step for the user.
        advice: String,
    },
    /// A parameter cannot be set.
    #[error("{reason}\n{advice}")]
    Parameter {
        /// What is wrong with it.
        reason: String,
        /// The next step for the user.
        advice: String,
    },
    /// The assignment has no tests with which submissions could be graded.
    #[error(
        "{} has no cells that nbgrader grades\n\
         Mark its tests in JupyterLab, with nbgrader's Create Assignment", .assignment.display()
    )]
    NoTests {
        /// The notebook of the assignment.
        assignment: PathBuf,
    },
    /// Two cells of the assignment have the same id, so that the points of one of them would count twice.
    #[error(
        "{}: several cells have nbgrader's id `{name}`\n\
         Set different ids in JupyterLab, with nbgrader's Create Assignment", .assignment.display()
    )]
    RepeatedId {
        /// The notebook of the assignment.
        assignment: PathBuf,
        /// The id.
        name: String,
    },
    /// The file with the outputs of another machine cannot be parsed.
    #[error(
        "{}: expected the outputs of another machine: {error}\n\
         Write it again with `taper run --machine`, or remove it", .path.display()
    )]
    MachineOutputs {
        /// The file beside the notebook.
        path: PathBuf,
        /// The error of the parser.
        error: serde_json::Error,
    },
    /// A file is not the log of an exported program.
    #[error(
        "{log} is not the log of an exported notebook\n\
         Make one with `cargo run --release > {log}` in the folder that `taper export` made"
    )]
    NotALog {
        /// The file.
        log: String,
    },
    /// The folder of an export holds other files.
    #[error(
        "{} holds files that `taper export` has not written\nName a new or an empty folder",
        .folder.display()
    )]
    NotAnExport {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder from which `taper` is exported is not a clone of it.
    #[error("{} is not a clone of Taper", .folder.display())]
    NotAClone {
        /// The folder.
        folder: PathBuf,
        /// The error while its manifest was read.
        source: io::Error,
    },
    /// The value of a cell's `:dep` line is not valid in a Cargo.toml.
    #[error("`:dep {name} = {value}` is not a valid Cargo dependency")]
    Dependency {
        /// The name of the package.
        name: String,
        /// The text after the `=`.
        value: String,
        /// The error of the parser.
        source: Box<toml::de::Error>,
    },
    /// A manifest or a configuration file is not TOML.
    #[error("cannot parse {name}")]
    Toml {
        /// The file.
        name: String,
        /// The error of the parser.
        source: Box<toml::de::Error>,
    },
}

impl Error {
    /// Returns the function that adds operation and path to an [`io::Error`].
    pub(crate) fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::File {
            operation,
            path,
            source,
        }
    }
}

/// Returns an error and all its sources as `a: b: c`.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let sources = std::iter::successors(error.source(), |&error| error.source());
    sources.fold(error.to_string(), |text, source| {
        format!("{text}: {source}")
    })
}
