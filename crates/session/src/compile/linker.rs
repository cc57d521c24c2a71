//! Lets rustc call the toolchain's linker directly.
//!
//! rustc links through `cc`, which starts `collect2`, which starts a wrapper, which starts the linker:
//! for a cell, more work than rustc's own. On Linux the linker comes with Rust, so rustc calls it
//! directly, with the folders of the system's libraries that `cc` would have passed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

/// How cells are linked without `cc`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Linker {
    program: PathBuf,
    /// Where the system's libraries are.
    folders: Vec<PathBuf>,
}

/// The libraries that a shared library may need. Only folders with such a library are passed to the
/// linker.
const LIBRARIES: [&str; 3] = ["libc.so", "libgcc_s.so", "libgcc_s.so.1"];

impl Linker {
    /// Returns the linker beside the compiler of this call; `None` where the user has chosen another, or
    /// where linking needs `cc`.
    pub(crate) fn of(call: &[OsString], target: &str) -> Option<Linker> {
        let rustc = Path::new(call.first()?);
        let is_chosen = |argument: &OsString| {
            let text = argument.to_string_lossy();
            text.starts_with("-Clinker") || text.starts_with("linker")
        };
        if !target.ends_with("-linux-gnu") || call.iter().skip(1).any(is_chosen) {
            return None;
        }
        let sysroot = rustc.parent()?.parent()?;
        let program = sysroot
            .join("lib/rustlib")
            .join(target)
            .join("bin/rust-lld");
        let folders = folders_of_cc()?;
        program.is_file().then_some(Linker { program, folders })
    }

    /// Returns the arguments with which rustc calls this linker.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = OsString> {
        let folder = |prefix: &str, path: &Path| {
            let mut argument = OsString::from(prefix);
            argument.push(path);
            argument
        };
        let program = folder("-Clinker=", &self.program);
        let folders = self.folders.iter();
        // Threads take longer to start than they save.
        let settings = ["-Clinker-flavor=ld.lld", "-Clink-arg=--threads=1"];
        std::iter::once(program)
            .chain(settings.map(OsString::from))
            .chain(folders.map(move |path| folder("-Clink-arg=-L", path)))
    }
}

/// Asks `cc` once where it looks for libraries.
fn folders_of_cc() -> Option<Vec<PathBuf>> {
    let output = Command::new("cc").arg("-print-search-dirs").output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    let folders = search_folders(&printed, &|folder| {
        LIBRARIES
            .iter()
            .any(|library| folder.join(library).exists())
    });
    (!folders.is_empty()).then_some(folders)
}

/// Returns the folders of the line `libraries: =…` for which `has_library` holds, each once.
fn search_folders(printed: &str, has_library: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let line = printed
        .lines()
        .find_map(|line| line.strip_prefix("libraries: ="));
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(line.unwrap_or_default()) {
        let folder = folder.canonicalize().unwrap_or(folder);
        if folder.is_absolute() && has_library(&folder) && !found.contains(&folder) {
            found.push(folder);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_libraries_are_named_once() {
        let printed =
            "install: /usr/lib/gcc/\nprograms: =/a\nlibraries: =/l/gcc/:/l/none/:/l/gcc/:/l/64/\n";
        let found = search_folders(printed, &|folder| !folder.ends_with("none"));
        assert_eq!(found, [PathBuf::from("/l/gcc/"), PathBuf::from("/l/64/")]);
        assert!(search_folders("", &|_| true).is_empty());
    }

    #[test]
    fn a_linker_of_the_users_own_is_left_alone() {
        let call = |more: &str| ["/r/bin/rustc".into(), OsString::from(more)];
        assert_eq!(
            Linker::of(&call("-Clinker=clang"), "x86_64-unknown-linux-gnu"),
            None
        );
        assert_eq!(
            Linker::of(&call("--crate-name"), "aarch64-apple-darwin"),
            None
        );
    }
}
