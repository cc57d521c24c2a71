//! Keeps the versions of the packages with which the image was built.
//!
//! While evcxr looks for a package it writes manifests of another crate, or without `taper`, for which cargo changes
//! or empties the lock file. What cargo would resolve afterwards may be newer by now: then `taper` is compiled
//! again, and cells no longer fit the library that is loaded.

use super::recorder;
use std::path::Path;
use taper_host::cache;

/// The lock file that is kept next to the work directory.
const KEPT: &str = "Cargo.lock";

/// Keeps a copy of a whole lock file, or replaces another one by the last copy. Must be called before
/// each call of cargo, which removes what the manifest does not need, and adds what is new.
pub(crate) fn keep(session: &Path) {
    let (lock, kept) = (session.join("work/Cargo.lock"), session.join(KEPT));
    let read = |file: &Path| std::fs::read(file).unwrap_or_default();
    let (now, before) = (read(&lock), read(&kept));
    // Where the disk is full, cargo says so.
    let _ = match (is_whole(&now), is_whole(&before)) {
        (true, _) if now != before => cache::write_atomically(&kept, &now),
        (false, true) => cache::write_atomically(&lock, &before),
        _ => Ok(()),
    };
}

/// Returns whether the lock file is that of the cells' crate, with `taper`.
fn is_whole(lock: &[u8]) -> bool {
    let names = [recorder::CRATE, "taper"].map(|name| format!("name = \"{name}\""));
    let contains = |name: &String| memchr::memmem::find(lock, name.as_bytes()).is_some();
    names.iter().all(contains)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emptied_lock_file_is_put_back_and_a_new_one_taken_over() {
        let session = tempfile::tempdir().expect("a folder");
        let session = session.path();
        let lock = session.join("work/Cargo.lock");
        std::fs::create_dir(session.join("work")).expect("a folder");
        let after = |text: &str| {
            std::fs::write(&lock, text).expect("it is written");
            keep(session);
            std::fs::read_to_string(&lock).expect("it is read")
        };
        let whole = "name = \"ctx\"\nname = \"taper\"\nname = \"flate2\"\nversion = \"1.1.10\"\n";
        assert_eq!(after("name = \"ctx\"\n"), "name = \"ctx\"\n");
        assert_eq!(after(whole), whole);
        assert_eq!(after("name = \"ctx\"\nname = \"itoa\"\n"), whole);
        assert_eq!(
            after(&whole.replace("ctx", "evcxr_dummy_validate_dep")),
            whole
        );
        let more = format!("{whole}name = \"itoa\"\n");
        assert_eq!(after(&more), more);
        assert_eq!(after("name = \"ctx\"\n"), more);
    }
}
