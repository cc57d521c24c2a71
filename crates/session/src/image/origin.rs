//! What an image was built for, and the images that nothing can use any more.
//!
//! After `rustup update`, or with a new `Cargo.lock`, the same compiler and the same crate need another
//! image, and no key leads to the old one. So an image replaces those of the same origin. Images of
//! other toolchains and of other clones stay as long as these exist.

use super::key::Key;
use super::manifest;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use taper_host::lock::Lock;
use taper_host::progress::duration;
use taper_host::{cache, toolchain};

const FILE: &str = "origin.json";
/// Each session holds a lock on this folder of its image.
const USERS: &str = "users";

#[derive(Debug, Serialize, Deserialize)]
struct Origin {
    rustc: PathBuf,
    /// The release of that compiler: `rustup update` changes it in its place.
    #[serde(default)]
    release: String,
    /// The folder of the crate `taper`.
    taper: PathBuf,
    features: Vec<String>,
    /// All that it is compiled from, without paths, as a digest: see [`Key::built`].
    #[serde(default)]
    from: String,
    /// How many seconds the compilation took, if it was not interrupted.
    #[serde(default)]
    seconds: Option<u64>,
}

/// An image for another release of Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The release, such as `1.95.0`.
    pub release: String,
    /// How long its compilation took, if that is known.
    pub took: Option<Duration>,
}

impl Other {
    /// Describes what is there and what is missing, how long that takes, and how to keep what is there.
    pub fn describe(&self, release: &str) -> String {
        let other = &self.release;
        let took = self.took.map_or("takes minutes".to_owned(), |took| {
            format!("took {} for {other}", duration(took))
        });
        format!(
            "Taper was compiled for Rust {other}, and this is Rust {release}: it is compiled again, which {took}. To stay \
             with {other}, for which nothing is compiled: `rustup toolchain install {other}`, and \
             RUSTUP_TOOLCHAIN={other} where you start Taper."
        )
    }
}

impl Origin {
    fn of(key: &Key) -> Result<Origin> {
        Ok(Origin {
            rustc: toolchain::get()?.rustc.clone(),
            release: toolchain::release()?.to_owned(),
            taper: key.taper.clone(),
            features: key.features.clone(),
            from: key.built()?.from,
            seconds: None,
        })
    }

    fn read(image: &Path) -> Option<Origin> {
        serde_json::from_slice(&std::fs::read(image.join(FILE)).ok()?).ok()
    }

    /// Returns whether an image of this origin takes the place of one of the other.
    fn replaces(&self, other: &Origin) -> bool {
        (&self.rustc, &self.taper, &self.features) == (&other.rustc, &other.taper, &other.features)
    }

    /// Returns whether the compiler or the crate is gone.
    fn is_gone(&self) -> bool {
        // After another error than that they are missing, they are taken to exist.
        let exist = |path: &Path| path.try_exists().unwrap_or(true);
        !exist(&self.rustc) || !exist(&self.taper)
    }
}

/// Records what the image in this folder is built for.
pub(super) fn write(key: &Key, image: &Path) -> Result<()> {
    write_origin(&Origin::of(key)?, image)
}

/// Records how long the compilation of an image took.
pub(super) fn note_time(image: &Path, took: Duration) -> Result<()> {
    let Some(origin) = Origin::read(image) else {
        return Ok(());
    };
    let seconds = Some(took.as_secs());
    write_origin(&Origin { seconds, ..origin }, image)
}

fn write_origin(origin: &Origin, image: &Path) -> Result<()> {
    let origin =
        serde_json::to_vec(origin).context("cannot write the origin of an image as JSON")?;
    cache::write_atomically(&image.join(FILE), &origin)
}

/// Returns whether an image was compiled from the inputs of a key, and from sources in the same folder: rustc shows lines of
/// the library's source where it was when it was compiled.
pub(super) fn is_same(image: &Path, key: &Key) -> Result<bool> {
    let from = key.built()?.from;
    Ok(Origin::read(image).is_some_and(|it| it.from == from && it.taper == key.taper))
}

