//! Faults of the files that cells read and write: each is an error of its cell that says what to do.

#[path = "../common/faults.rs"]
mod cases;

use crate::common::events::{Events, session};
use cases::{Case, cases, complaint};
use std::path::Path;
use std::process::Command;

#[test]
fn files_of_cells() {
    let cases = cases(include_str!("../faults/cells.txt"));
    let mut session = session();
    let failed: Vec<String> = cases
        .iter()
        .filter(|case| !case.is("linux") || cfg!(target_os = "linux"))
        .filter_map(|case| failure(&mut session, case))
        .collect();
    let (count, failed) = (failed.len(), failed.join("\n\n"));
    assert_eq!(count, 0, "of {} cases:\n{failed}", cases.len());
}

/// Runs a case; returns what is wrong with its end.
fn failure(session: &mut Events, case: &Case) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (scripts, cell): (Vec<&str>, Vec<&str>) =
        case.lines.lines().partition(|line| line.starts_with("$ "));
    for script in scripts {
        run(&script[2..], folder.path());
    }
    let cell = cell
        .join("\n")
        .replace("DIR", &folder.path().to_string_lossy());
    let ran = session.run(&cell);
    let last = ran.last().map(|event| event.to_owned()).unwrap_or_default();
    let (end, said) = match last["event"] == "error" {
        true => (&last["name"], &last["message"]),
        false => (&last["data"]["text/plain"], &last["text"]),
    };
    let said = said.as_str().unwrap_or_default();
    let said = said.replace(&*folder.path().to_string_lossy(), "DIR");
    let wrong = match end == case.end {
        true => complaint(case, &said)?,
        false => format!("expected {}, found {end}", case.end),
    };
    Some(format!("{}: {wrong} in:\n{said}", case.title))
}

fn run(script: &str, folder: &Path) {
    let ran = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .status();
    assert!(ran.is_ok_and(|status| status.success()), "{script}");
}
