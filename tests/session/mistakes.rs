//! Mistakes, each with exactly the output that a student sees: `tests/snapshots/errors/*.txt`.
//!
//! Each file is a part of a notebook; all run in one session, in the order of their names. Lines that
//! begin with `> ` are a cell, and the next lines are its output. To add a mistake, write its cells. To
//! update the outputs, run the test with `TAPER_UPDATE_SNAPSHOTS=1` and read the difference.
//!
//! The compiler's messages change from release to release. Where a release newer than the oldest supported one
//! says something else, `NAME.since-1.99.txt` contains its output, for that release and later ones.
//!
//! With evcxr as the engine, only the headlines of the errors are compared, and `book/src/engines.md` must name exactly
//! the files in which one differs.

use crate::common::events::{Events, own_session, value, words};
use crate::common::root;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const KEPT: &str = "let mistakes_kept = 41;";

#[test]
fn every_mistake_has_the_output_of_its_snapshot() {
    let mut session = own_session();
    show(&mut session, KEPT);
    let mut different = Vec::new();
    let release = release();
    for name in files() {
        let file = of_release(&name, release);
        let before = std::fs::read_to_string(&file).expect("a snapshot");
        let now = run(&mut session, &before);
        if std::env::var("TAPER_ENGINE").is_ok_and(|engine| engine == "evcxr") {
            let (before, now) = (headlines(&before), headlines(&now));
            if (before == now) == is_in_the_book(&name) {
                different.push(difference(&file, &before, &now));
            }
        } else if now != before && std::env::var_os("TAPER_UPDATE_SNAPSHOTS").is_some() {
            let file = match release > OLDEST {
                true => name.with_extension(format!("since-1.{release}.txt")),
                false => name,
            };
            std::fs::write(file, now).expect("the snapshot can be written");
        } else if now != before {
            different.push(difference(&file, &before, &now));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Returns the first line of each error.
fn headlines(snapshot: &str) -> String {
    let is_headline = |line: &&str| {
        let name = line.split([':', '[']).next().unwrap_or_default();
        line.len() > name.len()
            && (name == "error" || name.starts_with(char::is_uppercase))
            && !name.contains(' ')
    };
    let lines = snapshot.lines().filter(is_headline);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns whether the book says that evcxr answers differently.
fn is_in_the_book(snapshot: &Path) -> bool {
    let page = std::fs::read_to_string(root().join("book/src/engines.md")).expect("the page");
    let name = snapshot.file_name().unwrap_or_default().to_string_lossy();
    page.contains(&format!("`{name}`"))
}

/// The minor version of the oldest Rust that is supported.
const OLDEST: u32 = 95;

/// Returns the minor version of the compiler that compiles the cells.
fn release() -> u32 {
    let output = Command::new("rustc").arg("--version").output();
    let output = output.expect("rustc can be started").stdout;
    let version = String::from_utf8_lossy(&output).into_owned();
    let minor = version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok());
    minor.expect("a version such as 1.95.0")
}

/// Returns the snapshot of the newest release that is not newer than this one.
fn of_release(name: &Path, release: u32) -> PathBuf {
    let newest = (OLDEST + 1..=release).rev();
    let newest = newest.map(|minor| format!("since-1.{minor}.txt"));
    newest
        .map(|extension| name.with_extension(extension))
        .find(|file| file.exists())
        .unwrap_or_else(|| name.to_owned())
}

fn files() -> Vec<PathBuf> {
    let folder = root().join("tests/snapshots/errors");
    let entries = std::fs::read_dir(folder).expect("the snapshots");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.retain(|file| !file.to_string_lossy().contains(".since-"));
    files.sort();
    assert!(files.len() > 30, "{files:?}");
    files
}

/// Runs the cells of a snapshot and returns the snapshot with their current output.
fn run(session: &mut Events, snapshot: &str) -> String {
    let title = snapshot.lines().next().expect("a first line");
    assert!(
        title.starts_with("# "),
        "{title:?} must be a title: \"# the mistake\""
    );
    let mut now = format!("{title}\n");
    let mut failed = 0;
    for cell in cells(snapshot) {
        let shown = show(session, &cell);
        failed += usize::from(shown.failed);
        let quoted: String = cell.lines().map(|line| format!("> {line}\n")).collect();
        now += &format!("\n{quoted}{}", shown.text);
    }
    assert!(failed > 0, "{title:?}: no cell fails");
    still_works(session, &now);
    now
}

/// Returns the cells: each is a group of consecutive lines that begin with `>`.
fn cells(snapshot: &str) -> Vec<String> {
    let lines: Vec<&str> = snapshot.lines().collect();
    let parts = lines.split(|line| !line.starts_with('>'));
    let code = |line: &&str| {
        line.trim_start_matches('>')
            .strip_prefix(' ')
            .unwrap_or_default()
            .to_owned()
    };
    let cell = |part: &[&str]| part.iter().map(code).collect::<Vec<_>>().join("\n");
    parts.filter(|part| !part.is_empty()).map(cell).collect()
}

struct Shown {
    text: String,
    failed: bool,
}

/// Runs a cell and returns what a notebook shows as its output.
fn show(session: &mut Events, cell: &str) -> Shown {
    let mut coloured = true;
    let ran = session.run_with(json!({ "code": cell }), |event| {
        if event["event"] == "error" {
            coloured = event["traceback"].to_string().contains("\\u001b[1;31m")
                || event["traceback"]
                    .to_string()
                    .contains("\\u001b[1m\\u001b[91m");
        }
    });
    assert!(coloured, "the error of {cell:?} has no colour: {ran:#?}");
    let text: String = ran.iter().map(text_of).collect();
    for inside in ["evcxr", "/lib.rs", ".cargo", "run_user_code"] {
        let text = text.to_lowercase();
        assert!(!text.contains(inside), "{cell:?} shows {inside:?}:\n{text}");
    }
    let failed = ran.last().is_some_and(|last| last["event"] == "error");
    Shown { text, failed }
}

fn text_of(event: &Value) -> String {
    let text = match words(&event["event"]) {
        "text" => return words(&event["text"]).to_owned(),
        "error" => lines(&event["traceback"]),
        _ => words(&event["data"]["text/plain"]).to_owned(),
    };
    text + "\n"
}

fn lines(traceback: &Value) -> String {
    let lines = traceback.as_array().expect("a list of lines").iter();
    lines
        .map(|line| words(line).trim_end())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Asserts that the session works and that variables are kept, unless the process has ended.
fn still_works(session: &mut Events, shown: &str) {
    if shown.contains("ProcessEnded") {
        show(session, KEPT);
    }
    let cell = "(ones(2).sum_all().item(), mistakes_kept)";
    let ran = session.run(cell);
    assert_eq!(ran, [value("(2.0, 41)")], "after\n{shown}");
}

fn difference(file: &Path, before: &str, now: &str) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut text = format!("--- {name} has changed; TAPER_UPDATE_SNAPSHOTS=1 updates it\n");
    let (before, now): (Vec<_>, Vec<_>) = (before.lines().collect(), now.lines().collect());
    let gone = before.iter().filter(|line| !now.contains(line));
    let new = now.iter().filter(|line| !before.contains(line));
    text.extend(gone.map(|line| format!("- {line}\n")));
    text.extend(new.map(|line| format!("+ {line}\n")));
    text
}
