//! What cargo says about the packages that cells can name.

use super::cargo::metadata;
use cargo_metadata::Metadata;
use std::path::Path;
use taper_host::toolchain;

/// Returns what cargo says about the packages of the crate in `work`, which are compiled already; `None` if it fails.
pub(crate) fn metadata_of(work: &Path) -> Option<Metadata> {
    let platform = format!("--filter-platform={}", toolchain::host().ok()?);
    metadata(work, &["--offline", &platform]).ok()
}
