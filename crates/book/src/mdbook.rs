//! mdBook, the program that builds the site: a pinned version in Taper's cache.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use taper_host::cache;
use taper_host::lock::Lock;
use taper_host::process;
use taper_host::progress::{Progress, duration};
use taper_host::toolchain;

/// The version for which the theme in `book/theme` is written.
const VERSION: &str = "0.5.4";

/// Installs mdBook unless it is installed; returns the path of the program.
///
/// # Errors
///
/// When cargo cannot install it, or when the cache cannot be written.
pub fn ensure(progress: &mut dyn Progress) -> Result<PathBuf, Error> {
    let folder = cache::folder().map_err(Error::host)?.join("mdbook");
    let program = folder.join(format!("mdbook-{VERSION}"));
    if program.exists() {
        return Ok(program);
    }
    cache::make(&folder).map_err(Error::host)?;
    let _lock = Lock::exclusive(&folder, progress).map_err(Error::host)?;
    // Another process may have installed it while this one waited for the lock.
    if !program.exists() {
        install(&folder, &program, progress)?;
    }
    Ok(program)
}

/// Compiles mdBook. The build folder is kept until the end, so that a second attempt continues where the first
/// was killed. Only the complete program is moved to `program`.
fn install(folder: &Path, program: &Path, progress: &mut dyn Progress) -> Result<(), Error> {
    let start = Instant::now();
    progress.line(&format!(
        "Installing mdBook {VERSION} (cargo install). \
         This takes about four minutes on two cores, once."
    ));
    let (target, root) = (folder.join("target"), folder.join("root"));
    let toolchain = toolchain::get().map_err(Error::host)?;
    let mut cargo = process::supervised(&toolchain.cargo).map_err(Error::host)?;
    cargo
        .env("PATH", toolchain.search_path())
        .args(["install", "mdbook", "--version", VERSION])
        .args(["--locked", "--quiet", "--force", "--root"])
        .arg(&root)
        .arg("--target-dir")
        .arg(&target)
        .current_dir(folder)
        .stdin(Stdio::null());
    let output = cargo.output().map_err(|source| Error::Start {
        program: "cargo",
        source,
    })?;
    if !output.status.success() {
        return Err(Error::Install {
            version: VERSION,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    std::fs::rename(root.join("bin/mdbook"), program)
        .map_err(Error::io("moving mdBook to", program))?;
    let _ = std::fs::remove_dir_all(&root);
    let _ = std::fs::remove_dir_all(&target);
    progress.line(&format!("Installed in {}.", duration(start.elapsed())));
    Ok(())
}

/// Returns the command that starts mdBook, without arguments; in it, the program `taper` renders the notebooks.
pub fn command(program: &Path, taper: &Path) -> Command {
    let taper = format!("'{}' mdbook", taper.display());
    let mut command = Command::new(program);
    command
        .env("MDBOOK_PREPROCESSOR__TAPER__COMMAND", &taper)
        .env("MDBOOK_OUTPUT__TAPER__COMMAND", format!("{taper} render"));
    command
}
