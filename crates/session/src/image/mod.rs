//! The warm image: an evcxr work directory in which `taper` and all below it is compiled.
//!
//! Built once per compiler, dependencies and features ([`key`]), under a lock ([`taper_host::lock`]), for
//! `build` and for `check` ([`build`]). A session works on a clone ([`clone`]), so nothing that it
//! writes reaches the image. A manifest is written last; without it the image is not there, and
//! building again goes on where the last try ended.

mod build;
mod clone;
mod key;
mod manifest;

use anyhow::{Context, Result};
pub use build::{WARM_ARGUMENT, compile, resolves_offline};
pub use key::Key;
use manifest::Manifest;
use std::path::{Path, PathBuf};
use taper_host::cache;
use taper_host::checks;
use taper_host::lock::Lock;
use taper_host::progress::Progress;

/// A complete image.
#[derive(Debug)]
pub struct Image {
    folder: PathBuf,
    manifest: Manifest,
}

/// What was found where an image should be.
#[derive(Debug, PartialEq, Eq)]
pub enum Condition {
    Ready,
    /// Never built, or not to its end.
    Missing,
    /// Built from other sources of `taper` than those that are there now.
    Outdated,
    /// Files that are not what the build left; one of them.
    Damaged(PathBuf),
}

impl Image {
    /// The image for this key: the one that is there, or a new one.
    pub fn ensure(key: &Key, progress: &mut dyn Progress) -> Result<Image> {
        if let (Condition::Ready, Some(image)) = Self::find(key)? {
            return Ok(image);
        }
        let folder = folder_of(key)?;
        let _lock = Lock::exclusive(&folder, progress)?;
        // Another set-up may have built it while we waited.
        match Self::find(key)? {
            (Condition::Ready, Some(image)) => return Ok(image),
            (Condition::Damaged(file), _) => {
                progress.line(&format!(
                    "The compiled packages are damaged ({}): building them again.",
                    file.display()
                ));
                build::wipe(&folder)?;
            }
            _ => {}
        }
        build::build(key, &folder, progress)?;
        let manifest = Manifest::write(&folder, key)?;
        Ok(Image { folder, manifest })
    }

    /// Fails at once where [`Self::ensure`] would fail for want of a compiler or of room.
    pub fn check_what_it_needs(key: &Key) -> Result<()> {
        match Self::find(key)?.0 {
            Condition::Ready => Ok(()),
            _ => {
                let folder = folder_of(key)?;
                Ok(checks::before_building(&folder, build::has_begun(&folder))?)
            }
        }
    }

    /// Looks at sizes and times, which takes milliseconds.
    pub fn find(key: &Key) -> Result<(Condition, Option<Image>)> {
        let folder = folder_of(key)?;
        let Some(manifest) = Manifest::read(&folder) else {
            return Ok((Condition::Missing, None));
        };
        if manifest.sources != key.sources {
            return Ok((Condition::Outdated, None));
        }
        match manifest.first_damaged(&folder) {
            Some(file) => Ok((Condition::Damaged(file), None)),
            None => Ok((Condition::Ready, Some(Image { folder, manifest }))),
        }
    }

    /// Reads every file and compares it with what the build left, which takes seconds. A damaged
    /// image is thrown away, so that [`Self::ensure`] builds it again.
    pub fn verify(key: &Key, progress: &mut dyn Progress) -> Result<Condition> {
        let (Condition::Ready, Some(image)) = Self::find(key)? else {
            return Ok(Self::find(key)?.0);
        };
        let Some(file) = image.manifest.first_changed(&image.folder)? else {
            return Ok(Condition::Ready);
        };
        let _lock = Lock::exclusive(&image.folder, progress)?;
        build::wipe(&image.folder)?;
        Ok(Condition::Damaged(file))
    }

    /// Fills an empty work directory.
    pub fn clone_into(&self, work: &Path) -> Result<()> {
        let _lock = Lock::shared(&self.folder)?;
        self.manifest
            .files()
            .try_for_each(|file| clone::file(&self.work().join(file), &work.join(file)))
            .context("copying the compiled packages into the session's folder")
    }

    /// The library `taper` in a work directory that is a clone of this image.
    pub fn library(&self, work: &Path) -> Option<PathBuf> {
        let library = self.manifest.files().find(|file| clone::is_library(file))?;
        Some(work.join(library))
    }

    fn work(&self) -> PathBuf {
        self.folder.join(build::WORK)
    }
}

fn folder_of(key: &Key) -> Result<PathBuf> {
    let folder = cache::folder()?.join("images").join(&key.id);
    cache::make(&folder)?;
    Ok(folder)
}
