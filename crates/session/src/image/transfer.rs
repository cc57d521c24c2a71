//! An image as one file, for another machine with the same Rust and the same Taper.
//!
//! Nothing is compiled again. The file also contains the packages' sources that the analysis reads, and what cargo says
//! about them, with placeholders for the folders that differ between machines.

use super::key::Key;
use super::layout::PACKAGES;
use super::layout::WORK;
use super::manifest::{self, Manifest, sha256};
use super::{Condition, Image, build, folder_of, libraries, origin, taken};
use crate::environment::packages;
use crate::workspace;
use anyhow::{Context, Error, Result, anyhow, bail};
use std::fs::{self, File};
use std::path::Path;
use taper_host::archive::{self, Packer};
use taper_host::error::OnFile as _;
use taper_host::lock::Lock;
use taper_host::progress::Progress;
use taper_host::{cache, checks, digest, toolchain};

/// The file in the archive that says what the image was compiled from.
const BUILT: &str = "built.json";
const NO_IMAGE: &str =
    "the packages are not compiled yet, or not all: run `taper setup`, then export again";
/// The limit for the packages' sources in the archive, in bytes: they take about 60 MB.
const PACKAGES_LIMIT: u64 = 2 << 30;
/// The folder in an image's folder into which an import unpacks the archive.
const UNFINISHED: &str = "imported";

/// The versions and inputs from which an image was compiled.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Built {
    /// A digest of all that an image is compiled from, without paths.
    pub(crate) from: String,
    pub(crate) taper: String,
    pub(crate) rust: String,
}

impl Key {
    /// Returns the versions and inputs from which the image for this key is compiled, without what differs between machines.
    ///
    /// # Errors
    ///
    /// When there is no compiler.
    pub fn built(&self) -> Result<Built> {
        Ok(Built {
            from: digest::of(format!("{} {}", self.portable, self.sources).as_bytes()),
            taper: env!("CARGO_PKG_VERSION").to_owned(),
            rust: toolchain::release()?.to_owned(),
        })
    }
}

impl Image {
    /// Writes the image for this key into a file, completely or not at all. Returns its SHA-256.
    ///
    /// # Errors
    ///
    /// When the image is not ready, or the file cannot be written.
    pub fn export(key: &Key, file: &Path) -> Result<String> {
        refuse_to_replace(file).on_file("write", file)?;
        let (Condition::Ready, Some(image)) = Self::find(key)? else {
            bail!(NO_IMAGE);
        };
        let _lock = Lock::shared(&image.folder)?;
        let parent = match file.parent() {
            Some(parent) if parent != "" => parent,
            _ => Path::new("."),
        };
        let new = tempfile::NamedTempFile::new_in(parent).on_file("create a file in", parent)?;
        image.pack(key, new.as_file()).on_file("write", file)??;
        let written = sha256(new.path())?;
        new.persist(file)
            .map_err(|error| error.error)
            .on_file("write", file)?;
        Ok(written)
    }

    fn pack(&self, key: &Key, file: &File) -> std::io::Result<Result<()>> {
        let mut packer = Packer::new(file);
        let added = self.add_to(&mut packer, key);
        packer.finish()?.sync_all()?;
        Ok(added)
    }

    fn add_to(&self, packer: &mut Packer<&File>, key: &Key) -> Result<()> {
        let built = serde_json::to_vec(&key.built()?).context("cannot write an image as JSON")?;
        let mut note = tempfile::NamedTempFile::new().context("cannot create a file")?;
        std::io::Write::write_all(&mut note, &built).context("cannot write a file")?;
        packer.add(Path::new(BUILT), note.path())?;
        packer.add(Path::new(manifest::FILE), &self.folder.join(manifest::FILE))?;
        for file in self.manifest.files() {
            packer.add(&Path::new(WORK).join(file), &self.work().join(file))?;
        }
        let imported = Some(self.folder.join(PACKAGES)).filter(|packages| packages.exists());
        let Some(home) = imported.or_else(packages) else {
            return Ok(());
        };
        for package in libraries::sources(&self.work(), &home) {
            let mut files = Vec::new();
            super::key::list_files(&package, &mut files)?;
            for file in files {
                let name = file.strip_prefix(&home).unwrap_or(&file);
                packer.add(&Path::new(PACKAGES).join(name), &file)?;
            }
        }
        Ok(())
    }

