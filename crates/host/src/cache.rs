//! The folder in which Taper keeps what it can build again: images, Python environments, the work
//! folders of running sessions.

use crate::error::OnFile as _;
use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The environment variable that overrides the platform's cache folder.
pub const VARIABLE: &str = "TAPER_CACHE";

const NO_FOLDER: &str = "this system has no cache folder: set TAPER_CACHE to a folder of yours";

/// Returns the cache folder; creates it if it does not exist.
pub fn folder() -> Result<PathBuf> {
    let folder = match std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => dirs::cache_dir().context(NO_FOLDER)?.join("taper"),
    };
    unicode(
        "the cache folder",
        &folder,
        "Name another one with TAPER_CACHE.",
    )?;
    std::fs::create_dir_all(&folder).with_context(|| unwritable(&folder))?;
    folder.canonicalize().on_file("open", &folder)
}

/// Checks that the cache folder can be written, by a small file that is removed again.
pub fn check_writable(folder: &Path) -> Result<()> {
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(&[0; 4096])?;
        file.as_file().sync_all()
    });
    written.with_context(|| unwritable(folder))
}

fn unwritable(folder: &Path) -> String {
    format!(
        "cannot write into Taper's cache folder {}: free some space if the disk is full, or name another folder \
         with TAPER_CACHE",
        folder.display()
    )
}

/// Returns an error if a path is not valid Unicode: paths become part of texts for cargo and rustc. `next` is
/// the advice in the error.
pub fn unicode(what: &str, path: &Path, next: &str) -> Result<()> {
    if path.to_str().is_none() {
        bail!("the path of {what} must be valid Unicode, found {path:?}. {next}");
    }
    Ok(())
}

/// Creates a folder with all its parents.
pub fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| {
        let folder = folder.display();
        format!("cannot create the folder {folder}: choose a folder in which you may write")
    })
}

/// Reads a file in a folder that another user may have filled: a regular file, not a link, pipe or device, of at most
/// `limit` bytes.
pub fn read_regular(file: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = File::from(rustix::fs::open(
        file,
        OFlags::RDONLY | flags,
        Mode::empty(),
    )?);
    let metadata = opened.metadata()?;
    if !metadata.is_file() || metadata.len() > limit {
        let message = format!("expected a regular file of at most {limit} bytes");
        return Err(std::io::Error::new(ErrorKind::InvalidInput, message));
    }
    let mut content = Vec::new();
    opened.take(limit).read_to_end(&mut content)?;
    Ok(content)
}

/// Writes a file so that readers see the old or the new content, never an incomplete file.
pub fn write_atomically(file: &Path, content: &[u8]) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(content)?;
        new.as_file().sync_all()?;
        new.persist(file)?;
        Ok(())
    };
    write().on_file("write", file)
}

/// How long [`remove`] tries again. The children of a killed process usually end sooner.
const PATIENCE: Duration = Duration::from_secs(5);

/// Removes a folder with its content; it may be missing. Tries again for a few seconds while another process
/// writes there: after a process was killed, its children run a moment longer.
///
/// # Errors
///
/// When the folder cannot be removed.
pub fn remove(folder: &Path) -> Result<()> {
    let start = Instant::now();
    loop {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == ErrorKind::DirectoryNotEmpty && start.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result.on_file("remove", folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_folder_is_removed_while_a_thread_still_writes_there() {
        for _ in 0..5 {
            let folder = tempfile::tempdir().expect("a folder");
            let folder = folder.path().join("kept");
            make(&folder).expect("a folder");
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    (0..400).for_each(|i| _ = std::fs::write(folder.join(i.to_string()), "cell"));
                });
                while !folder.join("50").exists() {
                    std::thread::yield_now();
                }
                remove(&folder).expect("it is removed");
                writer.join().expect("the writer ends");
            });
            assert!(!folder.exists());
        }
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_named_with_its_variable() {
        let folder = tempfile::tempdir().expect("a folder");
        check_writable(folder.path()).expect("it can be written");
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            0
        );
        // Root cannot write there either.
        let error = check_writable(Path::new("/proc")).expect_err("it cannot be written");
        assert!(error.to_string().contains("TAPER_CACHE"), "{error}");
        let error = make(Path::new("/proc/new")).expect_err("it cannot be created");
        assert!(!error.to_string().contains("TAPER_CACHE"), "{error}");
    }

    #[test]
    fn a_path_that_is_not_unicode_is_refused_in_a_sentence() {
        assert!(unicode("the folder", Path::new("/é"), "Rename it.").is_ok());
        let path = Path::new(OsStr::from_bytes(b"/a\xff"));
        let error = unicode("the folder", path, "Rename it.").expect_err("it is refused");
        assert_eq!(
            error.to_string(),
            "the path of the folder must be valid Unicode, found \"/a\\xFF\". Rename it."
        );
    }
}
