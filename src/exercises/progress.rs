//! The file that says which exercises are solved, and how often an answer was wrong.

use crate::input;
use serde_json::{Map, Value as Json, json};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file in the user's state folder; `taper exercises` reads it.
pub(super) struct Progress {
    file: PathBuf,
}

impl Progress {
    /// Records an attempt, unless the answer is not written yet; returns how many were wrong so far. In a
    /// folder of solutions it records nothing.
    pub(super) fn record(exercise: &str, is_right: Option<bool>) -> io::Result<u64> {
        let here = std::env::current_dir();
        let is_solutions = here.is_ok_and(|folder| folder.ends_with("solutions"));
        match is_right {
            Some(is_right) if !is_solutions => Progress::open()?.add(exercise, is_right),
            _ => Ok(0),
        }
    }

    fn open() -> io::Result<Progress> {
        let none = || io::Error::other("neither TAPER_STATE nor HOME is set");
        let folder = state_folder().ok_or_else(none)?;
        create_private(&folder)?;
        Ok(Progress {
            file: folder.join("exercises.json"),
        })
    }

    /// Adds an attempt to the file, and returns how many were wrong so far. The lock makes other kernels
    /// wait, and is released when the process that holds it ends. A reader sees the old file or the new
    /// one.
    fn add(&self, exercise: &str, is_right: bool) -> io::Result<u64> {
        let lock = File::create(self.file.with_extension("lock"))?;
        lock.lock()?;
        let mut all = self.read()?;
        let before = all.get(exercise);
        let failures = before
            .and_then(|before| before["failures"].as_u64())
            .unwrap_or(0);
        let was_solved = before.is_some_and(|before| before["solved"] == true);
        let failures = failures + u64::from(!is_right);
        let entry = json!({ "solved": was_solved || is_right, "failures": failures });
        all.insert(exercise.to_owned(), entry);
        let temporary = self.file.with_extension("new");
        let mut new = File::create(&temporary)?;
        new.write_all(format!("{:#}\n", Json::Object(all)).as_bytes())?;
        new.sync_all()?;
        fs::rename(&temporary, &self.file)?;
        Ok(failures)
    }

    fn read(&self) -> io::Result<Map<String, Json>> {
        match fs::read_to_string(&self.file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| {
                let file = self.file.display();
                io::Error::other(format!("{file} is damaged ({error}); remove it"))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
            Err(error) => Err(error),
        }
    }
}

/// Returns `$TAPER_STATE`, else `taper` in the system's folder for the state of programs.
fn state_folder() -> Option<PathBuf> {
    let system = [
        "XDG_STATE_HOME",
        ".local/state",
        "Library/Application Support",
    ];
    input::folder(&|name| std::env::var_os(name), "TAPER_STATE", system)
}

/// Creates a folder that other users cannot read.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("taper-progress-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            create_private(&folder).expect("a folder");
            Folder(folder)
        }

        fn progress(&self) -> Progress {
            Progress {
                file: self.0.join("exercises.json"),
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn wrong_answers_are_counted_and_solved_stays_solved() {
        let folder = Folder::new("counted");
        let progress = folder.progress();
        assert_eq!(progress.add("a.1", false).expect("it is written"), 1);
        assert_eq!(progress.add("a.1", false).expect("it is written"), 2);
        assert_eq!(progress.add("a.1", true).expect("it is written"), 2);
        assert_eq!(progress.add("a.1", false).expect("it is written"), 3);
        let all = folder.progress().read().expect("it is read");
        assert_eq!(all["a.1"], json!({ "solved": true, "failures": 3 }));
    }

    #[test]
    fn several_kernels_lose_no_attempt() {
        let folder = Folder::new("kernels");
        std::thread::scope(|scope| {
            for kernel in 0..8 {
                let progress = folder.progress();
                scope.spawn(move || {
                    for _ in 0..5 {
                        progress.add("a.1", false).expect("it is written");
                    }
                    progress
                        .add(&format!("b.{kernel}"), true)
                        .expect("it is written");
                });
            }
        });
        let all = folder.progress().read().expect("it is read");
        assert_eq!(all["a.1"]["failures"], 40);
        assert_eq!(all.len(), 9);
    }

    #[test]
    fn a_file_that_was_being_written_when_the_process_ended_is_ignored() {
        let folder = Folder::new("killed");
        let progress = folder.progress();
        progress.add("a.1", false).expect("it is written");
        fs::write(folder.0.join("exercises.new"), "{\"a.1\": {").expect("it is written");
        assert_eq!(progress.add("a.1", false).expect("it is written"), 2);
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = Folder::new("damaged");
        fs::write(folder.0.join("exercises.json"), "{").expect("it is written");
        let error = folder
            .progress()
            .add("a.1", true)
            .expect_err("it is damaged")
            .to_string();
        assert!(error.contains("exercises.json is damaged"), "{error}");
    }
}