    /// Imports the image in a file as the image for this key, unless that is ready. An import that was
    /// killed can be repeated.
    ///
    /// # Errors
    ///
    /// When the file does not have this SHA-256, is damaged, or contains an image that was compiled from
    /// other versions or inputs.
    pub fn import(
        key: &Key,
        file: &Path,
        expected: Option<&str>,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        // Also where the image is ready: a mistyped name must not look like success.
        if !fs::metadata(file).on_file("open", file)?.is_file() {
            // Opening a pipe would wait for its writer.
            return Err(not_an_image(file));
        }
        if let Some(expected) = expected {
            let found = sha256(file)?;
            if !found.eq_ignore_ascii_case(expected) {
                bail!(
                    "expected the SHA-256 {expected}, found {found}: the file is damaged, or not the expected one. Copy or \
                     download it again."
                );
            }
        }
        let folder = folder_of(key)?;
        checks::disk(&folder, build::has_begun(&folder))?;
        let _lock = Lock::exclusive(&folder, progress)?;
        if Self::find(key)?.0 == Condition::Ready {
            return Ok(());
        }
        let new = folder.join(UNFINISHED);
        cache::remove(&new)?;
        let imported = unpack(key, file, &new).and_then(|()| accept(key, &new, &folder));
        cache::remove(&new)?;
        imported
    }
}

fn not_an_image(file: &Path) -> Error {
    let file = file.display();
    anyhow!(
        "{file} is not an image that `taper image export` wrote: copy or download it again, and compare its SHA-256"
    )
}

/// Returns an error if the path is a folder, a pipe or a device: an administrator could replace even a device.
fn refuse_to_replace(path: &Path) -> std::io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "it is a folder, a pipe or a device: name a file",
        )),
        _ => Ok(()),
    }
}
/// Unpacks an image for this key into `new`. What it contains is checked before anything is unpacked: that it is an image of
/// this Taper, and how large it may be.
fn unpack(key: &Key, file: &Path, new: &Path) -> Result<()> {
    let open = || File::open(file).on_file("open", file);
    let first = archive::first_files(open()?, &[BUILT, manifest::FILE]);
    let Ok(Some([built, manifest])) =
        first.map(|first| first.and_then(|first| <[_; 2]>::try_from(first).ok()))
    else {
        return Err(not_an_image(file));
    };
    let built = serde_json::from_slice::<Built>(&built).ok();
    let (Some(image), Some(manifest)) = (built, Manifest::parse(&manifest)) else {
        return Err(not_an_image(file));
    };
    let here = key.built()?;
    if image != here {
        bail!(
            "the image was compiled by Taper {} with rustc {}, but this machine has Taper {} with rustc {}; \
             versions, sources, device and cargo's configuration must be the same. `taper setup` compiles one for \
             this machine.",
            image.taper,
            image.rust,
            here.taper,
            here.rust
        );
    }
    archive::unpack(open()?, new, manifest.size().saturating_add(PACKAGES_LIMIT))?;
    manifest.restore(new)
}

/// Moves the unpacked files to their places, and last the manifest, which makes the image complete.
fn accept(key: &Key, new: &Path, folder: &Path) -> Result<()> {
    build::wipe(folder)?;
    origin::write(key, folder)?;
    taken::note(folder, None)?;
    workspace::configure(folder)?;
    // An image without packages whose sources are read has no such folder.
    cache::make(&new.join(PACKAGES))?;
    for name in [PACKAGES, WORK, manifest::FILE] {
        let to = folder.join(name);
        fs::rename(new.join(name), &to).on_file("create", &to)?;
    }
    Ok(())
}
