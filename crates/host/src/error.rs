//! The errors of this crate, each with the next step where there is one.

use crate::version::Version;
use std::io;
use std::path::{Path, PathBuf};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The message for a missing C compiler, with the packages of common systems that contain a compiler.
pub const NO_C_COMPILER: &str = "No C compiler was found. Install one, then run the same command again: \
    `sudo apt install build-essential` (Debian, Ubuntu), `sudo dnf install gcc` (Fedora), \
    `xcode-select --install` (macOS).";

/// What to do when the disk is full.
pub const DISK_FULL: &str = "The disk is full: free some space (a set-up needs about 3 GB), then run the same command again.";

/// The reason why something that Taper needs on the machine is not available. A message names the next step
/// where there is one. The cause is not part of it, but in [`source`](std::error::Error::source): see
/// [`describe`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither the platform nor a variable names a cache folder.
    #[error("this system has no cache folder: set TAPER_CACHE to a folder of yours")]
    NoCacheFolder,
    /// A folder could not be created.
    #[error("cannot create the folder {folder}: choose a folder in which you may write")]
    CreateFolder {
        /// The folder.
        folder: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The cache folder could not be created, or not written.
    #[error(
        "cannot write into Taper's cache folder {folder}: free some space if the disk is full, or name another folder \
         with TAPER_CACHE"
    )]
    CacheFolder {
        /// The folder.
        folder: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or folder could not be used.
    #[error("cannot {operation} {path}")]
    File {
        /// The operation that failed, as a verb: `open`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The system refused an operation.
    #[error("cannot {operation}")]
    System {
        /// The operation that failed, as a verb with its object: `create a pipe`.
        operation: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An archive contains something other than files below its folder.
    #[error(
        "the archive contains {0:?}: expected only files below the folder into which it is unpacked"
    )]
    UnsafeArchive(PathBuf),
    /// An archive cannot be read to its end.
    #[error("the archive is damaged or incomplete: copy or download it again")]
    DamagedArchive(#[source] io::Error),
    /// An archive contains more than its limit.
    #[error("the archive contains more than {0} bytes, the limit for what it should contain")]
    LargeArchive(u64),
    /// A path is not valid Unicode.
    #[error("the path of {what} must be valid Unicode, found {path:?}. {next}")]
    NotUnicode {
        /// What the path names: `the cache folder`.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The next step.
        next: &'static str,
    },
    /// A program could not be started.
    #[error("cannot start {program}")]
    Start {
        /// Its name or path.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("`{command}` failed:\n{output}")]
    Failed {
        /// The program with its arguments.
        command: String,
        /// What it printed.
        output: String,
    },
    /// The free space of a disk is less than what a build needs.
    #[error(
        "The disk is nearly full: {:.1} GB are free in {folder}, about {:.0} GB are needed. \
         Free some space, or set TAPER_CACHE to a folder on another disk.",
        *free as f64 / 1e9, *needed as f64 / 1e9
    )]
    DiskNearlyFull {
        /// A folder on that disk.
        folder: PathBuf,
        /// Bytes that are free.
        free: u64,
        /// Bytes that a whole build needs.
        needed: u64,
    },

    /// There is no Rust compiler.
    #[error("Rust was not found: install it from https://rustup.rs, then open a new terminal")]
    NoCompiler,
    /// There is a Rust compiler, and no cargo.
    #[error("cargo was not found beside rustc: install Rust from https://rustup.rs")]
    NoCargo,
    /// The Rust compiler is older than the oldest that works.
    #[error("This Rust is too old (found {found}, needed {}.{}). {next}", needed.0, needed.1)]
    OldCompiler {
        /// The release that was found.
        found: String,
        /// The oldest release that works.
        needed: Version,
        /// The next step.
        next: &'static str,
    },
    /// A line is missing in the output of `rustc -vV`.
    #[error("`rustc -vV` prints no line that begins with `{0}`")]
    NoVersionLine(&'static str),
    /// The source of Rust's library is not installed.
    #[error("Rust's library source is not installed. Run `taper setup`, which installs it.")]
    NoLibrarySource,
    /// The source of Rust's library is missing, and rustup too, which could install it.
    #[error(
        "Rust's library source is missing, and this Rust was not installed by rustup. Install the package \
         `rust-src` (`sudo apt install rust-src`, `conda install -c conda-forge rust-src`), or Rust itself \
         from https://rustup.rs."
    )]
    NoRustup,
    /// rust-analyzer is not installed.
    #[error(
        "Methods are not completed, and documentation is not shown, because rust-analyzer is not installed. \
         Run `rustup component add rust-analyzer`, or install the package `rust-analyzer`."
    )]
    NoAnalyzer,
    /// rustup could not install a component.
    #[error(
        "Rust's component {name} could not be installed. Run `{command}` yourself; it said:\n{output}"
    )]
    InstallComponent {
        /// The component, such as `rust-src`.
        name: &'static str,
        /// The call of rustup.
        command: String,
        /// What it printed.
        output: String,
    },
    /// There is no C compiler.
    #[error("{NO_C_COMPILER}")]
    NoCCompiler,
    /// There is no C++ compiler.
    #[error(
        "No C++ compiler was found, which CUDA's compiler needs. Install one, then run the same command again: \
         `sudo apt install g++` (Debian, Ubuntu), `sudo dnf install gcc-c++` (Fedora). With --cpu, \
         Taper does without the GPU."
    )]
    NoCppCompiler,

    /// No Python is new enough.
    #[error(
        "Python {}.{} or newer is needed for JupyterLab{}. Install it (`sudo apt install python3 python3-venv`, \
         `brew install python`), or name one with the variable PYTHON.",
        needed.0, needed.1, found.as_ref().map(|found| format!(" (found {found})")).unwrap_or_default()
    )]
    NoPython {
        /// The first Python that was found, with its version, which is too old; `None` if none was found.
        found: Option<String>,
        /// The oldest version that works.
        needed: Version,
    },
    /// The Python that the user names cannot be used.
    #[error(
        "The variable PYTHON names {name:?}, {}; JupyterLab needs Python {}.{} or newer. Set it to another one, or unset it.",
        found.as_ref().map_or("which cannot be started".to_owned(), |found| format!("which is Python {found}")),
        needed.0, needed.1
    )]
    NamedPython {
        /// The value of the variable.
        name: String,
        /// Its version; `None` if it cannot be started.
        found: Option<String>,
        /// The oldest version that works.
        needed: Version,
    },
    /// Packages could not be installed.
    #[error("{advice}\n{output}")]
    Install {
        /// A message with the next step.
        advice: &'static str,
        /// What the installer printed.
        output: String,
    },
    /// A Python environment has no folder for packages although it was just created.
    #[error("the Python environment {0} is not complete although it was just created")]
    IncompleteEnvironment(PathBuf),

    /// No CUDA toolkit fits this machine.
    #[error("Taper cannot be built for CUDA")]
    NoCuda(#[from] NoToolkit),
    /// A text is not a compute capability.
    #[error("{0:?} is not a compute capability; write one like 8.6")]
    Capability(String),
    /// cargo could not list the packages on which the crate `taper` depends.
    #[error(
        "cargo could not list Taper's dependencies; check the connection, then run the same command again"
    )]
    ListPackages(#[source] cargo_metadata::Error),
    /// The bindings to one of CUDA's libraries declare none of its functions.
    #[error("{file} declares no function of lib{library}")]
    NoBindings {
        /// The source of the bindings.
        file: PathBuf,
        /// The library, as the linker names it.
        library: &'static str,
    },
    /// The shim libraries, with which `taper` is linked in place of CUDA's, did not compile.
    #[error("the shim libraries for CUDA did not compile:\n{0}")]
    CompileShims(String),

    /// The arguments of a supervising process are not a process id and a program.
    #[error("expected the parent's process id and a program")]
    SupervisorArguments,
    /// The process that started a supervising process has ended.
    #[error("the process that started this one has ended")]
    ParentEnded,
}

