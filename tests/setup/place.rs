//! A place where a test sets Taper up with the real command.

use super::stand_in::home;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The limit for each command, also on a slow machine.
const LIMIT: Duration = Duration::from_secs(300);

/// A test's own cache, and the files next to it.
pub(crate) struct Place {
    folder: PathBuf,
    python: Option<PathBuf>,
    _temporary: Option<TempDir>,
}

impl Place {
    /// Creates a place where nothing is set up. JupyterLab is a stand-in.
    pub(crate) fn empty() -> Place {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        Place {
            folder: folder.path().to_owned(),
            python: Some(home().join("python-stand-in")),
            _temporary: Some(folder),
        }
    }

    /// Creates a place where nothing is set up. JupyterLab is the real one.
    pub(crate) fn with_real_python() -> Place {
        Place {
            python: None,
            ..Place::empty()
        }
    }

    /// Creates a place where everything is set up.
    pub(crate) fn ready() -> Place {
        static READY: LazyLock<Place> = LazyLock::new(|| {
            let place = Place {
                folder: fresh("set-up"),
                _temporary: None,
                ..Place::empty()
            };
            place.taper(["setup"]).run().succeeds();
            place
        });
        let place = Place::empty();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(READY.cache())
            .arg(place.path())
            .status();
        assert!(
            copied.is_ok_and(|status| status.success()),
            "the cache is copied"
        );
        place
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.path().join("cache")
    }

    /// Returns the work directory of the first image.
    pub(crate) fn image(&self) -> Option<PathBuf> {
        let mut images = fs::read_dir(self.cache().join("images")).ok()?;
        Some(images.next()?.ok()?.path().join("work"))
    }

    pub(crate) fn images(&self) -> usize {
        fs::read_dir(self.cache().join("images")).map_or(0, Iterator::count)
    }

    /// Returns a file of a package with this extension, as cargo has reported it when the image was built.
    pub(crate) fn library_of_image(&self, name: &str, extension: &str) -> Option<PathBuf> {
        let work = self.image()?;
        let reported = fs::read(work.join("artifacts.json")).ok()?;
        let reported: serde_json::Value = serde_json::from_slice(&reported).expect("JSON");
        let mut libraries = reported["libraries"].as_array().expect("a list").iter();
        let files = &libraries.find(|library| library["name"] == name)?["files"];
        let files = files.as_array().expect("a list").iter();
        let mut files = files.map(|file| work.join(file.as_str().expect("a path")));
        files.find(|file| file.extension().is_some_and(|it| it == extension))
    }

    /// Returns a file in the image's work directory whose name begins with `begin` and ends with `end`.
    pub(crate) fn file_of_image(&self, begin: &str, end: &str) -> Option<PathBuf> {
        find(&self.image()?, &|name| {
            name.starts_with(begin) && name.ends_with(end)
        })
    }

    /// Returns the number of session folders: of sessions that run, or that did not remove their folder.
    pub(crate) fn sessions(&self) -> usize {
        fs::read_dir(self.cache().join("sessions")).map_or(0, Iterator::count)
    }

    /// Writes a notebook with this one code cell, and returns its path.
    pub(crate) fn notebook(&self, code: &str) -> PathBuf {
        let cell = serde_json::json!({
            "cell_type": "code", "id": "only", "execution_count": null, "metadata": {},
            "outputs": [], "source": code,
        });
        let kernel = serde_json::json!({ "name": "taper", "display_name": "Rust (Taper)", "language": "rust" });
        let notebook = serde_json::json!({
            "cells": [cell], "metadata": { "kernelspec": kernel }, "nbformat": 4, "nbformat_minor": 5,
        });
        let file = self.path().join("notebook.ipynb");
        fs::write(&file, notebook.to_string()).expect("the notebook is written");
        file
    }

    /// Returns a call of the real command, without the environment variables of the surrounding `cargo test`.
    pub(crate) fn taper<const N: usize>(&self, arguments: [&str; N]) -> Call {
        self.call(env!("CARGO_BIN_EXE_taper"), arguments)
    }

