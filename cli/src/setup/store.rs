//! A store: a cache that an administrator fills and all users read (`TAPER_STORE`).

use super::{kernelspec, labextension};
use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use taper_host::progress::Progress;
use taper_host::{cache, components, toolchain};
use taper_session::image::Image;

/// Makes the folder `prefix` the cache of this process, also for the sources of packages. Returns its
/// canonical path.
///
/// # Safety
///
/// No other thread may read or write the environment.
pub(crate) unsafe fn enter(prefix: &Path) -> Result<PathBuf> {
    cache::make(prefix)?;
    let store = prefix.canonicalize()?;
    // SAFETY: promised by the caller.
    unsafe {
        std::env::set_var(cache::VARIABLE, &store);
        std::env::set_var("CARGO_HOME", store.join(taper_session::STORED_CARGO_HOME));
        std::env::remove_var(taper_host::store::VARIABLE);
    }
    Ok(store)
}

/// Compiles what is missing in the store, and lets all users read it.
pub(crate) fn fill(store: &Path, progress: &mut dyn Progress) -> Result<()> {
    components::add_analyzer(progress);
    Image::ensure(&taper_session::image_key()?, progress)?;
    let toolchain = toolchain::get()?;
    toolchain.remember()?;
    let jupyter = store.join("share/jupyter");
    kernelspec::install_for_all(store, &jupyter)?;
    labextension::install(&jupyter, progress)?;
    make_readable(store)?;
    if !is_for_all(&toolchain.rustc) {
        progress.line(&format!(
            "Only you can run {}: install Rust where all users can, then run the same command again.",
            toolchain.rustc.display()
        ));
    }
    progress.line(&format!(
        "The store is ready. Users need JUPYTER_PATH={}, and in a terminal {}={}.",
        jupyter.display(),
        taper_host::store::VARIABLE,
        store.display()
    ));
    Ok(())
}

/// Lets all users read a folder, and execute what its owner can.
fn make_readable(path: &Path) -> Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Ok(());
    }
    let mode = metadata.permissions().mode();
    let of_owner = mode & 0o500;
    let all = mode | (of_owner >> 3) | (of_owner >> 6);
    if all != mode {
        let readable = fs::set_permissions(path, Permissions::from_mode(all));
        readable.with_context(|| format!("making {} readable for all", path.display()))?;
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            make_readable(&entry?.path())?;
        }
    }
    Ok(())
}

/// Returns whether others may execute a program and enter all folders above it.
pub(crate) fn is_for_all(program: &Path) -> bool {
    let is_open =
        |path: &Path| fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o001 != 0);
    program.ancestors().all(is_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_users_can_read_what_the_owner_can_and_write_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let mode =
            |path: &Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
        for (name, before, after) in [("text", 0o600, 0o644), ("program", 0o700, 0o755)] {
            let file = folder.path().join(name);
            fs::write(&file, "").expect("a file");
            fs::set_permissions(&file, Permissions::from_mode(before)).expect("a mode");
            assert!(!is_for_all(&file));
            make_readable(folder.path()).expect("it is changed");
            assert_eq!(mode(&file), after);
        }
        assert_eq!(mode(folder.path()), 0o755);
    }
}