/// The reason why no CUDA toolkit can be used on this machine. The messages have no full stop, since they end a
/// sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoToolkit {
    /// The platform is not supported.
    #[error("CUDA is supported only on x86-64 Linux")]
    Platform,
    /// CUDA 13 does not support the GPU any more.
    #[error(
        "{names} has compute capability {capability}, which CUDA 13 does not support any more. Install a CUDA \
         toolkit 12.x that your driver supports (it supports up to {}.{}), then run `cargo taper setup` again",
        cuda.0, cuda.1
    )]
    OldGpu {
        /// The names of all GPUs.
        names: String,
        /// The compute capability of the oldest.
        capability: String,
        /// The newest CUDA that the driver supports.
        cuda: Version,
    },
    /// The driver does not support CUDA 13.
    #[error(
        "the NVIDIA driver {driver} is too old: it runs CUDA up to {major}.{minor}, and 13.0 is needed. Update the \
         driver to 580 or newer, or install the CUDA toolkit {major}.{minor}, then run `cargo taper setup` again",
        major = cuda.0, minor = cuda.1
    )]
    OldDriver {
        /// The driver's version.
        driver: String,
        /// The newest CUDA that the driver supports.
        cuda: Version,
    },
}

impl Error {
    /// Returns [`Error::System`]. `operation` is a verb with its object.
    pub fn system(operation: &'static str, source: impl Into<io::Error>) -> Error {
        Error::System {
            operation,
            source: source.into(),
        }
    }
}

/// Describes an error with all its causes, in one line: `cannot open /a: Permission denied`.
pub fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}

/// Returns whether the system had no space left on a disk.
pub fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        let system = cause.downcast_ref::<io::Error>();
        system.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull)
    })
}

/// Adds the operation and its object to an I/O error.
pub trait Context<T> {
    /// Adds the operation that failed, as a verb, and the file or folder.
    fn on_file(self, operation: &'static str, path: &Path) -> Result<T>;
    /// Adds the operation that failed, as a verb with its object.
    fn trying(self, operation: &'static str) -> Result<T>;
    /// Adds the program that could not be started.
    fn starting(self, program: impl Into<PathBuf>) -> Result<T>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn on_file(self, operation: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::File {
            operation,
            path: path.to_owned(),
            source: source.into(),
        })
    }

    fn trying(self, operation: &'static str) -> Result<T> {
        self.map_err(|source| Error::system(operation, source))
    }

    fn starting(self, program: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::Start {
            program: program.into(),
            source: source.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_the_operation_and_every_cause() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Err::<(), _>(denied).on_file("open", Path::new("/a"));
        let described = describe(&error.expect_err("it was denied"));
        assert_eq!(described, "cannot open /a: permission denied");
    }
}