    /// Returns a call of a program in the environment of [`Place::taper`].
    pub(crate) fn call<const N: usize>(&self, program: &str, arguments: [&str; N]) -> Call {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            let is_of_cargo = name.starts_with("CARGO") && name != "CARGO_HOME";
            if is_of_cargo || name.starts_with("TAPER_") || name.starts_with("RUSTC") {
                command.env_remove(&*name);
            }
        }
        for name in [
            "LD_LIBRARY_PATH",
            "DYLD_FALLBACK_LIBRARY_PATH",
            "RUSTFLAGS",
            "CC",
            "PYTHON",
            "CUDA_HOME",
            "CUDA_PATH",
        ] {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(self.path())
            // The GPUs of this machine are hidden; a test may add a stand-in.
            .env("PATH", without_a_driver())
            .env("TAPER_HOME", home())
            .env("TAPER_CACHE", self.cache());
        if let Some(python) = &self.python {
            command.env("PYTHON", python);
        }
        Call {
            command,
            input: Stdio::null(),
            // A file, because a process that outlives the command would keep a pipe open.
            output: tempfile::NamedTempFile::new_in(self.path())
                .expect("a file")
                .into_temp_path(),
        }
    }

    /// Runs `taper run` with a notebook of one cell.
    pub(crate) fn run_cell(&self, code: &str) -> Said {
        let notebook = self.notebook(code);
        self.taper(["run", &notebook.to_string_lossy()]).run()
    }

    /// Returns the processes that work in this place, as `ps` lists them. All inherit the variable `TAPER_CACHE`.
    pub(crate) fn processes(&self) -> Vec<String> {
        let cache = format!("TAPER_CACHE={}", self.cache().display());
        let listed = Command::new("ps")
            .args(["axeww", "-o", "pid=,command="])
            .output()
            .expect("ps is installed");
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let ours = listed.lines().filter(|line| line.contains(&cache));
        ours.map(|line| {
            line.split(" TAPER_CACHE=")
                .next()
                .unwrap_or(line)
                .chars()
                .take(200)
                .collect()
        })
        .collect()
    }

