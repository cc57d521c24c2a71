//! Faults of files, folders, variables, streams, limits and options: each command ends with a message that says what to do.
//!
//! The cases are scripts in tests/faults. A title with `[ready]` needs a place that is set up, with `[linux]` what only
//! Linux has; a script that ends with [`SKIPPED`] cannot be tried here.

#[path = "../common/faults.rs"]
mod cases;

use super::place::{Place, fresh};
use cases::{Case, cases, complaint};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The status of a script for which something is missing on this machine.
const SKIPPED: i32 = 77;

/// What every script can call.
const HELP: &str = r#"
PATH=$PROGRAMS:$PATH
# A notebook with one cell.
notebook() { printf '{"cells":[{"cell_type":"code","id":"a","metadata":{},"outputs":[],"execution_count":null,
"source":"%s"}],"metadata":{"kernelspec":{"name":"taper","language":"rust","display_name":"Rust"}},"nbformat":4,
"nbformat_minor":5}' "${1:-1 + 1}"; }
# Permissions hold for this command even if root runs the tests.
plain() {
    [ "$(id -u)" != 0 ] && { "$@"; return; }
    command -v setpriv >/dev/null || exit 77
    setpriv --bounding-set=-dac_override,-dac_read_search "$@"
}
# Runs a script in a folder that is a file system of this size.
small() {
    mkdir -p small
    unshare --mount --propagation private true 2>/dev/null || exit 77
    unshare --mount --propagation private sh -c 'mount -t tmpfs -o "size=$0" none small && cd small && eval "$1"' "$1" "$2"
}
"#;

#[test]
fn notebooks() {
    try_all(include_str!("../faults/notebooks.txt"));
}

#[test]
fn files_and_folders() {
    try_all(include_str!("../faults/files.txt"));
}

#[test]
fn archives_and_downloads() {
    try_all(include_str!("../faults/archives.txt"));
}

#[test]
fn variables_streams_and_limits() {
    try_all(include_str!("../faults/surroundings.txt"));
}

#[test]
fn options() {
    try_all(include_str!("../faults/options.txt"));
}

fn try_all(text: &'static str) {
    let cases = cases(text);
    let failed: Vec<String> = cases.iter().filter_map(failure).collect();
    let (count, failed) = (failed.len(), failed.join("\n\n"));
    assert_eq!(count, 0, "of {} cases:\n{failed}", cases.len());
}

/// Runs a case; returns what is wrong with its end.
fn failure(case: &Case) -> Option<String> {
    if case.is("linux") && !cfg!(target_os = "linux") {
        return None;
    }
    let place = if case.is("ready") {
        Place::ready()
    } else {
        Place::empty()
    };
    let script = format!("{HELP}\n{}", case.lines);
    let ended = place
        .call("sh", ["-c", &script])
        .env("PROGRAMS", programs())
        .env("CLONE", clone())
        .run();
    let said = ended.text;
    if ended.status.code() == Some(SKIPPED) {
        // Not `eprintln!`, whose output is captured if the test passes.
        let _ = writeln!(std::io::stderr(), "skipped: {}", case.title);
        return None;
    }
    let status = ended
        .status
        .code()
        .map_or("killed".to_owned(), |it| it.to_string());
    let wrong = match status == case.end {
        true => complaint(case, &said)?,
        false => format!("expected the status {}, found {status}", case.end),
    };
    Some(format!("{}: {wrong} in:\n{said}", case.title))
}

fn clone() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns a folder with the command, for the PATH.
fn programs() -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = fresh("programs");
        let program = folder.join("taper");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_taper"), &program).expect("a link");
        folder
    });
    FOLDER.clone()
}

#[test]
fn there_are_at_least_a_hundred_cases() {
    let folder = clone().join("tests/faults");
    let files = fs::read_dir(folder).expect("a folder").flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).expect("a text"));
    let cases: usize = texts.map(|text| text.matches("\n## ").count()).sum();
    assert!(cases >= 100, "{cases}");
}
