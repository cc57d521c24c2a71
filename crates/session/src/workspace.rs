//! The folder of one session, and the environment variables that lead evcxr to it.

use crate::compile;
use crate::error::Result;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::path::{Path, PathBuf};
use std::process::Command;
use taper_host::cache;
use taper_host::checks;
use taper_host::gpu::settings::Settings;
use taper_host::progress::Console;

/// Cargo's configuration, which says how cells and their dependencies are compiled. It is in the folder
/// above the work directory, where cargo finds it and evcxr does not write.
///
/// Dependencies are optimized. Cells are compiled fast instead, and keep the checks that report
/// mistakes (overflow, debug assertions).
pub const CARGO_CONFIG: &str = r#"
[profile.dev]
opt-level = 1
debug-assertions = false
overflow-checks = false

# What computes.
[profile.dev.package]
taper = { opt-level = 3 }
candle-core = { opt-level = 2 }
gemm-common = { opt-level = 3 }
gemm-f32 = { opt-level = 3 }
gemm-f64 = { opt-level = 3 }
ppv-lite86 = { opt-level = 3 }
rand_chacha = { opt-level = 3 }
rayon = { opt-level = 3 }
rayon-core = { opt-level = 3 }
# What a course never calls: Candle has it for language models and complex numbers. A fifth of the
# first build.
aho-corasick = { opt-level = 0 }
compact_str = { opt-level = 0 }
daachorse = { opt-level = 0 }
fancy-regex = { opt-level = 0 }
gemm-c32 = { opt-level = 0 }
gemm-c64 = { opt-level = 0 }
nom = { opt-level = 0 }
raw-cpuid = { opt-level = 0 }
regex-automata = { opt-level = 0 }
regex-syntax = { opt-level = 0 }
rustix = { opt-level = 0 }
tempfile = { opt-level = 0 }
tokenizers = { opt-level = 0 }
typed-path = { opt-level = 0 }
zip = { opt-level = 0 }

[profile.dev.package.ctx]
opt-level = 1
debug-assertions = true
overflow-checks = true
"#;

/// The folder of one session. Dropping it removes the folder.
pub struct Workspace {
    folder: PathBuf,
}

impl Workspace {
    /// Creates a folder for this process, and removes the folders of processes that were killed.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, or Rust has no component `rust-src` and it cannot be added.
    pub fn create() -> Result<Workspace> {
        // The folder contains a link to the source of the standard library.
        checks::add_rust_src(&mut Console::new())?;
        let sessions = cache::folder()?.join("sessions");
        cache::make(&sessions)?;
        remove_abandoned(&sessions);
        let name = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
        let folder = sessions.join(name);
        let work = folder.join("work");
        cache::make(&work)?;
        prepare(&folder)?;
        Ok(Workspace { folder })
    }

    /// Returns evcxr's work directory.
    pub fn path(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Writes cargo's configuration again, after `taper setup` has changed the settings.
    ///
    /// # Errors
    ///
    /// When the settings cannot be read, or the file cannot be written.
    pub fn configure(&self) -> Result<()> {
        configure(&self.folder)
    }

    /// Removes the folder to which this evcxr work directory belongs.
    pub fn remove(work: &Path) {
        if let Some(folder) = work.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }

    /// Sets the environment variables that lead evcxr to the folder.
    ///
    /// # Errors
    ///
    /// When the Rust toolchain is not found.
    ///
    /// # Safety
    ///
    /// No other thread may read or write the environment: call it first in `main`.
    pub unsafe fn enter(&self) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { enter(&self.path()) }
    }
}

/// Leads evcxr to a work directory, and away from the user's own configuration of evcxr.
///
/// # Safety
///
/// No other thread may read or write the environment.
pub(crate) unsafe fn enter(work: &Path) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        std::env::set_var("EVCXR_TMPDIR", work);
        std::env::set_var("EVCXR_CONFIG_DIR", work);
        match work.parent() {
            Some(folder) => compile::enter(folder),
            None => Ok(()),
        }
    }
}

/// Returns the names of the variables that [`Workspace::enter`] sets.
pub fn variables() -> impl Iterator<Item = &'static str> {
    ["EVCXR_TMPDIR", "EVCXR_CONFIG_DIR"]
        .into_iter()
        .chain(compile::VARIABLES)
}

/// Removes from a command's environment what [`Workspace::enter`] set, for a process that does not belong to
/// the session, such as a program that a cell starts.
pub fn leave(command: &mut Command) {
    command
        .env_remove("EVCXR_TMPDIR")
        .env_remove("EVCXR_CONFIG_DIR");
    compile::leave(command);
}

/// Does the same as [`leave`] for a shell command of the user, and puts the session's toolchain first on its
/// PATH.
pub(crate) fn leave_to_user(command: &mut Command) {
    leave(command);
    compile::leave_with_toolchain(command);
}

/// Writes the files beside the work directory in `folder`.
pub(crate) fn prepare(folder: &Path) -> Result<()> {
    configure(folder)?;
    compile::prepare(folder)
}

/// Writes cargo's configuration for the device that `taper setup` has selected.
fn configure(folder: &Path) -> Result<()> {
    let settings = Settings::read()?.unwrap_or_default();
    let config = format!("{CARGO_CONFIG}{}", settings.cargo_config());
    cache::make(&folder.join(".cargo"))?;
    let file = folder.join(".cargo/config.toml");
    Ok(cache::write_atomically(&file, config.as_bytes())?)
}

impl Drop for Workspace {
    fn drop(&mut self) {
        Self::remove(&self.path());
    }
}

fn remove_abandoned(sessions: &Path) {
    let Ok(folders) = std::fs::read_dir(sessions) else {
        return;
    };
    for folder in folders.flatten() {
        let name = folder.file_name();
        let pid = name
            .to_str()
            .and_then(|n| n.split('-').next()?.parse().ok());
        if pid.is_some_and(|pid| !is_alive(pid)) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

fn is_alive(pid: i32) -> bool {
    // A process of another user answers with `PERM`.
    Pid::from_raw(pid)
        .is_some_and(|pid| matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM)))
}
