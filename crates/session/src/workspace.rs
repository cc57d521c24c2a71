//! The folder in which one session works.

use crate::compile;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use taper_host::cache;
use taper_host::checks;
use taper_host::gpu::settings::Settings;
use taper_host::progress::Console;

/// How cells and the packages below them are compiled. It lies beside the work directory, where
/// cargo finds it and evcxr does not write.
///
/// Packages are optimised; the student's own cells are compiled for speed of compiling, and keep
/// the checks (overflow, debug assertions) that tell a learner of mistakes.
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

/// Removed with all that is in it when dropped.
pub struct WorkFolder {
    folder: PathBuf,
}

impl WorkFolder {
    /// A new folder for this process; clears away those of processes that were killed.
    pub fn create() -> Result<WorkFolder> {
        // A part of it leads to the source of Rust's library.
        checks::add_rust_src(&mut Console::new())?;
        let sessions = cache::folder()?.join("sessions");
        cache::make(&sessions)?;
        remove_abandoned(&sessions);
        let name = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
        let folder = sessions.join(name);
        let work = folder.join("work");
        cache::make(&work)?;
        prepare(&folder)?;
        Ok(WorkFolder { folder })
    }

    /// evcxr's work directory.
    pub fn path(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Takes over what set-up has decided since the folder was made.
    pub fn configure(&self) -> Result<()> {
        configure(&self.folder)
    }

    /// Removes the folder to which this evcxr work directory belongs.
    pub fn remove(work: &Path) {
        if let Some(folder) = work.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }

    /// Tells evcxr about the folder.
    ///
    /// # Safety
    /// No other thread may read or write the environment: call it first in `main`.
    pub unsafe fn enter(&self) -> Result<()> {
        // SAFETY: promised by the caller.
        unsafe { enter(&self.path()) }
    }
}

/// Points evcxr to a work directory, and away from a configuration of the person's own.
///
/// # Safety
/// No other thread may read or write the environment.
pub unsafe fn enter(work: &Path) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        std::env::set_var("EVCXR_TMPDIR", work);
        std::env::set_var("EVCXR_CONFIG_DIR", work);
        match work.parent() {
            Some(folder) => compile::enter(folder),
            None => Ok(()),
        }
    }
}

/// The variables that [`enter`] sets.
pub fn variables() -> impl Iterator<Item = &'static str> {
    ["EVCXR_TMPDIR", "EVCXR_CONFIG_DIR"]
        .into_iter()
        .chain(compile::VARIABLES)
}

/// Hides from a child process what [`enter`] set: a program that a cell starts is none of ours.
pub fn leave(command: &mut Command) {
    command
        .env_remove("EVCXR_TMPDIR")
        .env_remove("EVCXR_CONFIG_DIR");
    compile::leave(command);
}

/// [`leave`], for a command of the user's, which finds the session's toolchain first on its PATH.
pub fn leave_to_user(command: &mut Command) {
    leave(command);
    compile::leave_with_toolchain(command);
}

/// Writes what lies beside the work directory in `folder`.
pub fn prepare(folder: &Path) -> Result<()> {
    configure(folder)?;
    compile::prepare(folder)
}

/// Writes cargo's configuration, which follows the device that set-up has chosen.
fn configure(folder: &Path) -> Result<()> {
    let settings = Settings::read()?.unwrap_or_default();
    let config = format!("{CARGO_CONFIG}{}", settings.cargo_config());
    cache::make(&folder.join(".cargo"))?;
    let file = folder.join(".cargo/config.toml");
    Ok(cache::write_atomically(&file, config.as_bytes())?)
}

impl Drop for WorkFolder {
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
    // SAFETY: signal 0 only asks.
    let result = unsafe { libc::kill(pid, 0) };
    result == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}
