//! The digest of a cell's source, by which stored outputs are matched with the cell that made them.

use taper_host::digest;

/// Returns the first 16 hexadecimal digits of the source's SHA-256.
pub(crate) fn source_digest(source: &str) -> String {
    digest::of(source.as_bytes())[..16].to_owned()
}