    /// Waits until no process works here any more.
    pub(crate) fn becomes_quiet(&self) {
        let patience = Instant::now() + Duration::from_secs(60);
        while !self.processes().is_empty() {
            assert!(
                Instant::now() < patience,
                "still at work: {:#?}",
                self.processes()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A call that has not begun.
pub(crate) struct Call {
    command: Command,
    input: Stdio,
    output: tempfile::TempPath,
}

impl Call {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Call {
        self.command.env(name, value);
        self
    }

    /// Adds an argument.
    pub(crate) fn argument(mut self, argument: &Path) -> Call {
        self.command.arg(argument);
        self
    }

    /// Sets the current folder.
    pub(crate) fn inside(mut self, folder: &Path) -> Call {
        self.command.current_dir(folder);
        self
    }

    /// Removes an environment variable.
    pub(crate) fn without(mut self, name: &str) -> Call {
        self.command.env_remove(name);
        self
    }

    /// Sets the text on standard input.
    pub(crate) fn input(mut self, text: &str) -> Call {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(text.as_bytes()).expect("it is written");
        file.rewind().expect("it is read from its beginning");
        self.input = file.into();
        self
    }

    pub(crate) fn run(self) -> Said {
        self.start().ends()
    }

    pub(crate) fn start(mut self) -> Running {
        let output = File::create(&self.output).expect("the output's file");
        let errors = output.try_clone().expect("the output's file");
        let command = self.command.stdin(self.input).stdout(output).stderr(errors);
        Running {
            child: command.spawn().expect("the command starts"),
            output: self.output,
        }
    }
}

/// A call that has begun. Its process, which may become JupyterLab, ends with the test.
pub(crate) struct Running {
    pub(crate) child: Child,
    output: tempfile::TempPath,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Returns the output so far, of both streams.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap_or_default()).into_owned()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Kills this process alone; the processes that it started continue.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Waits until `is_so` returns true; returns `false` if the command ended before.
    pub(crate) fn until(&mut self, mut is_so: impl FnMut(&Running) -> bool) -> bool {
        let patience = Instant::now() + LIMIT;
        while !is_so(self) {
            if self.has_ended() {
                return false;
            }
            assert!(
                Instant::now() < patience,
                "waited too long; it said:\n{}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    pub(crate) fn ends(mut self) -> Said {
        self.until(|_| false);
        let status = self.child.wait().expect("it is our child");
        Said {
            status,
            text: self.said(),
        }
    }
}

/// The exit status of a call and its output, of both streams.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) text: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn succeeds(self) -> Said {
        assert!(self.status.success(), "{}:\n{}", self.status, self.text);
        self
    }

    #[track_caller]
    pub(crate) fn fails(self) -> Said {
        assert_eq!(self.status.code(), Some(1), "it said:\n{}", self.text);
        self
    }

    /// Asserts that the output contains this text, not necessarily in one line.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Said {
        assert!(
            self.text.contains(words),
            "expected `{words}` in:\n{}",
            self.text
        );
        self
    }
}

/// Returns the first file in `folder` and its subfolders whose name is wanted. Skips what vanishes meanwhile.
pub(crate) fn find(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && let Some(found) = find(&path, is_wanted) {
            return Some(found);
        }
        if !is_folder && is_wanted(&entry.file_name().to_string_lossy()) {
            return Some(path);
        }
    }
    None
}

/// Returns the PATH with an `nvidia-smi` in front that finds no GPU.
fn without_a_driver() -> std::ffi::OsString {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = fresh("no-card");
        script(
            &folder.join("nvidia-smi"),
            "#!/bin/sh\necho No devices were found\nexit 6\n",
        );
        folder
    });
    with_first(&FOLDER)
}

/// Returns the PATH with a folder before all others.
pub(crate) fn with_first(folder: &Path) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::iter::once(folder.to_owned());
    std::env::join_paths(first.chain(std::env::split_paths(&path))).expect("a PATH")
}

/// Creates a folder with links to all programs on the PATH, except those that are left out.
pub(crate) fn programs_without(folder: &Path, is_left_out: impl Fn(&str) -> bool) -> PathBuf {
    let folder = folder.join("programs");
    fs::create_dir_all(&folder).expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter_map(|folder| fs::read_dir(folder).ok());
    for program in folders.flat_map(|programs| programs.flatten()) {
        if !is_left_out(&program.file_name().to_string_lossy()) {
            // The first program of a name is the one that is used.
            let _ = std::os::unix::fs::symlink(program.path(), folder.join(program.file_name()));
        }
    }
    folder
}

/// Writes a Rust into a folder, and returns a PATH on which it is the first. Its programs run shell code, and then the
/// installed program, whose path the code knows as `$installed`.
pub(crate) fn rust_with(rust: &Path, code: [(&str, &str); 2]) -> std::ffi::OsString {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = String::from_utf8(output.expect("there is a Rust").stdout).expect("a path");
    let sysroot = Path::new(sysroot.trim());
    fs::create_dir_all(rust).expect("a folder");
    let library = rust.join("lib");
    if !library.exists() {
        std::os::unix::fs::symlink(sysroot.join("lib"), library).expect("a link");
    }
    for (name, code) in code {
        let program = sysroot.join("bin").join(name);
        let text = format!(
            "#!/bin/sh\ninstalled='{}'\n{code}\nexec \"$installed\" \"$@\"\n",
            program.display()
        );
        script(&rust.join("bin").join(name), &text);
    }
    with_first(&rust.join("bin"))
}

/// Writes an executable script.
pub(crate) fn script(file: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(file, text).expect("the script is written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("the script may run");
}

/// Creates an empty folder that all tests share; the next run of the tests clears it.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("what the last run left is cleared");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}
