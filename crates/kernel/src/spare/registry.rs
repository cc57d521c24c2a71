//! The folder in which the one spare is registered and found.
//!
//! Only its owner can open it, and both ends of a socket check that the other end belongs to the same
//! user: a launch contains the whole environment, and a spare runs any code. A spare is running if its
//! lock is held. A process id would not prove that: it may belong to another process by now, or to
//! another container.

use super::peer;
use crate::error::{Error, Result, chain};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use taper_host::cache;

/// How long to wait for a spare with another fingerprint to end.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(60);

/// A folder with a lock file and a socket, whose name is the spare's fingerprint.
pub(super) struct Registry {
    folder: PathBuf,
    /// The same folder, kept open for [`Registry::socket`].
    opened: File,
}

impl Registry {
    /// Opens the registry of the current user.
    pub(super) fn open() -> Result<Registry> {
        let cache = cache::folder().map_err(Error::session)?;
        Registry::open_in(cache.join("standby"))
    }

    fn open_in(folder: PathBuf) -> Result<Registry> {
        let failed = || Error::io(format!("open the folder {}", folder.display()));
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&folder).map_err(failed())?;
        let opened = File::open(&folder).map_err(failed())?;
        let owner = opened.metadata().map_err(failed())?.uid();
        peer::check(owner, || format!("folder {}", folder.display()))?;
        // Earlier versions created the folder with default permissions.
        let private = opened.set_permissions(Permissions::from_mode(0o700));
        private.map_err(failed())?;
        Ok(Registry { folder, opened })
    }

    /// Connects to the spare with this fingerprint; `None` if there is none.
    pub(super) fn connect(&self, fingerprint: &str) -> Option<UnixStream> {
        let spare = UnixStream::connect(self.socket(fingerprint)).ok()?;
        peer::check_stream(&spare).ok()?;
        Some(spare)
    }

    /// Registers this process as the spare; returns `None` if there is a spare with this fingerprint. A
    /// spare with another fingerprint was started for an image or a program that has been replaced: it
    /// is asked to end. If it has not ended after [`REPLACE_TIMEOUT`], `None` is returned, too.
    pub(super) fn register(&self, fingerprint: &str) -> Result<Option<Registration<'_>>> {
        let path = self.folder.join("lock");
        let failed = || Error::io(format!("lock {}", path.display()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed())?;
        let until = Instant::now() + REPLACE_TIMEOUT;
        let mut ended = None;
        while let Err(error) = file.try_lock() {
            if let TryLockError::Error(error) = error {
                return Err(failed()(error));
            }
            match registered(&mut file).map_err(failed())? {
                Some(other) if other == fingerprint => return Ok(None),
                Some(other) if ended.as_ref() != Some(&other) => {
                    // A spare serves one connection: without a launch, it ends.
                    drop(self.connect(&other));
                    ended = Some(other);
                }
                // The other spare is ending, or another process has just taken the lock.
                _ => {}
            }
            if Instant::now() > until {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        write(&mut file, "").map_err(failed())?;
        let socket = self.socket(fingerprint);
        let _ = std::fs::remove_file(&socket);
        let listening = UnixListener::bind(&socket);
        let listener = listening.map_err(Error::io("listen for a kernel that starts"))?;
        // Written last: a process that reads the fingerprint can connect.
        let text = format!("{} {fingerprint}", std::process::id());
        write(&mut file, &text).map_err(failed())?;
        Ok(Some(Registration {
            registry: self,
            fingerprint: fingerprint.to_owned(),
            listener,
            file,
        }))
    }

    /// Returns the address of a socket. An address has about a hundred bytes at most, and the path of the
    /// cache may be longer: on Linux, the address goes through the open folder.
    fn socket(&self, fingerprint: &str) -> PathBuf {
        let folder = if cfg!(target_os = "linux") {
            PathBuf::from(format!("/proc/self/fd/{}", self.opened.as_raw_fd()))
        } else {
            self.folder.clone()
        };
        folder.join(fingerprint)
    }
}

/// Reads the fingerprint of the registered spare from the lock file.
fn registered(file: &mut File) -> io::Result<Option<String>> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text.split(' ').nth(1).map(str::to_owned))
}

/// Writes the text of the lock file. The process id in it is only for users and for benches/kernel.
fn write(file: &mut File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}

/// The registration of this process as the spare, until it is dropped.
pub(super) struct Registration<'a> {
    registry: &'a Registry,
    fingerprint: String,
    listener: UnixListener,
    file: File,
}

impl Registration<'_> {
    /// Adds to the lock file that the spare is warm. Proxies do not read this: they wait for an answer.
    pub(super) fn mark_ready(&mut self) -> Result<()> {
        let written = self.file.write_all(b" ready");
        written.map_err(Error::io("mark the spare kernel as ready"))
    }

    /// Waits for the first proxy; `None` after `timeout`.
    pub(super) fn wait(&self, timeout: Duration) -> Result<Option<UnixStream>> {
        let failed = || Error::io("wait for a kernel that starts");
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).expect("minutes are a valid time");
            let mut descriptors = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut descriptors, Some(&left)) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(failed()(io::Error::from(error))),
            }
            let (proxy, _) = self.listener.accept().map_err(failed())?;
            match peer::check_stream(&proxy) {
                Ok(()) => return Ok(Some(proxy)),
                Err(error) => eprintln!("taper: {}", chain(&error)),
            }
        }
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.registry.socket(&self.fingerprint));
        let _ = write(&mut self.file, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("it exists").mode() & 0o777
    }

    fn registry(folder: &Path) -> Registry {
        Registry::open_in(folder.join("standby")).expect("the folder can be created")
    }

    #[test]
    fn there_is_one_spare_at_most() {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = registry(folder.path());
        let first = registry.register("a").expect("the lock works");
        assert!(first.is_some());
        assert!(registry.register("a").expect("the lock works").is_none());
        drop(first);
        assert!(registry.register("a").expect("the lock works").is_some());
    }

    #[test]
    fn a_socket_is_found_below_a_long_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = registry(&folder.path().join("long".repeat(40)));
        assert!(registry.connect("a").is_none());
        let _spare = registry.register("a").expect("a socket");
        assert!(registry.connect("a").is_some());
        assert!(registry.connect("b").is_none());
    }

    #[test]
    fn only_the_owner_can_open_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("standby");
        let _new = registry(folder.path());
        assert_eq!(mode(&path), 0o700);
        let open = Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, open).expect("it is ours");
        let _old = registry(folder.path());
        assert_eq!(mode(&path), 0o700);
    }

    /// By now, the process id in the file may belong to another process: here to a bystander.
    #[test]
    fn a_spare_with_another_fingerprint_is_asked_over_its_socket() {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = registry(folder.path());
        let mut bystander = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("it starts");
        let mut old = registry
            .register("old")
            .expect("the lock works")
            .expect("it is the first");
        write(&mut old.file, &format!("{} old", bystander.id())).expect("it is written");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let proxy = old.wait(Duration::from_secs(10)).expect("it waits");
                let mut proxy = proxy.expect("it is asked");
                let read = proxy.read(&mut [0]).expect("it is connected");
                assert_eq!(read, 0, "no launch follows");
                drop(old);
            });
            let new = registry.register("new").expect("the lock works");
            assert!(new.is_some());
        });
        assert_eq!(bystander.try_wait().expect("it is our child"), None);
        bystander.kill().expect("it is our child");
        bystander.wait().expect("it is our child");
    }
}
