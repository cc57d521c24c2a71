//! What cargo answered before, kept for the session and for the sessions that are made from an image.
//!
//! The files are in the work directory, so a session gets those of its image with the rest of it. The
//! session's folder is replaced by a placeholder in them, as its path differs from session to session.

use memchr::memmem;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use taper_host::cache;

/// The folder in the work directory.
pub(crate) const FOLDER: &str = "answers";
/// No path contains it.
const PLACEHOLDER: &[u8] = b"\x01session\x01";

/// The folder of a session.
pub(crate) fn folder(session: &Path) -> PathBuf {
    session.join("work").join(FOLDER)
}

/// Reads what was kept under this name.
pub(crate) fn read(name: &str, session: &Path) -> Option<Vec<u8>> {
    is_plain(session).then_some(())?;
    let kept = std::fs::read(folder(session).join(name)).ok()?;
    Some(replace(&kept, PLACEHOLDER, session.as_os_str().as_bytes()))
}

/// Keeps an answer. Where the disk is full there is none the next time, and cargo is called.
pub(crate) fn keep(name: &str, answer: &[u8], session: &Path) {
    if !is_plain(session) {
        return;
    }
    let kept = replace(answer, session.as_os_str().as_bytes(), PLACEHOLDER);
    let folder = folder(session);
    let _ = cache::make(&folder).and_then(|()| cache::write_atomically(&folder.join(name), &kept));
}

/// The text without the session's folder.
pub(crate) fn without_folder(text: &OsStr, session: &Path) -> OsString {
    OsString::from_vec(replace(
        text.as_bytes(),
        session.as_os_str().as_bytes(),
        PLACEHOLDER,
    ))
}

/// Whether JSON contains the path as it is.
fn is_plain(path: &Path) -> bool {
    let is_escaped = |character: char| character.is_control() || ['"', '\\'].contains(&character);
    path.to_str().is_some_and(|path| !path.contains(is_escaped))
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memmem::find(rest, from) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_session_finds_its_own_folder() {
        let kept = replace(b"/s/1/work and /s/1", b"/s/1", PLACEHOLDER);
        let read = replace(&kept, PLACEHOLDER, b"/sessions/2");
        assert_eq!(read, b"/sessions/2/work and /sessions/2");
        assert_eq!(replace(b"none", b"/s/1", PLACEHOLDER), b"none");
    }
}
