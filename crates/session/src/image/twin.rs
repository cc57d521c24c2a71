//! An image that was compiled from the same inputs, for a Rust in another folder: after `rustup toolchain install 1.95.0`, that
//! of `stable` when it was 1.95.0. As with an image of another machine, nothing is compiled again.

use super::clone;
use super::key::Key;
use super::layout::{PACKAGES, WORK};
use super::manifest::{self, Manifest};
use super::{build, origin, taken};
use crate::workspace;
use anyhow::Result;
use std::path::{Path, PathBuf};
use taper_host::error::OnFile as _;
use taper_host::lock::Lock;
use taper_host::progress::Progress;

/// Makes the image in `folder` from such an image, if there is one.
pub(super) fn take(
    key: &Key,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<Option<Manifest>> {
    let Some((twin, manifest)) = find(key, folder)? else {
        return Ok(None);
    };
    let _lock = Lock::shared(&twin)?;
    progress.line(&format!(
        "The packages that were compiled for {} are used again.",
        origin::rustc(&twin).unwrap_or_default().display()
    ));
    build::wipe(folder)?;
    origin::write(key, folder)?;
    taken::note(folder, None)?;
    workspace::configure(folder)?;
    let work = |image: &Path, file: &Path| image.join(WORK).join(file);
    for file in manifest.files() {
        clone::file(&work(&twin, file), &work(folder, file))?;
    }
    let list = folder.join(manifest::FILE);
    std::fs::copy(twin.join(manifest::FILE), &list).on_file("write", &list)?;
    Ok(Some(manifest))
}

fn find(key: &Key, folder: &Path) -> Result<Option<(PathBuf, Manifest)>> {
    let all = folder.with_file_name("");
    let images = std::fs::read_dir(&all).on_file("read", &all)?.flatten();
    let mut others = images.map(|it| it.path()).filter(|it| it != folder);
    Ok(others.find_map(|other| {
        let is_same = origin::is_same(&other, key).unwrap_or(false);
        let is_compiled_here = !other.join(PACKAGES).exists();
        let manifest = Manifest::read(&other).filter(|_| is_same && is_compiled_here)?;
        manifest
            .first_damaged(&other)
            .is_none()
            .then_some((other, manifest))
    }))
}
