//! Replaces a file as a whole, so that an interrupted run leaves the old file intact.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file that a command writes.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    folder: PathBuf,
}

impl Target {
    /// Resolves the path before the current directory changes, and checks that the file can be written: better
    /// to fail before an hour of training than after it.
    pub(crate) fn new(path: &Path) -> io::Result<Target> {
        let path = match fs::canonicalize(path) {
            // The file behind a symbolic link is replaced, not the link.
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(path)?,
            Err(error) => return Err(error),
        };
        if let Ok(old) = fs::metadata(&path) {
            refuse_to_replace(&old)?;
        }
        let folder = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        if !folder.is_dir() {
            let why = format!("make the folder {} first", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        tempfile::tempfile_in(&folder)?;
        Ok(Target { path, folder })
    }

    /// Returns the file's path, with symbolic links resolved if it exists.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a temporary file and renames it over the old one, so that a reader sees either the old or the
    /// new content, never a part of it.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        if fs::read(&self.path).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(());
        }
        let mut file = new_file(&self.folder)?;
        file.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(&self.path) {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        // Makes the rename itself durable; not all file systems support this.
        let _ = fs::File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Returns whether the file has changed since these bytes were read from it.
    pub(crate) fn has_changed_since(&self, original: &[u8]) -> bool {
        fs::read(&self.path).map_or(true, |bytes| bytes != original)
    }
}

fn refuse_to_replace(old: &fs::Metadata) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, IsADirectory, PermissionDenied};
    let (kind, why) = if old.is_dir() {
        (IsADirectory, "it is a folder, not a file")
    } else if !old.is_file() {
        (InvalidInput, "it is a pipe or a device, not a file")
    } else if old.permissions().readonly() {
        (
            PermissionDenied,
            "the file is read-only (`chmod u+w` allows writing)",
        )
    } else {
        return Ok(());
    };
    Err(io::Error::new(kind, why))
}

/// Creates a temporary file with the permissions of an ordinary new file: by default, tempfile makes its files
/// private to the user.
fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new()
        .prefix(".taper-")
        .suffix(".tmp")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
}
