//! Folders as one compressed file: what an installed program carries, and images that move to another machine.

use crate::cache;
use crate::error::{Context, Error, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path};
use tar::{Archive, Builder, EntryType, Header};

/// Writes the files, whose paths are relative to `folder`, as a compressed archive into `to`, and returns `to`.
pub fn pack<W: Write>(
    folder: &Path,
    files: impl IntoIterator<Item = impl AsRef<Path>>,
    to: W,
) -> Result<W> {
    let mut builder = Builder::new(GzEncoder::new(to, Compression::default()));
    for file in files {
        let file = file.as_ref();
        let path = folder.join(file);
        add(&mut builder, file, &path).on_file("pack", &path)?;
    }
    let encoder = builder.into_inner();
    let written = encoder.and_then(|encoder| encoder.finish());
    written.on_file("write the archive of", folder)
}

fn add<W: Write>(builder: &mut Builder<W>, name: &Path, path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(file.metadata()?.len());
    // No times and owners: the same files become the same archive.
    header.set_mode(0o644);
    builder.append_data(&mut header, name, file)
}

/// Unpacks an archive into a folder. Refuses everything but new files below the folder.
pub fn unpack(compressed: impl Read, folder: &Path) -> Result<()> {
    cache::make(folder)?;
    let mut archive = Archive::new(GzDecoder::new(compressed));
    for entry in archive.entries().on_file("unpack into", folder)? {
        let mut entry = entry.on_file("unpack into", folder)?;
        let name = entry.path().on_file("unpack into", folder)?.into_owned();
        let is_below = name.components().all(|c| matches!(c, Component::Normal(_)));
        if entry.header().entry_type() != EntryType::Regular || !is_below {
            return Err(Error::UnsafeArchive(name));
        }
        let path = folder.join(&name);
        cache::make(path.parent().unwrap_or(folder))?;
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = file.on_file("create", &path)?;
        io::copy(&mut entry, &mut file).on_file("write", &path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one entry, as another program may write it.
    fn archive_of(name: &str, kind: EntryType) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        // `set_path` would refuse the names that a test needs.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        builder.append(&header, io::empty()).expect("an entry");
        builder
            .into_inner()
            .and_then(|e| e.finish())
            .expect("an archive")
    }

    #[test]
    fn only_files_below_the_folder_are_unpacked() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, kind) in [
            ("../outside", EntryType::Regular),
            ("/absolute", EntryType::Regular),
            ("a/../../outside", EntryType::Regular),
            ("link", EntryType::Symlink),
            ("hard", EntryType::Link),
            ("pipe", EntryType::Fifo),
        ] {
            let to = folder.path().join("to");
            let error = unpack(archive_of(name, kind).as_slice(), &to).expect_err(name);
            assert!(matches!(error, Error::UnsafeArchive(_)), "{name}: {error}");
        }
        assert!(!folder.path().join("outside").exists());
        let good = archive_of("a/file", EntryType::Regular);
        unpack(good.as_slice(), &folder.path().join("to")).expect("it is unpacked");
        assert!(folder.path().join("to/a/file").exists());
    }

    #[test]
    fn half_an_archive_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), vec![7; 10_000]).expect("a file");
        let packed = pack(folder.path(), ["a"], Vec::new()).expect("an archive");
        let half = &packed[..packed.len() / 2];
        assert!(unpack(half, &folder.path().join("to")).is_err());
    }
}
