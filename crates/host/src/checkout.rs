//! Where this build of Taper lives.

use std::path::PathBuf;

/// Overrides the folder of the clone, for a build that was moved.
pub const VARIABLE: &str = "TAPER_HOME";

/// The clone from which this program was built: it holds the crate `taper` and the notebooks.
pub fn folder() -> PathBuf {
    let built_from = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folder =
        std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from(built_from), PathBuf::from);
    folder.canonicalize().unwrap_or(folder)
}
