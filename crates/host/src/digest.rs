//! Digests as text, for names that depend on content.

use ring::digest::{Context, SHA256};

/// Returns a digest in hexadecimal.
pub fn hex(digest: Context) -> String {
    let digest = digest.finish();
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Returns the SHA-256 of a text or a file's content in hexadecimal.
pub fn of(content: &[u8]) -> String {
    let mut digest = Context::new(&SHA256);
    digest.update(content);
    hex(digest)
}

/// Returns a name of 16 hexadecimal digits for a list of texts.
pub(crate) fn name_of(parts: &[&str]) -> String {
    of(parts.join("\0").as_bytes())[..16].to_owned()
}
