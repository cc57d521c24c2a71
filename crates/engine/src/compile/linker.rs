//! Links a cell without libraries.
//!
//! rustc would call `cc`, which calls the linker with all packages. But the process that loads a cell has all
//! shared libraries already, so the linker that comes with Rust makes the shared library from the cell's object
//! file alone. A cell that needs more than that is linked by rustc.

use crate::config::Config;
use crate::error::compiler_failed;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The linker that comes with Rust.
pub(super) struct Linker(PathBuf);

impl Linker {
    /// Returns the linker; `None` on systems where it is not known to work like this.
    pub(super) fn find(config: &Config) -> Option<Linker> {
        let folder = config.sysroot.join("lib/rustlib").join(&config.target);
        let program = folder.join("bin/rust-lld");
        let is_known = config.target.ends_with("-linux-gnu");
        (is_known && program.is_file()).then_some(Linker(program))
    }

    /// Makes a shared library from an object file.
    pub(super) fn link(&self, object: &Path, library: &Path) -> Result<()> {
        let output = Command::new(&self.0)
            .args([
                "-flavor",
                "gnu",
                "-shared",
                "--eh-frame-hdr",
                "--hash-style=gnu",
            ])
            // Threads take longer to start than they save.
            .args(["--gc-sections", "--threads=1", "-o"])
            .args([library, object])
            .output()
            .context("cannot start the linker")?;
        if output.status.success() {
            return Ok(());
        }
        let printed = String::from_utf8_lossy(&output.stderr);
        Err(compiler_failed("the linker", printed))
    }
}
