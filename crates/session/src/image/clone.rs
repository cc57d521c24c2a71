//! Copies the files of an image into a session's work directory.

use anyhow::Result;
use rustix::fs::Access;
use std::fs::{File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::Path;
use taper_host::error::OnFile as _;

/// Extensions of the large files. Compilers replace them and never write into them, so hard links are safe.
const LINKED: [&str; 5] = ["rlib", "rmeta", "so", "dylib", "a"];

/// Links or copies one file. A copy keeps the file's times, which cargo compares.
pub(crate) fn file(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).on_file("create", folder)?;
    }
    if is_linked(from) {
        // In a store: the system may refuse hard links to files of other users. The files never change,
        // so symbolic links are safe.
        let may_write = || rustix::fs::access(from, Access::WRITE_OK).is_ok();
        if std::fs::hard_link(from, to).is_ok() || (!may_write() && symlink(from, to).is_ok()) {
            return Ok(());
        }
    }
    copy(from, to).on_file("copy", from)
}

/// Links or copies one file in place of another, unless that is the same.
pub(super) fn anew(from: &Path, to: &Path) -> Result<()> {
    let state = |path: &Path| {
        let found = path.metadata().ok()?;
        Some((found.len(), found.modified().ok()?))
    };
    if to.exists() && state(from) == state(to) {
        return Ok(());
    }
    // It may be a link to a file of the image.
    let _ = std::fs::remove_file(to);
    file(from, to)
}

/// Returns whether the file is linked and not copied.
pub(crate) fn is_linked(file: &Path) -> bool {
    let extension = file.extension();
    extension.is_some_and(|extension| LINKED.iter().any(|linked| extension == *linked))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    let metadata = std::fs::metadata(from)?;
    let times = FileTimes::new()
        .set_modified(metadata.modified()?)
        .set_accessed(metadata.accessed()?);
    File::options().write(true).open(to)?.set_times(times)
}
