//! Digests as text, for names that depend on content.

use ring::digest::{Context, SHA256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Returns a digest in hexadecimal.
pub fn hex(digest: Context) -> String {
    let digest = digest.finish();
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Returns the SHA-256 of a file, of which it keeps one megabyte in memory.
///
/// # Errors
///
/// When the file cannot be read.
pub fn of_file(path: &Path) -> std::io::Result<String> {
    let (mut digest, mut file) = (Context::new(&SHA256), File::open(path)?);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(digest)),
            read => digest.update(&buffer[..read]),
        }
    }
}

/// Returns the SHA-256 of a text in hexadecimal.
pub fn of(content: &[u8]) -> String {
    let mut digest = Context::new(&SHA256);
    digest.update(content);
    hex(digest)
}

/// Returns a name of 16 hexadecimal digits for a list of texts.
pub(crate) fn name_of(parts: &[&str]) -> String {
    of(parts.join("\0").as_bytes())[..16].to_owned()
}
