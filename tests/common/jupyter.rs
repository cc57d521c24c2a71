//! A Jupyter installation that has only our kernel, and a cache that no other kernels use.

use super::python::{cache, python};
use super::{root, run_within, taper};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// The limit includes building the warm image, which the first set-up does.
const TO_SET_UP: Duration = Duration::from_secs(900);

pub(crate) struct Jupyter {
    folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Jupyter {
    /// Registers the kernel with `taper setup --jupyter`. Only one test at a time has a
    /// `Jupyter`: Jupyter's own tests wait 15 seconds for a reply, and a kernel needs a quarter of a gigabyte.
    pub(crate) fn with_our_kernel() -> Jupyter {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let jupyter = Jupyter {
            folder: own_cache(),
            _turn: turn,
        };
        let mut set_up = taper(&["setup", "--jupyter"]);
        set_up.arg(python().with_file_name("jupyter"));
        let said = run_within(TO_SET_UP, jupyter.sees(set_up));
        assert!(said.status.success(), "{}", said.all());
        jupyter
    }

    /// Returns a call of a script of `tests/python`.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = Command::new(python());
        command.arg(Path::new("tests/python").join(name));
        self.sees(command)
    }

    /// Returns a call of `jupyter`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(python().with_file_name("jupyter"));
        command.args(arguments);
        self.sees(command)
    }

    /// Returns this test's own folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Hides the user's settings and kernels from a call.
    fn sees(&self, mut command: Command) -> Command {
        let folder = self.path();
        for (variable, name) in [
            ("TAPER_CACHE", ""),
            ("JUPYTER_PATH", "jupyter"),
            ("JUPYTER_DATA_DIR", "jupyter-data"),
            ("JUPYTER_CONFIG_DIR", "jupyter-config"),
            ("JUPYTER_RUNTIME_DIR", "jupyter-runtime"),
            ("IPYTHONDIR", "ipython"),
        ] {
            command.env(variable, folder.join(name));
        }
        command.env_remove("RUST_BACKTRACE").current_dir(root());
        command
    }
}

/// Creates a cache that shares the images. It is on the same file system as the images, because a
/// session links their files.
fn own_cache() -> TempDir {
    let images = cache().join("images");
    let tests = cache().join("tests");
    for folder in [&images, &tests] {
        fs::create_dir_all(folder).expect("the cache can be written to");
    }
    let folder = tempfile::tempdir_in(tests).expect("the cache can be written to");
    let images = images.canonicalize().expect("it was just made");
    symlink(images, folder.path().join("images")).expect("a link");
    folder
}
