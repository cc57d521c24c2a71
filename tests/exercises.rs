//! The exercises of all chapters in a real session: every solution passes, every stub is reported as not
//! written yet; wrong answers get hints, and `taper exercises` lists what is solved.

mod common;

use common::events::{Events, Ran, own_session};
use common::{root, run_within, taper};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Starts a session that keeps its progress in this folder.
fn session(state: &Path) -> Events {
    let mut session = own_session();
    let code = format!("unsafe {{ std::env::set_var(\"TAPER_STATE\", {state:?}) }};");
    assert_eq!(run(&mut session, &code), "");
    session
}

/// Runs a cell and returns what it printed.
fn run(session: &mut Events, code: &str) -> String {
    let ran: Ran = session.run(code);
    let text = |event: &Value| {
        let text = event["text"].as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("only text is expected: {event:#}\n{code}"))
    };
    ran.iter().map(text).collect()
}

fn notebooks(folder: &str) -> Vec<PathBuf> {
    let entries = root().join(folder).read_dir().expect("the folder");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // The names of temporary files of other tests do not begin with a digit.
    files.retain(|file| {
        let name = file.file_name().expect("a name").to_string_lossy();
        name.ends_with(".ipynb") && name.starts_with(|c: char| c.is_ascii_digit())
    });
    files.sort();
    files
}

/// Returns the cells that end with `check`, with the name of the exercise.
fn checked_cells(notebook: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(notebook).expect("a notebook");
    let notebook: Value = serde_json::from_str(&text).expect("it is JSON");
    let cells = notebook["cells"].as_array().expect("cells").iter();
    let sources = cells
        .filter(|cell| cell["cell_type"] == "code")
        .map(|cell| {
            let lines = cell["source"].as_array().expect("lines").iter();
            lines
                .map(|line| line.as_str().expect("a text"))
                .collect::<String>()
        });
    let named = |source: String| {
        let call = source.lines().last()?.strip_prefix("check(\"")?;
        Some((call.split_once('"')?.0.to_owned(), source))
    };
    sources.filter_map(named).collect()
}

/// Runs the cells of a chapter as one cell, each in a block of its own, so that none can use the names of
/// another; returns a line for each exercise.
fn run_together(session: &mut Events, cells: &[(String, String)]) -> Vec<String> {
    let blocks = cells
        .iter()
        .map(|(_, source)| format!("{{\n{source}\n}};\n"));
    let printed = run(session, &blocks.collect::<String>());
    printed.lines().map(str::to_owned).collect()
}

#[test]
fn every_solution_passes_and_every_stub_is_not_written_yet() {
    let state = tempfile::tempdir().expect("a folder");
    let mut session = session(state.path());
    let (mut stubs, mut solutions) = (BTreeSet::new(), BTreeSet::new());
    for chapter in notebooks("notebooks") {
        let cells = checked_cells(&chapter);
        let expected = cells
            .iter()
            .map(|(name, _)| format!("○ {name}: not written yet"));
        let expected: Vec<String> = expected.collect();
        assert_eq!(run_together(&mut session, &cells), expected);
        stubs.extend(cells.into_iter().map(|(name, _)| name));
    }
    for solution in notebooks("notebooks/solutions") {
        let cells = checked_cells(&solution);
        let printed = run_together(&mut session, &cells);
        for ((name, _), line) in cells.iter().zip(&printed) {
            assert!(line.starts_with(&format!("✓ {name}: ")), "{printed:#?}");
        }
        assert_eq!(printed.len(), cells.len(), "{printed:#?}");
        solutions.extend(cells.into_iter().map(|(name, _)| name));
    }
    let cases = std::fs::read_to_string(root().join("src/exercises/cases.json"));
    let cases: Value = serde_json::from_str(&cases.expect("the cases")).expect("JSON");
    let all: BTreeSet<String> = cases
        .as_object()
        .expect("exercises")
        .keys()
        .cloned()
        .collect();
    assert_eq!(stubs, all, "each exercise has a stub in a chapter");
    assert_eq!(solutions, all, "each exercise has a solution");
    let said = exercises(state.path());
    assert!(
        said.ends_with(&format!("{0} of {0} exercises solved\n", all.len())),
        "{said}"
    );
}

#[test]
fn the_cases_are_those_of_the_script() {
    let mut script = Command::new("python3");
    script.args(["tests/exercises/make.py", "--check"]);
    script
        .current_dir(root())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let said = run_within(Duration::from_secs(60), script);
    assert!(said.status.success(), "{}", said.all());
}

/// Runs `taper exercises`.
fn exercises(state: &Path) -> String {
    let mut command = taper(&["exercises"]);
    command.env("TAPER_STATE", state);
    let said = run_within(Duration::from_secs(60), command);
    assert!(said.status.success(), "{}", said.all());
    said.stdout
}

#[test]
fn hints_come_with_wrong_answers_and_the_list_shows_what_is_solved() {
    let state = tempfile::tempdir().expect("a folder");
    let mut first = session(state.path());
    let wrong = "check(\"welcome.6\", |f: f64| f - 32.0)?";
    let wrong_once = "✗ welcome.6: 1/5\ninput     212.0\nexpected  100.0\nfound     180.0\n";
    assert_eq!(run(&mut first, wrong), wrong_once);
    let said = run(&mut first, wrong);
    assert!(
        said.starts_with(wrong_once) && said.matches("Hint: ").count() == 1,
        "{said}"
    );
    // Another kernel continues the count of wrong answers.
    drop(first);
    let mut second = session(state.path());
    assert_eq!(run(&mut second, wrong).matches("Hint: ").count(), 1);
    assert_eq!(run(&mut second, wrong).matches("Hint: ").count(), 2);
    assert!(exercises(state.path()).contains("○✗○○○○○  next: welcome.3"));
    let right = "check(\"welcome.6\", |f: f64| (f - 32.0) * 5.0 / 9.0)?";
    assert_eq!(run(&mut second, right), "✓ welcome.6: 5/5\n");
    assert!(exercises(state.path()).contains("○✓○○○○○"));
}