/// Returns the compiler for which an image is.
pub(super) fn rustc(image: &Path) -> Option<PathBuf> {
    Some(Origin::read(image)?.rustc)
}

/// Marks an image as used until the result is dropped.
pub(super) fn mark_as_used(image: &Path) -> Result<Lock> {
    cache::make(&image.join(USERS))?;
    Lock::shared(&image.join(USERS))
}

/// Removes the images beside `image` that it replaces, and those whose compiler or crate is gone, unless a
/// session uses them. Returns their number.
pub(super) fn remove_replaced(image: &Path) -> usize {
    let (Some(folder), Some(origin)) = (image.parent(), Origin::read(image)) else {
        return 0;
    };
    let images = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let old = images.map(|entry| entry.path()).filter(|other| {
        let found = Origin::read(other);
        other != image && found.is_some_and(|found| origin.replaces(&found) || found.is_gone())
    });
    old.filter(|old| remove(old).is_some()).count()
}

/// Returns the newest image of this crate for another release of Rust.
pub(super) fn other(key: &Key, image: &Path) -> Option<Other> {
    let own = Origin::of(key).ok()?;
    let images = std::fs::read_dir(image.parent()?).ok()?.flatten();
    let others = images.filter_map(|entry| {
        let manifest = entry.path().join(manifest::FILE).metadata().ok()?;
        let found = Origin::read(&entry.path())?;
        let is_other = (&found.taper, &found.features) == (&own.taper, &own.features)
            && !found.release.is_empty()
            && found.release != own.release;
        let other = Other {
            release: found.release,
            took: found.seconds.map(Duration::from_secs),
        };
        is_other.then_some((manifest.modified().ok()?, other))
    });
    let newest = others.max_by_key(|(built, _)| *built);
    newest.map(|(_, other)| other)
}

/// Removes an image. Returns `None` if it is used or being built, or cannot be removed.
fn remove(image: &Path) -> Option<()> {
    cache::make(&image.join(USERS)).ok()?;
    let _users = Lock::if_free(&image.join(USERS))?;
    let _builder = Lock::if_free(image)?;
    std::fs::remove_dir_all(image).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_examined_is_not_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (rustc, taper) = (folder.path().join("rustc"), folder.path().join("taper"));
        let origin = || Origin {
            rustc: rustc.clone(),
            release: String::new(),
            taper: taper.clone(),
            features: Vec::new(),
            from: String::new(),
            seconds: None,
        };
        std::fs::write(&rustc, "").expect("a file");
        assert!(origin().is_gone());
        std::os::unix::fs::symlink(&taper, &taper).expect("a link to itself");
        assert!(!origin().is_gone());
    }

    #[test]
    fn an_image_that_was_replaced_is_removed_when_nothing_uses_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let taper = folder.path().join("taper");
        cache::make(&taper).expect("a folder");
        let image = |name: &str, rustc: &str, taper: &Path| {
            let image = folder.path().join("images").join(name);
            cache::make(&image).expect("a folder");
            let rustc = folder.path().join(rustc);
            std::fs::write(&rustc, "").expect("a file");
            let features = Vec::new();
            let taper = taper.to_owned();
            let origin = serde_json::to_vec(&Origin {
                rustc,
                // After `rustup update`, the compiler is in the same place.
                release: name.to_owned(),
                taper,
                features,
                from: String::new(),
                seconds: None,
            });
            std::fs::write(image.join(FILE), origin.expect("JSON")).expect("a file");
            image
        };
        let old = image("old", "stable", &taper);
        let beta = image("beta", "beta", &taper);
        let orphan = image("orphan", "stable", &folder.path().join("gone"));
        let new = image("new", "stable", &taper);
        let session = mark_as_used(&old).expect("a lock");
        assert_eq!(remove_replaced(&new), 1);
        assert!(old.exists() && beta.exists() && new.exists() && !orphan.exists());
        drop(session);
        assert_eq!(remove_replaced(&new), 1);
        assert!(!old.exists() && beta.exists() && new.exists());
    }
}
