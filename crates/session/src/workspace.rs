//! The folder of one session.

use anyhow::Result;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use taper_host::cache;
use taper_host::components;
use taper_host::error::OnFile as _;
use taper_host::gpu::settings::Settings;
use taper_host::progress::Console;

/// Cargo's configuration, which says how cells and their dependencies are compiled. It is in the folder
/// above the work directory, where cargo finds it.
///
/// Dependencies are optimized. Cells are compiled fast instead, and keep the checks that report
/// mistakes (overflow, debug assertions).
pub const CARGO_CONFIG: &str = r#"
[profile.dev]
opt-level = 1
debug-assertions = false
overflow-checks = false

# With one codegen unit per package, there is no LTO between units. On two cores, the packages of an image other than
# Candle and Taper compile in 0.88 of the time. Large ones keep 16 units, so that they use all cores.
[profile.dev.build-override]
codegen-units = 1

[profile.dev.package."*"]
codegen-units = 1

# What is large or computes.
[profile.dev.package]
# An image is built once: what is kept for the next build takes time.
# Crates without loops over elements have the level "s", with which networks train as fast. Optimisers have such loops in
# `taper-nn`, images in `taper-display` and in `taper-data`, where a transform would take nine times as long.
taper = { opt-level = "s", codegen-units = 16, incremental = false }
taper-compute = { opt-level = 3, codegen-units = 16, incremental = false }
taper-data = { opt-level = 3, codegen-units = 16, incremental = false }
taper-display = { opt-level = 3, codegen-units = 16, incremental = false }
taper-distributed = { opt-level = 3, codegen-units = 16, incremental = false }
taper-extra = { opt-level = "s", codegen-units = 16, incremental = false }
taper-nn = { opt-level = 3, codegen-units = 16, incremental = false }
taper-tensor = { opt-level = 3, codegen-units = 16, incremental = false }
taper-train = { opt-level = "s", codegen-units = 16, incremental = false }
candle-core = { opt-level = 2, codegen-units = 16 }
candle-nn = { codegen-units = 16 }
gemm-common = { opt-level = 3 }
gemm-f32 = { opt-level = 3, codegen-units = 16 }
gemm-f64 = { opt-level = 3, codegen-units = 16 }
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
tokenizers = { opt-level = 0, codegen-units = 16 }
typed-path = { opt-level = 0 }
zip = { opt-level = 0 }

[profile.dev.package.ctx]
opt-level = 1
debug-assertions = true
overflow-checks = true
"#;

/// Returns the dependency on the crate `taper`, as a line of a manifest or for `:dep`.
pub(crate) fn dependency(taper: &Path, features: &[String]) -> String {
    let text = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let path = text(&taper.to_string_lossy());
    let features: Vec<String> = features.iter().map(|feature| text(feature)).collect();
    match features.is_empty() {
        true => format!("taper = {{ path = {path} }}"),
        false => format!(
            "taper = {{ path = {path}, features = [{}] }}",
            features.join(", ")
        ),
    }
}

/// The file in a session's folder that is locked as long as the session runs. A process id would not be
/// enough: the process may run in another container, or its id may have been reused.
const ALIVE: &str = "alive";

/// The folder of one session. Dropping it removes the folder.
pub struct Workspace {
    folder: PathBuf,
    _alive: File,
}

impl Workspace {
    /// Creates a folder that only this user can open, and removes the folders of sessions that were killed.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, or Rust has no component `rust-src` and it cannot be added.
    pub fn create() -> Result<Workspace> {
        // The analysis reads it.
        components::add_library_source(&mut Console::new())?;
        Workspace::create_in(&cache::folder()?.join("sessions"))
    }

    fn create_in(sessions: &Path) -> Result<Workspace> {
        cache::make(sessions)?;
        // Compilers report real paths.
        let sessions = &sessions.canonicalize().on_file("find", sessions)?;
        // The folders contain the sources of cells.
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(sessions, private).on_file("protect", sessions)?;
        // A new folder looks abandoned until its file is locked.
        let creating = File::open(sessions).on_file("open", sessions)?;
        let _ = creating.lock();
        remove_abandoned(sessions);
        let folder = sessions.join(uuid::Uuid::new_v4().simple().to_string());
        cache::make(&folder.join("work"))?;
        let file = folder.join(ALIVE);
        let alive = File::create(&file).on_file("create", &file)?;
        // On a file system without locks, no other session regards this one as abandoned.
        let _ = alive.try_lock();
        configure(&folder)?;
        Ok(Workspace {
            folder,
            _alive: alive,
        })
    }

    /// Returns the folder in which packages are compiled.
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

    /// Removes the folder to which this work directory belongs.
    pub fn remove(work: &Path) {
        if let Some(folder) = work.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }

    /// Where evcxr is built in, sets the variables that lead it to the folder.
    ///
    /// # Safety
    ///
    /// No other thread may read or write the environment: call it first in `main`.
    pub unsafe fn enter(&self) {
        #[cfg(feature = "evcxr")]
        for name in crate::environment::OF_EVCXR {
            // SAFETY: guaranteed by the caller.
            unsafe { std::env::set_var(name, self.path()) };
        }
    }
}

/// Writes cargo's configuration for the device that `taper setup` has selected into `folder`, above the work directory.
pub(crate) fn configure(folder: &Path) -> Result<()> {
    let settings = Settings::read()?.unwrap_or_default();
    let config = format!("{CARGO_CONFIG}{}", settings.cargo_config());
    cache::make(&folder.join(".cargo"))?;
    let file = folder.join(".cargo/config.toml");
    cache::write_atomically(&file, config.as_bytes())
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
    for folder in folders.flatten().map(|entry| entry.path()) {
        if folder.is_dir() && is_abandoned(&folder) {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    match File::open(folder.join(ALIVE)) {
        Ok(file) => file.try_lock_shared().is_ok(),
        // After any other error, such as too many open files, the session may be alive.
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(sessions: &Path) -> usize {
        let entries = std::fs::read_dir(sessions).expect("a folder").flatten();
        entries.filter(|entry| entry.path().is_dir()).count()
    }

    #[test]
    fn a_session_lives_as_long_as_its_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let sessions = folder.path().join("sessions");
        let living = Workspace::create_in(&sessions).expect("a workspace");
        // Left by a killed process, whose lock is gone. The id in the second name, which an earlier version
        // wrote, belongs to a living process: this one.
        let killed = sessions.join("killed");
        cache::make(&killed).expect("a folder");
        File::create(killed.join(ALIVE)).expect("a file");
        let old = sessions.join(format!("{}-0", std::process::id()));
        cache::make(&old.join("work")).expect("a folder");
        let another = Workspace::create_in(&sessions).expect("a workspace");
        assert!(living.path().exists() && another.path().exists());
        assert_eq!(folders(&sessions), 2);
        let mode = std::fs::metadata(&sessions)
            .expect("it exists")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o700);
    }

    #[test]
    fn a_session_whose_lock_cannot_be_opened_is_not_abandoned() {
        let folder = tempfile::tempdir().expect("a folder");
        let alive = folder.path().join(ALIVE);
        assert!(is_abandoned(folder.path()));
        // As with too many open files, this error does not say that the file is missing.
        std::os::unix::fs::symlink(&alive, &alive).expect("a link to itself");
        assert!(!is_abandoned(folder.path()));
    }
}
