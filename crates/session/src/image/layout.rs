//! The files of an image: where they are, and which of a work directory's belong to it.

use std::path::{Component, Path};

/// evcxr's work directory within the image's folder.
pub(super) const WORK: &str = "work";

/// Whether a path below the work directory (a file or a folder) is worth keeping. What belongs to
/// evcxr's own crate `ctx` is made anew by each session.
pub(crate) fn belongs_to_image(path: &Path) -> bool {
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
pub(crate) fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str());
    path.parent()
        .is_some_and(|folder| folder.ends_with("debug"))
        && matches!(name, Some("libtaper.so" | "libtaper.dylib"))
}
