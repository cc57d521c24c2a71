//! Keeps the answers of cargo for the session, and for the sessions that are made from an image.
//!
//! The files are in the work directory, so a session gets those of its image with the rest of it. The
//! session's folder is replaced by a placeholder in them, as its path differs from session to session, and so are
//! the folders that differ from machine to machine.

use super::{tools, variables};
use memchr::memmem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use taper_host::{cache, checkout};

/// The placeholder for cargo's home.
pub(crate) const CARGO_HOME: &[u8] = b"\x01cargo\x01";
/// The folder beside the work directory with the sources of the packages of an imported image, laid out as in cargo's home;
/// in a session's folder, a link to that of the image.
pub(crate) const PACKAGES: &str = "packages";
/// The folder of the answers in the work directory.
pub(crate) const FOLDER: &str = "answers";
/// How many components a path may have that is not replaced: many other paths begin with a short one,
/// such as `/usr`.
const SHORTEST: usize = 2;

/// Returns the folder of a session's answers.
pub(crate) fn folder(session: &Path) -> PathBuf {
    session.join("work").join(FOLDER)
}

/// Reads what was kept under this name.
pub(crate) fn read(name: &str, session: &Path) -> Option<Vec<u8>> {
    is_plain(session).then_some(())?;
    let mut text = std::fs::read(folder(session).join(name)).ok()?;
    for (placeholder, path) in replaced(session) {
        text = replace(&text, placeholder, path.as_os_str().as_bytes());
    }
    Some(text)
}

/// Keeps an answer. If it cannot be written, for example because the disk is full, cargo is called again
/// the next time.
pub(crate) fn keep(name: &str, answer: &[u8], session: &Path) {
    if !is_plain(session) {
        return;
    }
    let kept = without_folders(answer, session);
    let folder = folder(session);
    let _ = cache::make(&folder).and_then(|()| cache::write_atomically(&folder.join(name), &kept));
}

/// Returns the text with placeholders in place of the folders.
pub(crate) fn without_folders(text: &[u8], session: &Path) -> Vec<u8> {
    let mut text = text.to_owned();
    for (placeholder, path) in replaced(session) {
        text = replace(&text, path.as_os_str().as_bytes(), placeholder);
    }
    text
}

/// Returns the folders to replace, each with a placeholder that no path contains.
fn replaced(session: &Path) -> Vec<(&'static [u8], PathBuf)> {
    let imported = Some(session.join(PACKAGES)).filter(|packages| packages.exists());
    let sysroot = || Some(tools::session_rustc()?.parent()?.parent()?.to_owned());
    let of_machine: [(&[u8], _); 3] = [
        (b"\x01taper\x01", checkout::folder().ok()),
        (CARGO_HOME, imported.or_else(variables::packages)),
        (b"\x01rust\x01", sysroot()),
    ];
    let mut folders: Vec<(&[u8], _)> = vec![(b"\x01session\x01", session.to_owned())];
    for (placeholder, path) in of_machine {
        if let Some(path) = path.filter(|path| path.components().count() > SHORTEST) {
            folders.push((placeholder, path));
        }
    }
    folders
}

/// Returns whether JSON contains the path without escapes.
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
    fn packages_of_an_imported_image_are_found_in_its_folder() {
        let session = tempfile::tempdir().expect("a folder");
        let session = session.path();
        cache::make(&session.join(PACKAGES)).expect("a folder");
        cache::make(&folder(session)).expect("a folder");
        let imported = [CARGO_HOME, b"/registry/src"].concat();
        std::fs::write(folder(session).join("a"), imported).expect("a file");
        let read = read("a", session).expect("it is there");
        let expected = session.join(PACKAGES).join("registry/src");
        assert_eq!(String::from_utf8_lossy(&read), expected.to_string_lossy());
    }

    #[test]
    fn another_session_finds_its_own_folder() {
        let session = tempfile::tempdir().expect("a folder");
        let session = [1, 2].map(|number| session.path().join(number.to_string()));
        let text = |session: &Path| format!("{}/work and {}", session.display(), session.display());
        keep("a", text(&session[0]).as_bytes(), &session[0]);
        cache::make(&folder(&session[1])).expect("a folder");
        let file = |session: &Path| folder(session).join("a");
        std::fs::copy(file(&session[0]), file(&session[1])).expect("it is copied");
        let read = read("a", &session[1]).expect("it was kept");
        assert_eq!(String::from_utf8_lossy(&read), text(&session[1]));
        assert_eq!(without_folders(b"none", &session[0]), b"none");
    }
}
