//! The checkout from which this program was built.

use std::path::PathBuf;

/// Overrides the folder of the checkout, for a build that was moved.
pub const VARIABLE: &str = "TAPER_HOME";

/// Returns the folder of the checkout, which holds the crate `taper` and the notebooks.
pub fn folder() -> PathBuf {
    let built_from = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folder = std::env::var_os(VARIABLE).unwrap_or_else(|| built_from.into());
    let folder = PathBuf::from(folder);
    folder.canonicalize().unwrap_or(folder)
}
