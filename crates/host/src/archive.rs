//! Folders as one compressed file: what an installed program carries, and images that move to another machine.

use crate::cache;
use crate::error::OnFile as _;
use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};
use tar::{Archive, Builder, EntryType, Header};

/// The limit of [`first_files`], in bytes.
const FIRST_LIMIT: u64 = 64 << 20;

/// The message for an archive that cannot be read to its end.
const DAMAGED: &str = "the archive is damaged or incomplete: copy or download it again";

/// A writer that packs files into a compressed archive.
pub struct Packer<W: Write>(Builder<GzEncoder<W>>);

impl<W: Write> Packer<W> {
    /// Creates an archive, which is compressed fast rather than well.
    pub fn new(to: W) -> Packer<W> {
        Packer(Builder::new(GzEncoder::new(to, Compression::fast())))
    }

    /// Adds a file under this name.
    pub fn add(&mut self, name: &Path, path: &Path) -> Result<()> {
        self.append(name, path).on_file("pack", path)
    }

    fn append(&mut self, name: &Path, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(metadata.len());
        // No times and owners: the same files become the same archive.
        header.set_mode(0o644 | (metadata.permissions().mode() & 0o111));
        self.0.append_data(&mut header, name, file)
    }

    /// Finishes the archive, and returns the writer to which it was written.
    pub fn finish(self) -> io::Result<W> {
        self.0.into_inner()?.finish()
    }
}

/// Returns the content of the first entries of an archive, which must have these names in this order. `None` if they have
/// others, or are larger than 64 MB together.
pub fn first_files(compressed: impl Read, names: &[&str]) -> io::Result<Option<Vec<Vec<u8>>>> {
    let mut archive = Archive::new(GzDecoder::new(compressed).take(FIRST_LIMIT));
    let mut entries = archive.entries()?;
    let mut found = Vec::new();
    for name in names {
        let Some(entry) = entries.next() else {
            return Ok(None);
        };
        let mut entry = entry?;
        if entry.path()?.as_ref() != Path::new(name) {
            return Ok(None);
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        found.push(content);
    }
    Ok(Some(found))
}

/// Unpacks an archive into a folder. Refuses everything but new files below the folder, and more than `limit` bytes.
pub fn unpack(compressed: impl Read, folder: &Path, limit: u64) -> Result<()> {
    cache::make(folder)?;
    let mut left = limit;
    let mut archive = Archive::new(GzDecoder::new(compressed));
    for entry in archive.entries().context(DAMAGED)? {
        let mut entry = entry.context(DAMAGED)?;
        let name = entry.path().context(DAMAGED)?.into_owned();
        let is_below = name.components().all(|c| matches!(c, Component::Normal(_)));
        if entry.header().entry_type() != EntryType::Regular || !is_below {
            bail!(
                "the archive contains {name:?}: expected only files below the folder into which it is unpacked"
            );
        }
        left = left.checked_sub(entry.size()).with_context(|| {
            format!(
                "the archive contains more than {limit} bytes, the limit for what it should contain"
            )
        })?;
        let path = folder.join(&name);
        cache::make(path.parent().unwrap_or(folder))?;
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = file.on_file("create", &path)?;
        copy(&mut entry, &mut file, &path)?;
        let is_program = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let mode = Permissions::from_mode(if is_program { 0o755 } else { 0o644 });
        file.set_permissions(mode).on_file("write", &path)?;
    }
    Ok(())
}

/// Copies an entry into the file at `path`. Says whether the archive or the disk is the reason of an error.
fn copy(entry: &mut impl Read, file: &mut File, path: &Path) -> Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match entry.read(&mut buffer).context(DAMAGED)? {
            0 => return Ok(()),
            count => file.write_all(&buffer[..count]).on_file("write", path)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an archive with one entry, as another program may write it.
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
            let error = unpack(archive_of(name, kind).as_slice(), &to, 1).expect_err(name);
            let expected = format!("the archive contains {name:?}: expected only files below");
            assert!(error.to_string().starts_with(&expected), "{name}: {error}");
        }
        assert!(!folder.path().join("outside").exists());
        let good = archive_of("a/file", EntryType::Regular);
        unpack(good.as_slice(), &folder.path().join("to"), 0).expect("it is unpacked");
        assert!(folder.path().join("to/a/file").exists());
    }

    #[test]
    fn nothing_beyond_the_limit_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), vec![0; 100_000]).expect("a file");
        let mut packer = Packer::new(Vec::new());
        let (a, b) = (Path::new("a"), Path::new("b"));
        for name in [a, b] {
            packer
                .add(name, &folder.path().join(a))
                .expect("it is added");
        }
        let packed = packer.finish().expect("an archive");
        let to = folder.path().join("to");
        let error = unpack(&packed[..], &to, 150_000).expect_err("it is too large");
        let expected = "the archive contains more than 150000 bytes";
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(to.join(a).exists() && !to.join(b).exists());
        let first = first_files(&packed[..], &["a"]).expect("an archive");
        assert_eq!(first.expect("it is there")[0].len(), 100_000);
        assert_eq!(first_files(&packed[..], &["b"]).expect("an archive"), None);
    }

    #[test]
    fn half_an_archive_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), vec![7; 10_000]).expect("a file");
        let mut packer = Packer::new(Vec::new());
        let a = Path::new("a");
        packer.add(a, &folder.path().join(a)).expect("it is added");
        let packed = packer.finish().expect("an archive");
        let half = &packed[..packed.len() / 2];
        let error = unpack(half, &folder.path().join("to"), u64::MAX).expect_err("it is damaged");
        assert_eq!(error.to_string(), DAMAGED);
    }
}
