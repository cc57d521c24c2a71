//! Which files of a work directory belong to an image, and where they are.

use super::artifacts;
use std::path::{Component, Path};

/// The folder in which packages are compiled, within the image's folder.
pub(super) const WORK: &str = "work";

/// The folder of what the engine compiles once for all cells.
pub(crate) const SUPPORT: &str = "support";

/// The folder beside the work directory with the sources of the packages of an imported image, laid out as in cargo's home;
/// in a session's folder, a link to that of the image.
pub(super) const PACKAGES: &str = "packages";

/// The folder in that of an image with the packages that sessions have compiled.
pub(super) const KEPT: &str = "added";

/// The file with what cargo says about the packages.
pub(super) const METADATA: &str = "metadata.json";

/// Returns whether a file or folder below the work directory belongs to the image, rather than to the cells' crate.
pub(crate) fn belongs_to_image(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_of_cells = name == "incremental"
        || ["ctx-", "ctx.", "libctx"]
            .iter()
            .any(|begin| name.starts_with(begin))
        || name == "ctx";
    let kept = ["target", "Cargo.lock", METADATA, artifacts::FILE, SUPPORT];
    let top = path.components().next();
    let is_kept =
        matches!(top, Some(Component::Normal(top)) if kept.iter().any(|kept| top == *kept));
    is_kept && !is_of_cells
}

/// Returns whether the file is in cargo's target directory.
pub(crate) fn is_of_cargo(path: &Path) -> bool {
    path.starts_with("target")
}
