//! With what cells are compiled and run.

use std::ffi::OsString;
use std::path::PathBuf;

/// The crate that all cells link to.
pub(crate) const SUPPORT: &str = "cell_support";

/// How cells are compiled, and where.
#[derive(Clone, Debug)]
pub struct Config {
    /// The compiler itself, such as `~/.rustup/toolchains/…/bin/rustc`: neither rustup's proxy nor a wrapper, so that an
    /// interrupt reaches it.
    pub rustc: PathBuf,
    /// Rust's installation, to which the compiler belongs.
    pub sysroot: PathBuf,
    /// The target for which cells are compiled, such as `x86_64-unknown-linux-gnu`.
    pub target: String,
    /// Flags of rustc for all cells, such as `--edition=2024`, but for the level of optimization, which the engine chooses.
    pub flags: Vec<OsString>,
    /// Where rustc finds what the packages use: values of its option `-L`, such as `dependency=folder`.
    pub search: Vec<OsString>,
    /// Environment variables of rustc.
    pub environment: Vec<(OsString, OsString)>,
    /// The packages that cells can use.
    pub packages: Vec<Package>,
    /// A folder of the engine's own, for the sources and the libraries of cells.
    pub folder: PathBuf,
    /// A folder for what is compiled once for all cells. Another engine with the same compiler may use a copy of it.
    pub shared: PathBuf,
    /// A folder in which compiled cells are kept for other engines, at most 200 MB.
    pub cache: Option<PathBuf>,
    /// A folder in which the shared libraries of packages are kept for other engines, at most 1 GB. It is on the file system
    /// of the packages.
    pub libraries: Option<PathBuf>,
    /// The program that runs the cells, which calls [`hook`](crate::hook()) first. Usually this program.
    pub program: PathBuf,
    /// Environment variables of the process that runs the cells, which has this program's otherwise; `None`
    /// removes a variable.
    pub cell_environment: Vec<(OsString, Option<OsString>)>,
    /// The names of types of packages whose values do not change while they are borrowed with `&`. A value of any other
    /// type of a package may.
    pub immutable_types: Vec<String>,
}

/// A compiled package that cells can use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// The name of the crate.
    pub name: String,
    /// The compiled files: `.rlib`, `.rmeta` or shared libraries.
    pub files: Vec<PathBuf>,
    /// The source of an expression that builds the runtime on which cells wait for futures, if the package has one: it has the
    /// methods `enter` and `block_on`.
    pub runtime: Option<String>,
    /// The shared library among them. Cells resolve its symbols when they are loaded, which is faster than to link to it.
    pub library: Option<PathBuf>,
    /// The path of a function that receives the error of a `?` that ends a cell, as a `T: Display` by value, and is
    /// `#[track_caller]`, if the package has one. Without it, the error is shown with `{:?}`.
    pub question_mark: Option<String>,
}

impl Package {
    /// Returns whether the package is linked into each cell that uses it. Procedural macros are not.
    pub(crate) fn is_linked(&self) -> bool {
        let is_library = |file: &PathBuf| file.extension().is_some_and(|it| it == "rlib");
        self.library.is_none() && self.files.iter().any(is_library)
    }
}
