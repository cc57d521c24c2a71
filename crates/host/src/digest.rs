//! Digests as text.

use ring::digest::Context;

/// The digest in hexadecimal.
pub fn hex(digest: Context) -> String {
    let digest = digest.finish();
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
