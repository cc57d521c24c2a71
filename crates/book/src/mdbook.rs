//! mdBook, the program that builds the site: a pinned version in Taper's cache.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use taper_host::cache;
use taper_host::lock::Lock;
use taper_host::process;
use taper_host::progress::{Progress, Step, at_the_same_speed, duration};
use taper_host::toolchain;

/// The version for which the theme in `book/theme` is written.
const VERSION: &str = "0.5.4";

/// About how many packages cargo compiles for it.
const PACKAGES: usize = 190;

/// Installs mdBook unless it is installed; returns the path of the program.
///
/// # Errors
///
/// When cargo cannot install it, or when the cache cannot be written.
pub fn ensure(progress: &mut dyn Progress) -> Result<PathBuf> {
    let folder = cache::folder()?.join("mdbook");
    let program = folder.join(format!("mdbook-{VERSION}"));
    if program.exists() {
        return Ok(program);
    }
    cache::make(&folder)?;
    let _lock = Lock::exclusive(&folder, progress)?;
    // Another process may have installed it while this one waited for the lock.
    if !program.exists() {
        install(&folder, &program, progress)?;
    }
    Ok(program)
}

/// Compiles mdBook. The build folder is kept until the end, so that a second attempt continues where the first
/// was killed. Only the complete program is moved to `program`.
fn install(folder: &Path, program: &Path, progress: &mut dyn Progress) -> Result<()> {
    let start = Instant::now();
    progress.line(&format!(
        "Installing mdBook {VERSION} (cargo install), once. \
         It takes about four minutes on two cores, longer when they are busy."
    ));
    let (target, root) = (folder.join("target"), folder.join("root"));
    let toolchain = toolchain::get()?;
    let mut cargo = process::supervised(&toolchain.cargo)?;
    cargo
        .env("PATH", toolchain.search_path())
        .env("CARGO_TERM_COLOR", "never")
        .args(["install", "mdbook", "--version", VERSION])
        .args(["--locked", "--force", "--root"])
        .arg(&root)
        .arg("--target-dir")
        .arg(&target)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = cargo.spawn().context("starting cargo")?;
    let said = child
        .stderr
        .take()
        .map(|said| show(BufReader::new(said), start, progress));
    if !child.wait().context("starting cargo")?.success() {
        bail!(
            "mdBook {VERSION} could not be installed; check the connection, then run the same command again. \
             `cargo install mdbook` printed:\n{}",
            said.unwrap_or_default()
        );
    }
    std::fs::rename(root.join("bin/mdbook"), program)
        .with_context(|| format!("moving mdBook to {}", program.display()))?;
    let _ = std::fs::remove_dir_all(&root);
    let _ = std::fs::remove_dir_all(&target);
    progress.line(&format!("Installed in {}.", duration(start.elapsed())));
    Ok(())
}

/// Shows which package cargo is compiling; returns everything else that cargo prints.
fn show(said: impl BufRead, start: Instant, progress: &mut dyn Progress) -> String {
    let (mut rest, mut done) = (String::new(), 0);
    for line in said.lines().map_while(Result::ok) {
        let Some(package) = line.trim_start().strip_prefix("Compiling ") else {
            rest += &format!("{line}\n");
            continue;
        };
        let elapsed = start.elapsed();
        progress.step(&Step {
            verb: "Compiling".into(),
            name: package.split(' ').next().unwrap_or_default().to_owned(),
            done,
            total: PACKAGES.max(done),
            unit: "".into(),
            elapsed,
            remaining: at_the_same_speed(done, PACKAGES, elapsed),
        });
        done += 1;
    }
    rest
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the steps.
    #[derive(Default)]
    struct Shown(Vec<String>);

    impl Progress for Shown {
        fn line(&mut self, _text: &str) {}

        fn step(&mut self, step: &Step) {
            self.0
                .push(format!("{} {} {}", step.verb, step.done, step.name));
        }
    }

    #[test]
    fn each_package_that_cargo_compiles_is_shown() {
        let said = "    Updating crates.io index\n   Compiling serde v1.0.1\nwarning: old\n   Compiling mdbook v0.5.4\n";
        let mut shown = Shown::default();
        let rest = show(said.as_bytes(), Instant::now(), &mut shown);
        assert_eq!(shown.0, ["Compiling 0 serde", "Compiling 1 mdbook"]);
        assert_eq!(rest, "    Updating crates.io index\nwarning: old\n");
    }
}
