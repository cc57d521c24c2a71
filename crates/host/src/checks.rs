//! Checks that everything a long step needs is available, before the step begins.

use crate::error::OnFile as _;
use crate::version::{self, Version};
use crate::{checkout, toolchain};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// The message for a missing C compiler, with the packages of common systems that contain a compiler.
pub const NO_C_COMPILER: &str = "No C compiler was found. Install one, then run the same command again: \
    `sudo apt install build-essential` (Debian, Ubuntu), `sudo dnf install gcc` (Fedora), \
    `xcode-select --install` (macOS).";

const NO_CPP_COMPILER: &str = "No C++ compiler was found, which CUDA's compiler needs. Install one, then run the same command again: \
    `sudo apt install g++` (Debian, Ubuntu), `sudo dnf install gcc-c++` (Fedora). With --cpu, \
    Taper does without the GPU.";

/// The oldest version of Rust that compiles Taper.
const OLDEST_COMPILER: Version = (1, 95);

/// The newest stable release of Rust with which all tests have passed.
const NEWEST_TESTED: &str = "1.99.1";

/// The free space in bytes that building an image needs.
const DISK_NEEDED: u64 = 2 << 30;

/// Checks for everything that building an image in `folder` needs. If the build has `begun` earlier, it needs
/// less space.
pub fn before_building(folder: &Path, begun: bool) -> Result<()> {
    compiler()?;
    c_compiler()?;
    disk(folder, begun)
}

/// Checks that Rust is installed and new enough.
pub fn compiler() -> Result<()> {
    let release = toolchain::release()?;
    if version::parse(release).is_some_and(|release| release < OLDEST_COMPILER) {
        let (major, minor) = OLDEST_COMPILER;
        let next = toolchain::get()?.how_to_replace();
        bail!("This Rust is too old (found {release}, needed {major}.{minor}). {next}");
    }
    Ok(())
}

/// Says which Rust this is, with which ones Taper was tested, and how to use the newest of them.
pub fn tested() -> Result<String> {
    let release = toolchain::release()?;
    let (taper, (major, minor)) = (env!("CARGO_PKG_VERSION"), OLDEST_COMPILER);
    let this = format!(
        "This is Taper {taper} with Rust {release}; it was tested with Rust {major}.{minor} to {NEWEST_TESTED}."
    );
    if release == NEWEST_TESTED {
        return Ok(this);
    }
    let setup = format!("{} setup", checkout::command());
    Ok(match toolchain::rustup() {
        Some(_) => format!(
            "{this} To use the newest of these: `rustup toolchain install {NEWEST_TESTED}`, then \
             `RUSTUP_TOOLCHAIN={NEWEST_TESTED} {setup}`."
        ),
        None => format!("{this} Install one of these, then run `{setup}` again."),
    })
}

/// Returns the first line that the C compiler prints with `--version`. Rust links programs with the C compiler.
pub fn c_compiler() -> Result<String> {
    let version = version_of(&mut c_compiler_command()).context(NO_C_COMPILER)?;
    Ok(version.lines().next().unwrap_or_default().to_owned())
}

/// Returns the command that calls the C compiler: the variable `CC`, which may have arguments (`ccache gcc`), else `cc`.
pub(crate) fn c_compiler_command() -> Command {
    command_of(&std::env::var("CC").unwrap_or_default())
}

fn command_of(cc: &str) -> Command {
    let words: Vec<&str> = match Path::new(cc).is_file() {
        true => vec![cc],
        false => cc.split_whitespace().collect(),
    };
    let (program, arguments) = words.split_first().unwrap_or((&"cc", &[]));
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Checks for a C++ compiler, without which CUDA's compiler cannot read its own headers.
pub(crate) fn cpp_compiler() -> Result<()> {
    version_of(&mut Command::new("g++"))
        .map(drop)
        .context(NO_CPP_COMPILER)
}

fn version_of(compiler: &mut Command) -> Option<String> {
    let output = compiler.arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

/// Checks that the disk has space to build an image in `folder`; `begun` means that a part of the image exists.
pub fn disk(folder: &Path, begun: bool) -> Result<()> {
    let info = rustix::fs::statvfs(folder).on_file("read the free space of", folder)?;
    let free = info.f_bavail * info.f_frsize;
    if free < if begun { DISK_NEEDED / 4 } else { DISK_NEEDED } {
        bail!(
            "The disk is nearly full: {:.1} GB are free in {}, about {:.0} GB are needed. \
             Free some space, or set TAPER_CACHE to a folder on another disk.",
            free as f64 / 1e9,
            folder.display(),
            DISK_NEEDED as f64 / 1e9
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_the_c_compiler_may_have_arguments_or_be_empty() {
        let words = |cc: &str| {
            let command = command_of(cc);
            let arguments = command.get_args();
            let words = std::iter::once(command.get_program()).chain(arguments);
            words
                .map(|word| word.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(words("clang"), ["clang"]);
        assert_eq!(words("ccache  gcc -m64"), ["ccache", "gcc", "-m64"]);
        assert_eq!(words(""), ["cc"]);
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("my cc");
        std::fs::write(&program, "").expect("a file");
        let program = program.to_string_lossy();
        assert_eq!(words(&program), [program]);
    }
}
