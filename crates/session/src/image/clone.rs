//! Which files make an image, and how a session gets its own.

use anyhow::{Context, Result};
use std::fs::{File, FileTimes};
use std::path::Path;

/// What only ever gets replaced as a whole may be shared by hard link; these are the large files.
const LINKED: [&str; 5] = ["rlib", "rmeta", "so", "dylib", "a"];

/// Gives a session one file: a link where nobody writes into it, a copy with the same times (cargo
/// compares them) everywhere else.
pub(crate) fn file(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let is_linked = from
        .extension()
        .is_some_and(|e| LINKED.iter().any(|l| e == *l));
    if is_linked && std::fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    copy(from, to).with_context(|| format!("copying {}", from.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to)?;
    let metadata = std::fs::metadata(from)?;
    let times = FileTimes::new()
        .set_modified(metadata.modified()?)
        .set_accessed(metadata.accessed()?);
    File::options().write(true).open(to)?.set_times(times)?;
    Ok(())
}
