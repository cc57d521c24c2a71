//! The image: a folder in which `taper` and its dependencies are compiled.
//!
//! - `key`: identifies an image by compiler, locked dependencies, features and sources, and by what the user's
//!   `configuration` of cargo says about compiling;
//! - `build` builds it once, under a lock, by `cargo` and a first cell;
//! - `cells_crate`: the crate to which cells belong, and its first cell;
//! - `artifacts`: what cargo has compiled, as it reports it; `estimate`: how long it still takes;
//! - `trial` first runs cells with a few lines in place of `taper`;
//! - `manifest`: the list of its files (`layout` says which). It is written last: without it the
//!   image counts as missing, and the next build continues where the last one stopped;
//! - `origin` removes images that were replaced; `twin` uses one again that was compiled from the same inputs;
//! - `packages` compiles those of `:dep` lines beside the image: `graph` says which package depends on which, `beside` is
//!   the crate that depends on them, `added` the folder in which all sessions compile them;
//! - `taken` is the compiler that takes what these need from an image that was compiled with another home of cargo;
//! - `transfer` writes an image as one file and reads it on another machine;
//! - `clone` makes links and copies for each session, so that nothing that a session writes changes
//!   the image. Files that only cargo reads follow when cargo is called.

mod added;
pub(crate) mod artifacts;
mod beside;
mod build;
mod cargo;
mod cells_crate;
mod clone;
mod configuration;
mod estimate;
mod graph;
mod key;
mod layout;
pub(crate) mod libraries;
mod manifest;
mod origin;
mod packages;
pub(crate) mod taken;
mod transfer;
mod trial;
mod twin;

use anyhow::{Result, bail};
pub(crate) use artifacts::library;
pub(crate) use cells_crate::{TRY_ARGUMENT, WARM_ARGUMENT, write_crate};
pub use key::Key;
use layout::PACKAGES;
pub(crate) use layout::SUPPORT;
use manifest::Manifest;
pub use origin::Other;
pub(crate) use packages::Packages;
use std::path::{Path, PathBuf};
use taper_host::cache;
use taper_host::checks;
use taper_host::error::OnFile as _;
use taper_host::lock::Lock;
use taper_host::progress::{Progress, Published, Step};
use taper_host::store;
pub use transfer::Built;

/// The link in a work directory to the image from which files are still to be copied.
const LATER: &str = "image";

/// A complete image.
#[derive(Debug)]
pub struct Image {
    folder: PathBuf,
    manifest: Manifest,
}

/// The condition of the image for a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Condition {
    /// Complete, and built from the current sources.
    Ready,
    /// Never built, or not completely.
    Missing,
    /// Built from other sources of `taper` than the current ones.
    Outdated,
    /// Files are missing or differ from what the build wrote. Holds the first of them.
    Damaged(PathBuf),
}

impl Image {
    /// Returns the image for this key, and builds it if it is not ready.
    ///
    /// # Errors
    ///
    /// When the packages do not compile, or the first cell fails.
    pub fn ensure(key: &Key, progress: &mut dyn Progress) -> Result<Image> {
        if let (Condition::Ready, Some(image)) = Self::find(key)? {
            return Ok(image);
        }
        if let Some(store) = store::folder() {
            let store = store.display();
            bail!(
                "the store {store} has no compiled packages for this Rust and this Taper. Its administrator compiles them: \
                 `taper setup --system --prefix {store}`. Without TAPER_STORE, Taper compiles its own."
            );
        }
        let folder = folder_of(key)?;
        let _lock = Lock::exclusive(&folder, progress)?;
        let progress = &mut Published::new(&folder, progress);
        // Another process may have built it while this one waited.
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
        if let Some(manifest) = twin::take(key, &folder, progress)? {
            return Ok(Image { folder, manifest });
        }
        build::build(key, &folder, progress)?;
        let manifest = Manifest::write(&folder, key)?;
        Ok(Image { folder, manifest })
    }

    /// Removes the images that this one replaces, except those that a session uses.
    pub(crate) fn remove_replaced(&self) {
        origin::remove_replaced(&self.folder);
    }

    /// Keeps the image for this key from being removed until the result is dropped.
    pub(crate) fn mark_as_used(key: &Key) -> Result<Lock> {
        origin::mark_as_used(&folder_of(key)?)
    }

    /// Checks what [`Self::ensure`] needs before it starts to build.
    ///
    /// # Errors
    ///
    /// When the image is not ready and a compiler or disk space is missing.
    pub fn check_what_it_needs(key: &Key) -> Result<()> {
        match Self::find(key)?.0 {
            Condition::Ready => Ok(()),
            _ => {
                let folder = folder_of(key)?;
                checks::before_building(&folder, build::has_begun(&folder))
            }
        }
    }

