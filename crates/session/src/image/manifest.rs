//! The list of an image's files, written when the image is complete.

use super::key::Key;
use super::layout::{WORK, belongs_to_image};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use taper_host::error::OnFile as _;
use taper_host::{cache, digest};

pub(super) const FILE: &str = "manifest.json";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The digest of the sources, as in the key.
    pub(crate) sources: String,
    entries: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// Relative to the work directory.
    path: PathBuf,
    size: u64,
    /// Nanoseconds since 1970.
    modified: u128,
    sha256: String,
}

impl Manifest {
    /// Writes the list of the files that the build wrote into `folder`.
    pub(crate) fn write(folder: &Path, key: &Key) -> Result<Manifest> {
        let work = folder.join(WORK);
        let mut entries = Vec::new();
        list(&work, &work, &mut entries)?;
        let manifest = Manifest {
            sources: key.sources.clone(),
            entries,
        };
        let json = serde_json::to_vec(&manifest)
            .context("cannot write the manifest of an image as JSON")?;
        cache::write_atomically(&folder.join(FILE), &json)?;
        Ok(manifest)
    }

    /// Reads the manifest. Returns `None` if the file is missing or has another format.
    pub(crate) fn read(folder: &Path) -> Option<Manifest> {
        Self::parse(&std::fs::read(folder.join(FILE)).ok()?)
    }

    /// Parses a manifest. Returns `None` if it has another format, or names a file outside of the work directory: an image
    /// may come from another machine.
    pub(crate) fn parse(json: &[u8]) -> Option<Manifest> {
        let manifest: Manifest = serde_json::from_slice(json).ok()?;
        let is_below = |path: &Path| {
            path.components()
                .all(|part| matches!(part, Component::Normal(_)))
        };
        let is_safe = manifest.files().all(is_below);
        is_safe.then_some(manifest)
    }

    /// Returns the size of all files, in bytes.
    pub(crate) fn size(&self) -> u64 {
        let sizes = self.entries.iter().map(|entry| entry.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// Deletes the manifest, after which the image counts as missing.
    pub(crate) fn remove(folder: &Path) -> Result<()> {
        let file = folder.join(FILE);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            result => result.on_file("remove", &file),
        }
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().map(|entry| entry.path.as_path())
    }

    /// Returns the first file that is missing or whose size or time has changed.
    pub(crate) fn first_damaged(&self, folder: &Path) -> Option<PathBuf> {
        let work = folder.join(WORK);
        let is_damaged = |entry: &&Entry| match stamp(&work.join(&entry.path)) {
            Ok(found) => found != (entry.size, entry.modified),
            Err(_) => true,
        };
        self.entries
            .iter()
            .find(is_damaged)
            .map(|entry| entry.path.clone())
    }

    /// Returns the first file whose content has changed.
    pub(crate) fn first_changed(&self, folder: &Path) -> Result<Option<PathBuf>> {
        for entry in &self.entries {
            if sha256(&folder.join(WORK).join(&entry.path))? != entry.sha256 {
                return Ok(Some(entry.path.clone()));
            }
        }
        Ok(None)
    }

    /// Checks files that were copied from another machine into `folder`, and sets their times.
    pub(crate) fn restore(&self, folder: &Path) -> Result<()> {
        if let Some(changed) = self.first_changed(folder)? {
            let changed = changed.display();
            bail!("the image is damaged: {changed} differs from what was exported");
        }
        for entry in &self.entries {
            let path = folder.join(WORK).join(&entry.path);
            let nanoseconds = u64::try_from(entry.modified).unwrap_or(u64::MAX);
            let time = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
            let file = File::options().append(true).open(&path);
            let set = file.and_then(|file| file.set_modified(time));
            set.on_file("set the time of", &path)?;
        }
        Ok(())
    }
}

fn list(folder: &Path, work: &Path, entries: &mut Vec<Entry>) -> Result<()> {
    for found in std::fs::read_dir(folder).on_file("read", folder)? {
        let found = found.on_file("read", folder)?;
        let path = found.path();
        let below = path.strip_prefix(work).unwrap_or(&path);
        if !belongs_to_image(below) {
            continue;
        }
        if found.file_type().on_file("read", &path)?.is_dir() {
            list(&path, work, entries)?;
        } else {
            let (size, modified) = stamp(&path)?;
            entries.push(Entry {
                path: below.to_owned(),
                size,
                modified,
                sha256: sha256(&path)?,
            });
        }
    }
    Ok(())
}

fn stamp(file: &Path) -> Result<(u64, u128)> {
    let metadata = std::fs::metadata(file).on_file("read", file)?;
    let modified = metadata.modified().on_file("read", file)?;
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((metadata.len(), since.as_nanos()))
}

pub(super) fn sha256(file: &Path) -> Result<String> {
    digest::of_file(file).on_file("read", file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_only_files_of_its_work_directory() {
        let manifest = |path: &str| {
            let entry = format!(
                r#"{{"path":"{path}","size":18446744073709551615,"modified":0,"sha256":""}}"#
            );
            Manifest::parse(format!(r#"{{"sources":"","entries":[{entry},{entry}]}}"#).as_bytes())
        };
        for path in ["/etc/passwd", "../other", "target/../../other", "./a"] {
            assert!(manifest(path).is_none(), "{path}");
        }
        assert_eq!(
            manifest("target/a").map(|manifest| manifest.size()),
            Some(u64::MAX)
        );
    }
}
