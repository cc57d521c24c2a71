//! mdBook, the program that makes the site: a pinned version in Taper's cache.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use taper_host::cache;
use taper_host::lock::Lock;
use taper_host::process;
use taper_host::progress::{Progress, duration};

/// Its pages are those that the theme in `book/theme` fits.
pub const VERSION: &str = "0.5.4";

/// The program; installed if it is not there.
pub fn ensure(progress: &mut dyn Progress) -> Result<PathBuf> {
    let folder = cache::folder()?.join("mdbook");
    let program = folder.join(format!("mdbook-{VERSION}"));
    if program.exists() {
        return Ok(program);
    }
    cache::make(&folder)?;
    let _lock = Lock::exclusive(&folder, progress)?;
    // Another set-up may have installed it while we waited.
    if !program.exists() {
        install(&folder, &program, progress)?;
    }
    Ok(program)
}

/// Compiles it. What was compiled stays until the end, so a second try goes on where the first one
/// was killed; the program gets its name when it is complete.
fn install(folder: &Path, program: &Path, progress: &mut dyn Progress) -> Result<()> {
    let start = Instant::now();
    progress.line(&format!(
        "Installing mdBook {VERSION} (cargo install). \
         This takes about four minutes on two cores, once."
    ));
    let (work, root) = (folder.join("target"), folder.join("root"));
    let mut cargo = process::supervised("cargo")?;
    cargo
        .args([
            "install",
            "mdbook",
            "--locked",
            "--quiet",
            "--force",
            "--version",
            VERSION,
            "--root",
        ])
        .arg(&root)
        .arg("--target-dir")
        .arg(&work)
        .current_dir(folder)
        .stdin(Stdio::null());
    let output = cargo.output().context("starting cargo")?;
    if !output.status.success() {
        bail!(
            "mdBook {VERSION} could not be installed; check the connection, then run the same command again. \
             `cargo install mdbook` said:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    std::fs::rename(root.join("bin/mdbook"), program)
        .with_context(|| format!("moving mdBook to {}", program.display()))?;
    let _ = std::fs::remove_dir_all(&root);
    let _ = std::fs::remove_dir_all(&work);
    progress.line(&format!("Installed in {}.", duration(start.elapsed())));
    Ok(())
}

/// A call of mdBook in which the program `taper` renders the notebooks.
pub fn command(program: &Path, taper: &Path) -> Command {
    let taper = format!("'{}' mdbook", taper.display());
    let mut command = Command::new(program);
    command
        .env("MDBOOK_PREPROCESSOR__TAPER__COMMAND", &taper)
        .env("MDBOOK_OUTPUT__TAPER__COMMAND", format!("{taper} render"));
    command
}
