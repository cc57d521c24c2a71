//! Where Taper keeps what it can make again: the warm images, the Python environment, the work
//! directories of running sessions.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Overrides the platform's cache folder.
pub const VARIABLE: &str = "TAPER_CACHE";

/// The folder of the cache; made if it is not there.
pub fn folder() -> Result<PathBuf> {
    let folder = match std::env::var_os(VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        None => dirs::cache_dir()
            .context("this system names no cache folder: set TAPER_CACHE to a folder of yours")?
            .join("taper"),
    };
    make(&folder)?;
    folder
        .canonicalize()
        .with_context(|| format!("opening {}", folder.display()))
}

/// Makes a folder with all its parents.
pub fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| {
        format!(
            "cannot make the folder {}: set {VARIABLE} to a folder that you may write to",
            folder.display()
        )
    })
}

/// Writes a file so that a reader sees the old content or the new one, never half of it.
pub fn write_atomically(file: &Path, content: &[u8]) -> Result<()> {
    use std::io::Write;
    let folder = file.parent().context("a file lies in a folder")?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(content)?;
    new.as_file().sync_all()?;
    new.persist(file)
        .with_context(|| format!("writing {}", file.display()))?;
    Ok(())
}
