//! The folder in which packages of `:dep` lines are compiled, one for all sessions of an image.
//!
//! What a session compiles there, the next one finds, also if it was stopped or killed meanwhile. It begins with a copy of
//! what cargo has written for the image, so that cargo takes the image's packages as compiled.
//!
//! While cargo works, and until its files are linked into the session's own folder, the folder is locked. A link stays as
//! it is when another session compiles a package there again, such as one whose source the user has changed.

use super::artifacts::Artifacts;
use super::cargo::{build_beside, clean};
use super::layout::{self, KEPT};
use super::manifest::{self, Manifest};
use super::{clone, taken};
use crate::workspace;
use anyhow::{Context, Result};
use cargo_metadata::Metadata;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use taper_host::cache;
use taper_host::error::OnFile as _;
use taper_host::lock::Lock;
use taper_host::progress::Progress;

/// The folder of the crate that depends on the packages.
const BESIDE: &str = "beside";

/// The file that says which build of the image was copied.
const COPIED: &str = "copied";

/// The file that says from what the files were compiled that cargo names without a digest.
const WITHOUT_DIGEST: &str = "without-digest.json";

/// The folder of the shared libraries that the engine makes of packages.
const LIBRARIES: &str = "libraries";

const WAITING: &str = "Another notebook compiles packages. Waiting until that is done…";

/// The folder for an image.
pub(super) struct Added {
    /// The folder of the image, which may be another user's.
    image: PathBuf,
    /// The folder of the same name in the user's cache.
    own: PathBuf,
    folder: PathBuf,
    /// Whether cargo would compile the image's packages again, because it has their sources in another folder.
    is_moved: bool,
}

impl Added {
    /// Returns the folder for an image.
    pub(super) fn of(image: &Path) -> Result<Added> {
        let images = cache::folder()?.join("images");
        let own = images.join(image.file_name().unwrap_or_default());
        Ok(Added {
            image: image.to_owned(),
            folder: own.join(KEPT),
            own,
            is_moved: taken::is_needed(image),
        })
    }

    /// Returns the folder in which the engine keeps the shared libraries that it makes of packages.
    pub(super) fn libraries(&self) -> PathBuf {
        self.folder.join(LIBRARIES)
    }

    /// Returns the folders that cargo names in messages.
    pub(super) fn folders(&self) -> [PathBuf; 2] {
        [self.folder.join(BESIDE), self.folder.clone()]
    }

    /// Compiles the packages of a manifest, and puts them into the work directory, whose lock file has the versions.
    /// `without_digest` is what [`Graph::without_digest`](super::graph::Graph::without_digest) returns.
    pub(super) fn build(
        &self,
        manifest: &str,
        work: &Path,
        without_digest: &BTreeMap<String, String>,
        metadata: &Metadata,
        progress: &mut dyn Progress,
    ) -> Result<Artifacts> {
        cache::make(&self.folder)?;
        let folder = self.folder.canonicalize().on_file("find", &self.folder)?;
        let _lock = Lock::alone(&folder, WAITING, progress)?;
        self.copy_image(&folder)?;
        let beside = self.write_crate(manifest, &work.join("Cargo.lock"))?;
        self.clean(&beside, without_digest)?;
        let prepare = |cargo: &mut std::process::Command| {
            if self.is_moved {
                taken::prepare(cargo, &self.image, &folder);
            }
        };
        let mut built = build_beside(&beside, &folder, metadata, prepare, progress)?;
        built.link(&folder, work)?;
        Ok(built)
    }

    /// Writes the crate. Its source stays as it is, so that cargo does not compile it again.
    fn write_crate(&self, manifest: &str, lock: &Path) -> Result<PathBuf> {
        let beside = self.folder.join(BESIDE);
        let source = beside.join("src/lib.rs");
        if !source.exists() {
            cache::make(&beside.join("src"))?;
            cache::write_atomically(&source, b"")?;
        }
        // A store's image is in another folder.
        if !self.own.join(".cargo").exists() {
            workspace::configure(&self.own)?;
        }
        cache::write_atomically(&beside.join("Cargo.toml"), manifest.as_bytes())?;
        std::fs::copy(lock, beside.join("Cargo.lock")).on_file("copy", lock)?;
        Ok(beside)
    }

    /// Removes the files without a digest in their names that were compiled in another way. Cargo would take them.
    fn clean(&self, beside: &Path, wanted: &BTreeMap<String, String>) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let file = self.folder.join(WITHOUT_DIGEST);
        let known = std::fs::read(&file).unwrap_or_default();
        let mut known: BTreeMap<String, String> =
            serde_json::from_slice(&known).unwrap_or_default();
        for (name, how) in wanted {
            if known.insert(name.clone(), how.clone()).as_ref() != Some(how) {
                clean(beside, name)?;
            }
        }
        let known =
            serde_json::to_vec(&known).context("cannot write the compiled packages as JSON")?;
        cache::write_atomically(&file, &known)
    }

    /// Copies what cargo has written for the image, unless that was done since the image was built. Without the image,
    /// cargo compiles its packages again.
    fn copy_image(&self, folder: &Path) -> Result<()> {
        let list = self.image.join(manifest::FILE).metadata();
        let Ok(built) = list.and_then(|list| list.modified()) else {
            return Ok(());
        };
        let (copied, built) = (folder.join(COPIED), format!("{built:?}"));
        if std::fs::read(&copied).is_ok_and(|copied| copied == built.as_bytes()) {
            return Ok(());
        }
        let Some(manifest) = Manifest::read(&self.image) else {
            return Ok(());
        };
        let _lock = Lock::shared(&self.image)?;
        let work = self.image.join(layout::WORK);
        for file in manifest.files().filter(|file| layout::is_of_cargo(file)) {
            clone::anew(&work.join(file), &folder.join(file))?;
        }
        cache::write_atomically(&copied, built.as_bytes())
    }
}
