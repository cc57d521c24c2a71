//! Which files make an image, and how a session gets its own.

use anyhow::{Context, Result};
use std::fs::{File, FileTimes};
use std::path::{Component, Path};

/// What only ever gets replaced as a whole may be shared by hard link; these are the large files.
const LINKED: [&str; 5] = ["rlib", "rmeta", "so", "dylib", "a"];

/// Whether a path below the work directory (a file or a folder) is worth keeping. What belongs to
/// evcxr's own crate `ctx` is made anew by each session.
pub fn belongs_to_image(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|n| n.to_str())
        .unwrap_or_default();
    let top = path.components().next();
    let is_of_cells = name == "incremental"
        || name == "ctx"
        || name.starts_with("ctx-")
        || name.starts_with("ctx.")
        || name.starts_with("libctx")
        || name.starts_with("libcode_")
        || name == "ready-for-records";
    let kept_at_top =
        matches!(top, Some(Component::Normal(n)) if n == "target" || n == "Cargo.lock");
    kept_at_top && !is_of_cells
}

/// The library `taper` that cells load: the one that cargo puts beside the cells' own, whatever
/// folders it compiles in.
pub fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str());
    path.parent()
        .is_some_and(|folder| folder.ends_with("debug"))
        && matches!(name, Some("libtaper.so" | "libtaper.dylib"))
}

/// Gives a session one file: a link where nobody writes into it, a copy with the same times (cargo
/// compares them) everywhere else.
pub fn file(from: &Path, to: &Path) -> Result<()> {
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
