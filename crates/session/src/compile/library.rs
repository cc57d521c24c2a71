//! The part of Rust's library that rust-analyzer reads.

use std::path::Path;
use taper_host::cache;
use taper_host::error::{Context as _, Result};

/// The link that rust-analyzer follows, to one of the two folders below.
pub(crate) const LINK: &str = "library";
/// The folder with an empty library. rust-analyzer loads the library twice: for evcxr's own first
/// evaluation, which does not need it, and again when `taper` is added.
const EMPTY: &str = "empty-library";
/// The folder with the library's crates. It has no workspace manifest, so that rust-analyzer stitches
/// the crates together itself.
const SEEN: &str = "seen-library";
const CRATES: [&str; 3] = ["core", "alloc", "std"];

/// Creates both folders, and the link to the empty one.
pub(crate) fn prepare(folder: &Path) -> Result<()> {
    cache::make(&folder.join(EMPTY).join("core/src"))?;
    cache::write_atomically(&folder.join(EMPTY).join("core/src/lib.rs"), b"")?;
    let source = taper_host::library_source::find()?;
    for name in CRATES {
        let seen = folder.join(SEEN).join(name);
        cache::make(&seen)?;
        link(&seen, "src", &source.join(name).join("src"))?;
    }
    link(folder, LINK, Path::new(EMPTY))
}

/// Lets rust-analyzer find the library from now on.
pub(crate) fn show(work: &Path) -> Result<()> {
    link(work.parent().unwrap_or(work), LINK, Path::new(SEEN))
}

/// Creates or replaces the symbolic link `name` in `folder`, in one step.
pub(crate) fn link(folder: &Path, name: &str, target: &Path) -> Result<()> {
    let new = folder.join(format!("new-{name}"));
    let _ = std::fs::remove_file(&new);
    std::os::unix::fs::symlink(target, &new).on_file("create the link", &new)?;
    let link = folder.join(name);
    std::fs::rename(&new, &link).on_file("create the link", &link)
}