    /// Returns the image's condition, judged by the sizes and times of its files, which takes milliseconds,
    /// and the image if it is ready.
    ///
    /// # Errors
    ///
    /// When the cache folder cannot be created.
    pub fn find(key: &Key) -> Result<(Condition, Option<Image>)> {
        let manifest = store::find(&format!("images/{}/{}", key.id, manifest::FILE))?;
        let folder = manifest.with_file_name("");
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

    /// Returns the current step of the process that builds the image for a key, if one does.
    pub fn progress(key: &Key) -> Option<Step> {
        let folder = folder_of(key).ok()?;
        let is_built = Lock::if_free(&folder).is_none();
        is_built.then(|| Published::read(&folder)).flatten()
    }

    /// Returns the newest image for another release of Rust than today's.
    pub fn other(key: &Key) -> Option<Other> {
        origin::other(key, &folder_of(key).ok()?)
    }

    /// Compares the content of every file with what the build wrote, which takes seconds. Deletes a
    /// damaged image, so that [`Self::ensure`] builds it again.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or deleted.
    pub fn verify(key: &Key, progress: &mut dyn Progress) -> Result<Condition> {
        let image = match Self::find(key)? {
            (Condition::Ready, Some(image)) => image,
            (condition, _) => return Ok(condition),
        };
        image.check(progress)
    }

    /// Does what [`Self::verify`] does, for an image that seems to be ready.
    fn check(&self, progress: &mut dyn Progress) -> Result<Condition> {
        if self.manifest.first_changed(&self.folder)?.is_none() {
            return Ok(Condition::Ready);
        }
        let _lock = Lock::exclusive(&self.folder, progress)?;
        // Another process may have built it again while this one waited.
        let Some(manifest) = Manifest::read(&self.folder) else {
            return Ok(Condition::Missing);
        };
        let Some(file) = manifest.first_changed(&self.folder)? else {
            return Ok(Condition::Ready);
        };
        build::wipe(&self.folder)?;
        Ok(Condition::Damaged(file))
    }

    /// Adds to a work directory without an image the files that a cell needs: links to the compiled packages, and
    /// copies of small files. Those that only cargo reads, three quarters of all, are left to `complete`. What is there
    /// stays, such as what the engine has compiled for cells: a running process uses it.
    pub(crate) fn clone_into(&self, work: &Path) -> Result<()> {
        let _lock = Lock::shared(&self.folder)?;
        let later = work.join(LATER);
        std::os::unix::fs::symlink(&self.folder, &later).on_file("create", &later)?;
        let packages = self.folder.join(PACKAGES);
        if packages.exists() {
            let link = work.with_file_name(PACKAGES);
            std::os::unix::fs::symlink(&packages, &link).on_file("create", &link)?;
        }
        let is_needed = |file: &&Path| {
            (clone::is_linked(file) || !layout::is_of_cargo(file)) && !work.join(file).exists()
        };
        self.copy_into(work, &is_needed)
    }

    fn copy_into(&self, work: &Path, is_wanted: &dyn Fn(&&Path) -> bool) -> Result<()> {
        let mut files = self.manifest.files().filter(is_wanted);
        files.try_for_each(|file| clone::file(&self.work().join(file), &work.join(file)))?;
        Ok(())
    }

    fn work(&self) -> PathBuf {
        self.folder.join(layout::WORK)
    }
}

/// Copies the rest of the image into a session's work directory, before cargo is called there for the first
/// time.
///
/// # Errors
///
/// When a file cannot be copied.
#[cfg(feature = "evcxr")]
pub(crate) fn complete(work: &Path) -> Result<()> {
    let later = work.join(LATER);
    let Ok(folder) = std::fs::read_link(&later) else {
        return Ok(());
    };
    // Without its image, cargo compiles the packages again.
    if let Some(manifest) = Manifest::read(&folder) {
        let _lock = Lock::shared(&folder)?;
        let image = Image { folder, manifest };
        image.copy_into(work, &|file| !work.join(file).exists())?;
    }
    std::fs::remove_file(&later).on_file("remove", &later)
}

/// Returns the folder in which sessions with the same image keep what they make of packages.
pub(crate) fn added(work: &Path) -> Result<PathBuf> {
    let image = std::fs::read_link(work.join(LATER)).on_file("read", work)?;
    Ok(added::Added::of(&image)?.libraries())
}

/// Puts the files of `taper` back into a session's work directory, where another `taper` has replaced them.
pub(crate) fn restore(work: &Path) -> Result<()> {
    let image = std::fs::read_link(work.join(LATER)).on_file("read", work)?;
    for file in artifacts::Artifacts::read(work)?.taper(work)? {
        let below = file.strip_prefix(work).unwrap_or(&file);
        clone::anew(&image.join(layout::WORK).join(below), &file)?;
    }
    Ok(())
}

fn folder_of(key: &Key) -> Result<PathBuf> {
    let folder = cache::folder()?.join("images").join(&key.id);
    cache::make(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use taper_host::progress::Console;

    /// Another process, which builds the image again while this one waits for its lock.
    struct Other<'a> {
        folder: &'a Path,
        key: &'a Key,
        lock: Option<Lock>,
    }

    impl Progress for Other<'_> {
        fn line(&mut self, _text: &str) {
            build_again(self.folder, self.key);
            self.lock.take();
        }

        fn step(&mut self, _step: &Step) {}
    }

    fn library(folder: &Path) -> PathBuf {
        folder.join(layout::WORK).join("target/libtaper.so")
    }

    fn build_again(folder: &Path, key: &Key) -> Manifest {
        let library = library(folder);
        cache::make(&library.with_file_name("")).expect("a folder");
        std::fs::write(&library, "whole").expect("a file");
        Manifest::write(folder, key).expect("a manifest")
    }

    #[test]
    fn a_damaged_image_that_another_process_has_built_again_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().to_owned();
        let key = Key {
            id: String::new(),
            portable: String::new(),
            sources: String::new(),
            taper: PathBuf::new(),
            features: Vec::new(),
        };
        let manifest = build_again(&folder, &key);
        let image = Image { folder, manifest };
        let folder = &image.folder;
        std::fs::write(library(folder), "half").expect("a file");
        let lock = Some(Lock::exclusive(folder, &mut Console::new()).expect("it is free"));
        let key = &key;
        let condition = image.check(&mut Other { folder, key, lock });
        assert_eq!(condition.expect("no error"), Condition::Ready);

        std::fs::write(library(folder), "half").expect("a file");
        let condition = image.check(&mut Console::new()).expect("no error");
        assert_eq!(condition, Condition::Damaged("target/libtaper.so".into()));
        assert!(!library(folder).exists());
    }
}
