//! Mistakes, each with exactly the output that a student sees: `tests/snapshots/errors/*.txt`.
//!
//! Each file is a part of a notebook; all run in one session, in the order of their names. Lines that
//! begin with `> ` are a cell, and the next lines are its output. To add a mistake, write its cells. To
//! update the outputs, run the test with `TAPER_UPDATE_SNAPSHOTS=1` and the oldest supported Rust, and read the
//! difference.
//!
//! The compiler's messages change from release to release. With a newer Rust, the lines that Taper writes must be the same
//! all the same; how many lines of the compiler differ is printed.
//!
//! With evcxr as the engine, only the headlines of the errors are compared, and `book/src/engines.md` must name exactly
//! the files in which one differs.

use crate::common::events::{Events, own_session, value, words};
use crate::common::root;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const KEPT: &str = "let mistakes_kept = 41;";

#[test]
fn every_mistake_has_the_output_of_its_snapshot() {
    let mut session = own_session();
    show(&mut session, KEPT);
    let (mut different, mut others) = (Vec::new(), 0);
    let release = release();
    for file in files() {
        let before = std::fs::read_to_string(&file).expect("a snapshot");
        let now = run(&mut session, &before);
        if std::env::var("TAPER_ENGINE").is_ok_and(|engine| engine == "evcxr") {
            let (before, now) = (headlines(&before), headlines(&now));
            if (before == now) == is_in_the_book(&file) {
                different.push(difference(&file, &before, &now));
            }
        } else if now != before && std::env::var_os("TAPER_UPDATE_SNAPSHOTS").is_some() {
            assert_eq!(release, OLDEST, "update the snapshots with Rust 1.{OLDEST}");
            std::fs::write(file, now).expect("the snapshot can be written");
        } else if release > OLDEST && ours(&now) == ours(&before) {
            others += changes(&before, &now).count();
        } else if now != before {
            different.push(difference(&file, &before, &now));
        }
    }
    if others > 0 {
        // Not `eprintln!`, whose output is captured if the test passes.
        let _ = writeln!(
            std::io::stderr(),
            "warning: Rust 1.{release} differs from 1.{OLDEST} in {others} lines of its messages"
        );
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Returns the lines of a snapshot that are not the compiler's: cells, values, hints, and errors of running cells.
fn ours(snapshot: &str) -> Vec<&str> {
    let mut is_of_rustc = false;
    let is_ours = |line: &&str| {
        let text = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let begins = |with: &[&str]| with.iter().any(|with| text.starts_with(with));
        if begins(&[
            "error", "warning", "help: ", "note: ", "-->", "|", "...", "= ",
        ]) || line.starts_with(|c: char| c.is_ascii_digit()) && begins(&["+ ", "- ", "~ "])
        {
            is_of_rustc = !begins(&["= hint: "]);
        } else if !line.starts_with("   ") {
            is_of_rustc = false;
        }
        !is_of_rustc && !line.is_empty()
    };
    snapshot.lines().filter(is_ours).collect()
}

#[test]
fn the_words_of_another_compiler_are_no_difference_and_our_own_are() {
    let before = std::fs::read_to_string(root().join("tests/snapshots/errors/python.txt"));
    let before = before.expect("a snapshot");
    for rustc in [
        (
            "expected function, found macro `print`",
            "cannot find function `print` in this scope",
        ),
        (
            "  |          ^^^^^\n",
            "  |          ^^^^^ not found\n  = note: not ours\n          at all\n",
        ),
        ("1 - let s = 'text';\n", ""),
    ] {
        assert!(before.contains(rustc.0), "{}", rustc.0);
        let now = before.replace(rustc.0, rustc.1);
        assert_eq!(ours(&before), ours(&now));
        assert!(changes(&before, &now).count() > 0);
    }
    for (hint, other) in [
        ("  = hint: printing is a macro: `println!(\"{x}\")`.\n", ""),
        (
            "          `t.pow(2)` of a tensor.",
            "          `t.sqr()` of a tensor.",
        ),
        ("\n> True\n", "\n> True\ntrue\n"),
    ] {
        assert!(before.contains(hint), "{hint}");
        assert_ne!(ours(&before), ours(&before.replace(hint, other)));
    }
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

fn files() -> Vec<PathBuf> {
    let folder = root().join("tests/snapshots/errors");
    let entries = std::fs::read_dir(folder).expect("the snapshots");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
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
    text.extend(changes(before, now).map(|line| line + "\n"));
    text
}

/// Returns the lines that are in only one of two texts.
fn changes(before: &str, now: &str) -> impl Iterator<Item = String> {
    let only = |sign: char, text: &str, other: &str| {
        let other: Vec<&str> = other.lines().collect();
        let lines = text.lines().filter(|line| !other.contains(line));
        lines
            .map(|line| format!("{sign} {line}"))
            .collect::<Vec<_>>()
    };
    let gone = only('-', before, now);
    gone.into_iter().chain(only('+', now, before))
}
