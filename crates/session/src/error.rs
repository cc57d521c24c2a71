//! Why a session does not start, or one of its processes fails. What fails in a cell is a
//! [`CellError`] instead.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use taper_evaluator::CellError;

/// The versions and inputs from which an image was compiled.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Built {
    /// A digest of all that an image is compiled from, without paths.
    pub(crate) from: String,
    pub(crate) taper: String,
    pub(crate) rust: String,
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a session does not start, or one of its processes fails. Its sources have the details: print the
/// whole chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something that Taper needs of the machine is not available.
    #[error(transparent)]
    Host(#[from] taper_host::Error),
    /// There is no clone of Taper where this program was built.
    #[error("the folder of Taper does not exist: {}", .folder.display())]
    NoClone {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A clone of Taper has no lock file.
    #[error("{} has no Cargo.lock: check the clone", .folder.display())]
    NoLockFile {
        /// The clone.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A lock file contains no list of packages.
    #[error("Cargo.lock lists no packages: check the clone")]
    NoPackages,
    /// A manifest or a lock file is not TOML.
    #[error("cannot parse {name}")]
    Toml {
        /// The file.
        name: &'static str,
        /// The parser's error.
        source: Box<toml::de::Error>,
    },
    /// A file of a session cannot be written as JSON.
    #[error("cannot write {name} as JSON")]
    Json {
        /// The name of the data.
        name: &'static str,
        /// The serialiser's error.
        source: serde_json::Error,
    },
    /// The store has no image for this compiler and this Taper.
    #[error(
        "the store {} has no compiled packages for this Rust and this Taper. Its administrator compiles them: \
         `taper setup --system --prefix {}`. Without TAPER_STORE, Taper compiles its own.",
        .0.display(), .0.display()
    )]
    NotInStore(PathBuf),
    /// There is no image to export.
    #[error("the packages are not compiled yet, or not all: run `taper setup`, then export again")]
    NoImage,
    /// Cargo has reported no shared library `taper`.
    #[error("cargo has reported no shared library `taper`: {0}")]
    NoLibrary(PathBuf),
    /// A file is not an exported image.
    #[error(
        "{0} is not an image that `taper image export` wrote: copy or download it again, and compare its SHA-256"
    )]
    NotAnImage(PathBuf),
    /// A file has another SHA-256 than expected.
    #[error(
        "expected the SHA-256 {expected}, found {found}: the file is damaged, or not the expected one. Copy or \
         download it again."
    )]
    OtherDigest {
        /// The SHA-256 that the user named.
        expected: String,
        /// The SHA-256 of the file.
        found: String,
    },
    /// An image was compiled from other versions or inputs than those of this machine.
    #[error(
        "the image was compiled by Taper {} with rustc {}, but this machine has Taper {} with rustc {}; \
         versions, sources, device and cargo's configuration must be the same. `taper setup` compiles one for \
         this machine.",
        image.taper, image.rust, here.taper, here.rust
    )]
    OtherImage {
        /// The versions and inputs of the image.
        image: Box<Built>,
        /// The versions and inputs of this machine.
        here: Box<Built>,
    },
    /// A file of an imported image is not as it was exported.
    #[error("the image is damaged: {0} differs from what was exported")]
    DamagedImage(PathBuf),
    /// cargo does not compile the packages, or does not find them.
    #[error("{advice}\n{output}")]
    Cargo {
        /// What to do.
        advice: String,
        /// cargo's messages.
        output: String,
    },
    /// Cells cannot use a package.
    #[error(
        "the package `{0}` has no library that Rust code can use. If it is a program, install it with \
         `!cargo install {0}`."
    )]
    NotALibrary(String),
    /// A package needs another `taper`, and with it another process for the cells.
    #[error(
        "{0} and all variables would be lost. Nothing was changed. To go on without them, write `:restart` above the line \
         `:dep` and run the cell again."
    )]
    OtherTaper(String),
    /// cargo's description of the packages cannot be read.
    #[error("cannot read what `cargo metadata` prints")]
    Metadata(#[from] cargo_metadata::Error),
    /// The process that runs the first cell of an image fails.
    #[error("the first cell failed. {advice}\n{said}")]
    FirstCell {
        /// What to do; usually with which Rust it failed, and with which it works.
        advice: String,
        /// What it printed.
        said: String,
    },
    /// Cells do not do with this Rust what they do with others.
    #[error("{lost} After the cells {cells:?}, the value is {shown:?}.")]
    Lost {
        /// What is lost.
        lost: &'static str,
        /// The cells that were run.
        cells: &'static [&'static str],
        /// What the last one showed.
        shown: String,
    },
    /// A cell of Taper's own fails.
    #[error("the cell `{code}` failed")]
    OwnCell {
        /// The cell.
        code: String,
        /// Why it failed.
        source: Box<CellError>,
    },
    /// The variable that chooses the engine has another value.
    #[error("TAPER_ENGINE is {0:?}: expected `taper` or `evcxr`")]
    Engine(OsString),
    /// The chosen engine is not built in.
    #[error(
        "this `taper` was built without evcxr, which TAPER_ENGINE chooses: build it with `cargo install --locked \
         --path cli --features evcxr`, or unset TAPER_ENGINE"
    )]
    NoEvcxr,
    /// The engine does not start.
    #[error("the compiler of cells does not start: {0}")]
    Start(String),
    /// A process can start one session only, and its folder is gone if that fails.
    #[error("a process can start one session, and this one has tried: run the command again")]
    Started,
    /// An argument of this process is not valid Unicode. evcxr reads all arguments as text.
    #[cfg(feature = "evcxr")]
    #[error("{0:?} is not valid Unicode. Change to its folder, then name the file alone.")]
    Argument(OsString),
    /// A process of a session was started with other arguments than a session passes.
    #[error("expected {0}")]
    Arguments(&'static str),
    /// The limit of memory cannot be read.
    #[error(
        "TAPER_MEMORY is `{0}`: expected an integer with the unit `M` or `G`, such as `512M` or `2G`"
    )]
    Memory(String),
}

impl Error {
    /// Returns the error about the package for which another `taper` is needed.
    pub(crate) fn other_taper(package: &str) -> Error {
        Error::OtherTaper(match package {
            "taper" => "Another Taper would be loaded".to_owned(),
            _ => format!(
                "Taper shares the types of `{package}` with the package, so it would be compiled again"
            ),
        })
    }

    /// Returns a function that turns the error of Taper's own cell `code` into [`Error::OwnCell`].
    pub(crate) fn own_cell(code: &str) -> impl FnOnce(CellError) -> Error {
        move |source| Error::OwnCell {
            code: code.to_owned(),
            source: Box::new(source),
        }
    }

    /// Returns a function that turns an error in writing JSON into [`Error::Json`].
    pub(crate) fn json(name: &'static str) -> impl FnOnce(serde_json::Error) -> Error {
        move |source| Error::Json { name, source }
    }

    /// Returns a function that turns an error in parsing TOML into [`Error::Toml`].
    pub(crate) fn toml(name: &'static str) -> impl FnOnce(toml::de::Error) -> Error {
        move |source| Error::Toml {
            name,
            source: Box::new(source),
        }
    }
}
