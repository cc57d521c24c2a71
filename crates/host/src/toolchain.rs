//! The Rust toolchain that compiles images and cells: found once, named by absolute paths.
//!
//! One toolchain serves the image's key, the image, sessions, `:dep` and shell cells; a
//! `rust-toolchain.toml` in a notebook's folder has no effect. The toolchain is, in this order:
//!
//! 1. the toolchain of the process that started us ([`RUSTC_VARIABLE`]),
//! 2. the toolchain that `RUSTUP_TOOLCHAIN` names,
//! 3. the toolchain with which Taper was set up ([`Toolchain::remember`]),
//! 4. the toolchain of the `rustc` on the PATH, or in one of the folders where Rust is usually installed: a
//!    kernel that a desktop starts has a shorter PATH than a terminal.
//!
//! `taper setup` chooses again ([`choose`]): it skips 3.

use crate::error::OnFile as _;
use crate::{cache, store};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The environment variable with the path of `rustc`, for the processes that we start.
pub const RUSTC_VARIABLE: &str = "TAPER_RUSTC";

/// An installed Rust toolchain.
#[derive(Debug)]
pub struct Toolchain {
    /// The compiler itself, not rustup's proxy.
    pub rustc: PathBuf,
    /// The toolchain's cargo.
    pub cargo: PathBuf,
    /// The folder in which the toolchain is installed.
    pub sysroot: PathBuf,
    /// The output of `rustc -vV`.
    pub version: String,
}

impl Toolchain {
    fn new(rustc: &Path) -> Result<Toolchain> {
        // Not the current folder: a file beside a notebook must not choose the toolchain.
        let neutral = cache::folder()?;
        let ask = |program: &Path, arguments: &[&str]| ask(program, arguments, &neutral);
        let sysroot = match installed_in(rustc) {
            Some(sysroot) => sysroot,
            None => PathBuf::from(ask(rustc, &["--print", "sysroot"])?.trim()),
        };
        let tool = |name: &str| Some(sysroot.join("bin").join(name)).filter(|path| path.is_file());
        let rustc = tool("rustc").unwrap_or_else(|| rustc.to_owned());
        let cargo = tool("cargo")
            .or_else(|| find("cargo"))
            .context("cargo was not found beside rustc: install Rust from https://rustup.rs")?;
        let version = ask(&rustc, &["-vV"])?;
        cache::unicode("the folder of Rust", &rustc, "Install Rust in another one.")?;
        Ok(Toolchain {
            rustc,
            cargo,
            sysroot,
            version,
        })
    }

    /// Returns a command that runs a program of this toolchain: a name, such as `rustfmt`, or [`cargo`](Self::cargo).
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("PATH", self.search_path());
        command
    }

    /// Returns the variable `PATH` with the programs of this toolchain first: from there, its cargo starts `rustc` and
    /// `rustdoc`, which need not be on the user's PATH.
    pub fn search_path(&self) -> OsString {
        let path = path();
        let folders = std::env::split_paths(&path);
        let folders = std::iter::once(self.sysroot.join("bin")).chain(folders);
        // A colon in the name of a folder cannot be on a PATH.
        std::env::join_paths(folders).unwrap_or(path)
    }

    /// Stores this toolchain for later processes, which use it whatever is on their PATH. `taper setup` calls this
    /// function.
    pub fn remember(&self) -> Result<()> {
        let remembered = Remembered {
            rustc: self.rustc.clone(),
        };
        let text = serde_json::json!(remembered).to_string();
        cache::write_atomically(&file()?, text.as_bytes())
    }

    /// Returns rustup's name of the toolchain, such as `stable-x86_64-unknown-linux-gnu`; `None` if rustup did not
    /// install it.
    pub fn rustup_name(&self) -> Option<&str> {
        let folder = self.sysroot.parent()?;
        (folder.file_name()? == "toolchains").then_some(self.sysroot.file_name()?.to_str()?)
    }

    /// Returns whether the compiler is a beta, nightly or local build.
    pub fn is_unstable(&self) -> bool {
        self.line("release: ")
            .is_ok_and(|release| release.contains('-'))
    }

    /// Returns a message that explains how to get a version of Rust that compiles Taper.
    pub fn how_to_replace(&self) -> &'static str {
        match self.rustup_name() {
            Some(name) if !name.starts_with("stable") => {
                "Run `rustup update stable && rustup default stable`, then `cargo taper setup`."
            }
            None if rustup().is_none() => {
                "Install the newest from https://rustup.rs, then run the same command again."
            }
            _ => "Run `rustup update stable`, then the same command again.",
        }
    }

    fn line(&self, begin: &str) -> Result<&str> {
        let found = self
            .version
            .lines()
            .find_map(|line| line.strip_prefix(begin));
        found.with_context(|| format!("`rustc -vV` prints no line that begins with `{begin}`"))
    }
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    rustc: PathBuf,
}

