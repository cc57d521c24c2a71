//! Where a spare and a door find each other, and whether they fit.

use anyhow::{Context, Result};
use ring::digest::{Context as Digest, SHA256};
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use taper_host::digest::hex;
use taper_host::{cache, process};
use taper_session::image::Key;

/// Programs that a session finds once and then keeps.
const PROGRAMS: [&str; 3] = ["rustc", "cargo", "cc"];
/// Variables by which the compiler, the loader and we ourselves are steered.
const PREFIXES: [&str; 8] = [
    "CARGO", "RUST", "TAPER_", "CC", "LD_", "DYLD_", "HOME", "CFLAGS",
];

/// Names all that a session depends on from its start: image, program, tools, variables.
pub fn name(key: &Key) -> Result<String> {
    let mut digest = Digest::new(&SHA256);
    let mut add = |bytes: &[u8]| {
        digest.update(&(bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    add(key.id.as_bytes());
    add(key.sources.as_bytes());
    let program = std::fs::metadata(process::program()?)?;
    add(format!("{:?} {}", program.modified()?, program.len()).as_bytes());
    for program in PROGRAMS {
        add(on_path(program)
            .unwrap_or_default()
            .as_os_str()
            .as_encoded_bytes());
    }
    let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    variables.sort();
    // Named or not, it is the same home.
    add(taper_session::cargo_home()
        .unwrap_or_default()
        .as_os_str()
        .as_encoded_bytes());
    for (variable, value) in variables {
        let name = variable.to_string_lossy();
        if name != "CARGO_HOME" && PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            add(variable.as_encoded_bytes());
            add(value.as_encoded_bytes());
        }
    }
    Ok(hex(digest)[..16].to_owned())
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.find(|file| file.is_file())
}

/// The folder in which spares are found.
pub struct Place {
    folder: PathBuf,
    /// Held open: see [`Place::socket`].
    opened: File,
}

impl Place {
    pub fn open() -> Result<Place> {
        let folder = cache::folder()?.join("standby");
        cache::make(&folder)?;
        let opened = File::open(&folder)?;
        Ok(Place { folder, opened })
    }

    pub fn connect(&self, name: &str) -> Option<UnixStream> {
        UnixStream::connect(self.socket(name)).ok()
    }

    pub fn listen(&self, name: &str) -> Result<UnixListener> {
        let socket = self.socket(name);
        let _ = std::fs::remove_file(&socket);
        UnixListener::bind(&socket).context("waiting for a kernel's start")
    }

    pub fn remove(&self, name: &str) {
        let _ = std::fs::remove_file(self.socket(name));
    }

    /// The address of a socket may have a hundred characters, a cache's folder more.
    fn socket(&self, name: &str) -> PathBuf {
        let folder = if cfg!(target_os = "linux") {
            PathBuf::from(format!("/proc/self/fd/{}", self.opened.as_raw_fd()))
        } else {
            self.folder.clone()
        };
        folder.join(name)
    }

    /// The right to be the one spare; `None` if there is one that is called `name`. One of another
    /// name, made for an image or a program that is no more, is sent away.
    pub fn take(&self, name: &str) -> Result<Option<Right>> {
        let mut file = open(&self.folder.join("lock"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder)?;
                match holder.split_once(' ') {
                    Some((pid, other)) if !other.starts_with(name) => send_away(pid),
                    _ => return Ok(None),
                }
                file.lock()?;
            }
        }
        let mut right = Right { file };
        right.say(&format!("{} {name}", std::process::id()))?;
        Ok(Some(right))
    }
}

/// To be the one spare, until dropped.
pub struct Right {
    file: File,
}

impl Right {
    /// The spare is warm. Nobody needs to know who only wants a kernel: the door waits.
    pub fn is_ready(&mut self) -> Result<()> {
        self.file.write_all(b" ready")?;
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())?;
        Ok(())
    }
}

impl Drop for Right {
    fn drop(&mut self) {
        let _ = self.say("");
    }
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options
        .open(path)
        .with_context(|| format!("opening {}", path.display()))
}

fn send_away(pid: &str) {
    if let Ok(pid) = pid.parse::<libc::pid_t>()
        && pid > 1
    {
        // SAFETY: plain system call; who holds the lock is alive.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &Path) -> Place {
        Place {
            folder: folder.to_owned(),
            opened: File::open(folder).expect("it is a folder"),
        }
    }

    #[test]
    fn there_is_one_spare_at_most() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        let first = place.take("a").expect("the lock works");
        assert!(first.is_some());
        assert!(place.take("a").expect("the lock works").is_none());
        drop(first);
        assert!(place.take("a").expect("the lock works").is_some());
    }

    #[test]
    fn a_socket_is_found_below_a_long_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let long = folder.path().join("long".repeat(40));
        std::fs::create_dir(&long).expect("a folder");
        let place = place(&long);
        assert!(place.connect("a").is_none());
        let _listener = place.listen("a").expect("a socket");
        assert!(place.connect("a").is_some());
        assert!(place.connect("b").is_none());
    }
}
