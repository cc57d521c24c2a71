//! Keeps what was compiled on disk, also for other kernels and for the next session.
//!
//! Each entry is a file, named by a digest of all that its content depends on. A file begins with the digest of the
//! rest, so an incomplete or damaged file is not used. It is written under another name first: readers see all of
//! it or nothing. What cannot be read or written is compiled again; so a full disk, or another kernel that removes a
//! file, only costs time.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cmp::Reverse;
use std::fs::{DirBuilder, DirEntry, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use taper_host::digest;

/// The size of all entries together in bytes. Those that were not used for the longest time go first.
const LIMIT: u64 = 200_000_000;
/// How many entries are written until the size is checked again.
const INTERVAL: u32 = 50;
/// After this time, a file that is not complete was left by a writer that has ended.
const ABANDONED: Duration = Duration::from_secs(3600);
/// The length of a digest, in hexadecimal digits.
const DIGEST: usize = 64;
/// The end of the name of a file that is not complete.
const NEW: &str = ".new";

/// Entries in a folder.
#[derive(Clone)]
pub(crate) struct Cache(Option<PathBuf>);

impl Cache {
    /// Returns the cache in this folder; without a folder, nothing is kept.
    pub(crate) fn new(folder: Option<PathBuf>) -> Cache {
        Cache(folder)
    }

    /// Reads an entry.
    pub(crate) fn read<M: DeserializeOwned>(&self, key: &str) -> Option<(M, Vec<u8>)> {
        let path = self.0.as_ref()?.join(key);
        let file = File::open(&path).ok()?;
        let entry = decode(&std::fs::read(&path).ok()?);
        match entry {
            // The time says that it was used.
            Some(_) => drop(file.set_modified(SystemTime::now())),
            None => drop(std::fs::remove_file(&path)),
        }
        entry
    }

    /// Writes an entry, unless that fails.
    pub(crate) fn write(&self, key: &str, meaning: &impl Serialize, content: &[u8]) {
        static WRITTEN: AtomicU32 = AtomicU32::new(0);
        let Some(folder) = &self.0 else { return };
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let new = folder.join(format!("{}-{number}{NEW}", std::process::id()));
        let written = encode(meaning, content).and_then(|entry| {
            // Others must not be able to put code there.
            let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            std::fs::write(&new, entry)?;
            std::fs::rename(&new, folder.join(key))
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        if number.is_multiple_of(INTERVAL) {
            trim(folder, LIMIT);
        }
    }
}

fn encode(meaning: &impl Serialize, content: &[u8]) -> std::io::Result<Vec<u8>> {
    let meaning = serde_json::to_vec(meaning)?;
    let length = u32::try_from(meaning.len()).map_err(std::io::Error::other)?;
    let rest = [&length.to_le_bytes()[..], &meaning, content].concat();
    let mut entry = digest::of(&rest).into_bytes();
    entry.write_all(&rest)?;
    Ok(entry)
}

fn decode<M: DeserializeOwned>(entry: &[u8]) -> Option<(M, Vec<u8>)> {
    let (digest, rest) = entry.split_at_checked(DIGEST)?;
    (digest::of(rest).as_bytes() == digest).then_some(())?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (meaning, content) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((serde_json::from_slice(meaning).ok()?, content.to_owned()))
}

/// Removes the entries that were not used for the longest time, and what writers have left.
fn trim(folder: &Path, limit: u64) {
    let now = SystemTime::now();
    let file = |entry: DirEntry| {
        let metadata = entry.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len(), entry.path()))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries.filter_map(file).collect();
    files.sort_unstable_by_key(|file| Reverse(file.0));
    let mut sum = 0;
    for (used, size, path) in files {
        let is_new = path.to_string_lossy().ends_with(NEW);
        let is_abandoned = now.duration_since(used).is_ok_and(|age| age > ABANDONED);
        sum += size;
        if if is_new { is_abandoned } else { sum > limit } {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(Some(folder.path().join("cells")));
        (folder, cache)
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let (_folder, cache) = cache();
        assert!(cache.read::<String>("a").is_none());
        cache.write("a", &"meaning", b"content");
        let read = cache.read::<String>("a");
        assert_eq!(read, Some(("meaning".to_owned(), b"content".to_vec())));
        Cache::new(None).write("a", &1, b"");
    }

    #[test]
    fn a_damaged_or_incomplete_entry_is_not_used() {
        let (_folder, cache) = cache();
        cache.write("a", &"meaning", b"content");
        let path = cache.0.as_ref().expect("a folder").join("a");
        let whole = std::fs::read(&path).expect("it is there");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("it is ours");
            assert!(cache.read::<String>("a").is_none(), "{length} bytes");
            assert!(!path.exists());
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(decode::<String>(&damaged).is_none(), "byte {at}");
        }
    }

    #[test]
    fn the_entries_that_were_used_last_stay() {
        let (_folder, cache) = cache();
        let folder = cache.0.clone().expect("a folder");
        for (age, key) in [(3, "old"), (2, "used"), (1, "new")] {
            cache.write(key, &(), &[0; 1000]);
            let file = File::options()
                .write(true)
                .open(folder.join(key))
                .expect("it is there");
            let time = SystemTime::now() - Duration::from_secs(age * 7200);
            file.set_modified(time).expect("it is ours");
        }
        assert!(cache.read::<()>("used").is_some());
        std::fs::write(folder.join("1-1.new"), "").expect("a file");
        let abandoned = File::create(folder.join("1-2.new")).expect("a file");
        abandoned
            .set_modified(SystemTime::UNIX_EPOCH)
            .expect("it is ours");
        trim(&folder, 2500);
        let left = |name: &str| folder.join(name).exists();
        assert!(!left("old") && left("used") && left("new"));
        assert!(left("1-1.new") && !left("1-2.new"));
    }

    #[test]
    fn several_writers_do_not_disturb_each_other() {
        let (_folder, cache) = cache();
        std::thread::scope(|threads| {
            for content in 0..8u8 {
                let cache = cache.clone();
                threads.spawn(move || {
                    for _ in 0..50 {
                        cache.write("a", &content, &[content; 5000]);
                        if let Some((meaning, read)) = cache.read::<u8>("a") {
                            assert!(read.iter().all(|byte| *byte == meaning));
                        }
                    }
                });
            }
        });
        assert!(cache.read::<u8>("a").is_some());
    }
}