const FILE: &str = "toolchain.json";
const ANALYZER: &str = "rust-analyzer";

pub(crate) const NO_ANALYZER: &str = "Methods are not completed, and documentation is not shown, because rust-analyzer is not installed. \
    Run `rustup component add rust-analyzer`, or install the package `rust-analyzer`.";

fn file() -> Result<PathBuf> {
    Ok(cache::folder()?.join(FILE))
}

static FOUND: OnceLock<Toolchain> = OnceLock::new();

/// Returns the toolchain of this process.
pub fn get() -> Result<&'static Toolchain> {
    match FOUND.get() {
        Some(found) => Ok(found),
        None => set(rustc(remembered)?),
    }
}

/// Chooses the toolchain of this process as if none was stored. Must be called before [`get`].
pub fn choose() -> Result<&'static Toolchain> {
    set(rustc(|| None)?)
}

fn set(rustc: PathBuf) -> Result<&'static Toolchain> {
    let found = Toolchain::new(&rustc)?;
    Ok(FOUND.get_or_init(|| found))
}

/// Returns the program rust-analyzer, of this toolchain or from the PATH.
///
/// # Errors
///
/// When it is not installed.
pub fn analyzer() -> Result<PathBuf> {
    let own = sysroot()?.join("bin").join(ANALYZER);
    // rustup's proxy, a link, fails without the component.
    let is_program = |path: &PathBuf| {
        let real = path.canonicalize();
        real.is_ok_and(|real| real.file_name() == Some(OsStr::new(ANALYZER)))
    };
    let found = Some(own).filter(|own| own.is_file());
    let found = found.or_else(|| find(ANALYZER).filter(is_program));
    found.context(NO_ANALYZER)
}

/// Returns the program `rustup`, if there is one.
pub(crate) fn rustup() -> Option<PathBuf> {
    find("rustup")
}

/// Returns the output of `rustc -vV`: version, commit and host.
pub fn version() -> Result<&'static str> {
    Ok(&get()?.version)
}

/// Returns the release of the compiler, such as `1.95.0`.
pub fn release() -> Result<&'static str> {
    get()?.line("release: ")
}

/// Returns the compiler's default target, such as `x86_64-unknown-linux-gnu`.
pub fn host() -> Result<&'static str> {
    get()?.line("host: ")
}

/// Returns the folder in which the toolchain is installed.
pub fn sysroot() -> Result<&'static Path> {
    Ok(&get()?.sysroot)
}

/// Returns the folder with the compiled libraries of the toolchain, such as `std`.
pub fn library_folder() -> Result<PathBuf> {
    Ok(sysroot()?.join("lib/rustlib").join(host()?).join("lib"))
}

