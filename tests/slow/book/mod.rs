//! The book: built by the real mdBook, read in a browser, and checked for broken links.

mod needed;
mod pages;
mod served;
mod site;

use crate::common::python::{cache, python};
use crate::common::{root, run_within, taper};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// The limit includes installing mdBook and documenting the crate, which the first build does.
const TO_PREPARE: Duration = Duration::from_secs(1500);
const TO_BUILD: Duration = Duration::from_secs(180);
const TO_READ: Duration = Duration::from_secs(1800);
const TO_APPEAR: Duration = Duration::from_secs(30);

/// Returns the folder of the built book, which is built once for all tests.
fn book() -> &'static Path {
    static BOOK: OnceLock<TempDir> = OnceLock::new();
    let folder = BOOK.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut build = taper(&["book", "build", "--epub", "--dest-dir"]);
        build.arg(folder.path());
        let said = run_within(TO_PREPARE, build);
        assert!(said.status.success(), "{}", said.all());
        assert!(!said.all().contains("WARN"), "{}", said.all());
        folder
    });
    folder.path()
}

fn pages() -> PathBuf {
    book().join("html")
}

/// Returns a call of the mdBook that `taper book` has installed, with our program as its renderer.
fn mdbook(arguments: &[&str]) -> Command {
    let mut command = mdbook_alone(arguments);
    let ours = format!("'{}' mdbook", env!("CARGO_BIN_EXE_taper"));
    command
        .env("MDBOOK_PREPROCESSOR__TAPER__COMMAND", &ours)
        .env("MDBOOK_OUTPUT__TAPER__COMMAND", format!("{ours} render"));
    command
}

/// Returns a call of the mdBook that `taper book` has installed.
fn mdbook_alone(arguments: &[&str]) -> Command {
    book();
    let mut found = fs::read_dir(cache().join("mdbook"))
        .expect("it is installed")
        .flatten();
    let program = found.find(|entry| entry.file_name().to_string_lossy().starts_with("mdbook-"));
    let mut command = Command::new(program.expect("it is installed").path());
    command
        .args(arguments)
        .current_dir(root())
        .env_remove("LD_LIBRARY_PATH");
    command
}

fn script(name: &str) -> Command {
    let mut command = Command::new(python());
    command
        .arg(Path::new("tests/python").join(name))
        .current_dir(root());
    command
}
