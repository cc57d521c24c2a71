//! Which files of a work directory belong to an image, and where they are.

use crate::compile;
use crate::error::Result;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Component, Path, PathBuf};
use taper_host::toolchain;

/// evcxr's work directory within the image's folder.
pub(super) const WORK: &str = "work";

/// The folder of what our own engine compiles once for all cells.
pub(crate) const SUPPORT: &str = "support";

/// Returns whether a file or folder below the work directory belongs to the image. Each session
/// creates the files of evcxr's own crate `ctx` itself.
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
    let kept = ["target", "Cargo.lock", compile::ANSWERS, SUPPORT];
    let kept_at_top = matches!(top, Some(Component::Normal(n)) if kept.iter().any(|k| n == *k));
    kept_at_top && !is_of_cells
}

/// Returns whether the file is in cargo's target directory.
pub(crate) fn is_of_cargo(path: &Path) -> bool {
    path.starts_with("target")
}

/// Returns the library `taper` that cells load: the copy in `debug`, where cargo puts it whatever the layout of its
/// build directory.
pub(crate) fn library(work: &Path) -> Result<PathBuf> {
    let name = format!("{DLL_PREFIX}taper{DLL_SUFFIX}");
    let target = work.join("target").join(toolchain::host()?);
    Ok(target.join("debug").join(name))
}