/// Returns the variable `PATH`, or the usual folders of programs if it is not set.
pub fn path() -> OsString {
    let path = std::env::var_os("PATH").filter(|path| !path.is_empty());
    path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

fn rustc(remembered: impl FnOnce() -> Option<PathBuf>) -> Result<PathBuf> {
    if let Some(rustc) = variable(RUSTC_VARIABLE) {
        return Ok(rustc.into());
    }
    if variable("RUSTUP_TOOLCHAIN").is_none()
        && let Some(rustc) = remembered()
    {
        return Ok(rustc);
    }
    find("rustc")
        .context("Rust was not found: install it from https://rustup.rs, then open a new terminal")
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn remembered() -> Option<PathBuf> {
    let text = std::fs::read(store::find(FILE).ok()?).ok()?;
    let remembered: Remembered = serde_json::from_slice(&text).ok()?;
    Some(remembered.rustc).filter(|rustc| rustc.is_file())
}

/// Returns the path of a program on the PATH, or in a folder where Rust is usually installed.
fn find(name: &str) -> Option<PathBuf> {
    let home = dirs::home_dir();
    let own = std::env::current_exe().ok();
    let usual = [
        variable("CARGO_HOME").map(|home| PathBuf::from(home).join("bin")),
        home.map(|home| home.join(".cargo/bin")),
        variable("CONDA_PREFIX").map(|prefix| PathBuf::from(prefix).join("bin")),
        own.and_then(|own| Some(own.parent()?.to_owned())),
        Some("/usr/local/bin".into()),
        Some("/usr/bin".into()),
        Some("/opt/homebrew/bin".into()),
    ];
    let folders: Vec<PathBuf> = std::env::split_paths(&path()).collect();
    let folders = folders.into_iter().chain(usual.into_iter().flatten());
    folders
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Returns the folder of the toolchain that contains this compiler, or `None` if the program is rustup's proxy.
fn installed_in(rustc: &Path) -> Option<PathBuf> {
    let rustc = rustc.canonicalize().ok()?;
    if rustc.file_name() != Some(OsStr::new("rustc")) {
        return None; // rustup, whose proxies are links
    }
    let sysroot = rustc.parent()?.parent()?;
    sysroot
        .join("lib/rustlib")
        .is_dir()
        .then(|| sysroot.to_owned())
}

fn ask(program: &Path, arguments: &[&str], folder: &Path) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("PATH", path())
        .output()
        .on_file("start", program)?;
    if !output.status.success() {
        let (program, arguments) = (program.display(), arguments.join(" "));
        let printed = String::from_utf8_lossy(&output.stderr);
        bail!("`{program} {arguments}` failed:\n{printed}");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_unsuitable_rust_is_replaced_by_the_command_of_who_installed_it() {
        let installed = |sysroot: &str| Toolchain {
            rustc: PathBuf::from(sysroot).join("bin/rustc"),
            cargo: PathBuf::from(sysroot).join("bin/cargo"),
            sysroot: sysroot.into(),
            version: String::new(),
        };
        let stable = installed("/home/ada/.rustup/toolchains/stable-x86_64-unknown-linux-gnu");
        assert!(stable.how_to_replace().contains("`rustup update stable`"));
        let nightly = installed("/home/ada/.rustup/toolchains/nightly-x86_64-unknown-linux-gnu");
        assert!(nightly.how_to_replace().contains("rustup default stable"));
        assert_eq!(installed("/usr").rustup_name(), None);
    }

    #[test]
    fn programs_of_the_toolchain_need_not_be_on_the_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let (sysroot, bin) = (folder.path().to_owned(), folder.path().join("bin"));
        std::fs::create_dir_all(&bin).expect("a folder");
        // The first program starts the second one, as cargo starts rustc.
        for (name, script) in [("outer", "exec inner"), ("inner", "echo found")] {
            let program = bin.join(name);
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, executable).expect("it is ours");
        }
        let toolchain = Toolchain {
            rustc: bin.join("rustc"),
            cargo: bin.join("cargo"),
            sysroot,
            version: String::new(),
        };
        for program in [Path::new("outer"), &bin.join("outer")] {
            let output = toolchain.command(program).output().expect("it starts");
            assert_eq!(output.stdout, b"found\n", "{}", program.display());
        }
    }

    #[test]
    fn a_compiler_in_its_toolchain_needs_no_question() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it exists");
        let (bin, rustlib) = (folder.join("bin"), folder.join("lib/rustlib"));
        std::fs::create_dir_all(&bin).expect("a folder");
        std::fs::write(bin.join("rustc"), "").expect("a file");
        assert_eq!(installed_in(&bin.join("rustc")), None);
        std::fs::create_dir_all(&rustlib).expect("a folder");
        assert_eq!(installed_in(&bin.join("rustc")), Some(folder.clone()));
        std::fs::rename(bin.join("rustc"), bin.join("rustup")).expect("it is renamed");
        std::os::unix::fs::symlink("rustup", bin.join("rustc")).expect("a link");
        assert_eq!(installed_in(&bin.join("rustc")), None, "a proxy");
    }
}
