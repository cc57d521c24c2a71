//! The digest of a cell's source, by which stored outputs are matched with the cell that made them.

use ring::digest::{Context, SHA256};
use taper_host::digest::hex;

/// Returns the first 16 hexadecimal digits of the source's SHA-256.
pub(crate) fn source_digest(source: &str) -> String {
    let mut digest = Context::new(&SHA256);
    digest.update(source.as_bytes());
    hex(digest)[..16].to_owned()
}
