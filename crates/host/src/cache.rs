//! The folder in which Taper keeps what it can build again: images, Python environments, the work
//! folders of running sessions.

use crate::error::{Context, Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Overrides the platform's cache folder.
pub const VARIABLE: &str = "TAPER_CACHE";

/// Returns the cache folder; creates it if it does not exist.
pub fn folder() -> Result<PathBuf> {
    let folder = match std::env::var_os(VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        None => dirs::cache_dir().ok_or(Error::NoCacheFolder)?.join("taper"),
    };
    make(&folder)?;
    folder.canonicalize().on_file("open", &folder)
}

/// Creates a folder with all its parents.
pub fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| Error::CreateFolder {
        folder: folder.to_owned(),
        source,
    })
}

/// Writes a file so that a reader sees the old content or the new one, never half of it.
pub fn write_atomically(file: &Path, content: &[u8]) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let write = || {
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(content)?;
        new.as_file().sync_all()?;
        new.persist(file)?;
        Ok(())
    };
    write().on_file("write", file)
}

/// Removes a folder with its content; it may be missing.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).on_file("remove", folder)
        }
        _ => Ok(()),
    }
}
