//! The kernel with Jupyter's own clients: Jupyter's tests of kernels, its console, and `jupyter execute`. Then
//! the protocol message by message, forged messages, and leftovers of kernels that have ended.

use crate::common::{Said, jupyter::Jupyter, notebook_of, run_within};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(600);
/// The limit for fifty kernels one after the other, and twenty in parallel.
const LIMIT_OF_MANY: Duration = Duration::from_secs(1800);

/// Runs a script, and asserts that `unittest` reports this number of tests, all passed.
fn passes(command: Command, limit: Duration, tests: usize) -> Said {
    let said = run_within(limit, command);
    assert!(said.status.success(), "{}", said.all());
    let ran = format!("Ran {tests} tests in");
    let ran = if tests == 1 { "Ran 1 test in" } else { &ran };
    assert!(said.stderr.contains(ran), "{}", said.all());
    said
}

#[test]
fn jupyters_own_tests_of_kernels_pass() {
    let jupyter = Jupyter::with_our_kernel();
    let said = passes(jupyter.script("kernel_conformance.py"), LIMIT, 13);
    // The kernel opens no pager; no other test may be skipped.
    let mut skipped = said
        .stderr
        .lines()
        .filter(|line| line.contains("... skipped"));
    assert!(skipped.next().is_some_and(|l| l.starts_with("test_pager")));
    assert_eq!(skipped.next(), None);
}

#[test]
fn every_message_follows_the_protocol() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("kernel_protocol.py"), LIMIT, 28);
}

#[test]
fn unauthenticated_messages_are_ignored() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("kernel_strangers.py"), LIMIT, 7);
}

#[test]
fn kernels_leave_nothing_behind() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("kernel_lives.py"), LIMIT, 4);
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn fifty_kernels_leave_nothing_behind() {
    let jupyter = Jupyter::with_our_kernel();
    let mut lives = jupyter.script("kernel_lives.py");
    lives.env("TAPER_TEST_MANY_KERNELS", "1");
    passes(lives, LIMIT_OF_MANY, 4);
}

#[test]
fn the_console_runs_a_session() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("console_session.py"), LIMIT, 1);
}

/// Writes a notebook of these cells into the folder of `jupyter`, and returns its path.
fn notebook(jupyter: &Jupyter, cells: &[&str]) -> String {
    let file = jupyter.path().join("notebook.ipynb");
    let text = notebook_of(cells).to_string();
    std::fs::write(&file, text).expect("the folder can be written to");
    file.to_str().expect("a plain path").to_owned()
}

#[test]
fn jupyter_execute_runs_a_notebook() {
    let jupyter = Jupyter::with_our_kernel();
    let file = notebook(&jupyter, &["let x = 6;", "println!(\"tea\");\nx * 7"]);
    let said = run_within(LIMIT, jupyter.command(&["execute", "--inplace", &file]));
    assert!(said.status.success(), "{}", said.all());
    let text = std::fs::read_to_string(&file).expect("it was written");
    let executed: Value = serde_json::from_str(&text).expect("it is JSON");
    let outputs = &executed["cells"][1]["outputs"];
    assert_eq!(outputs[0]["text"], json!(["tea\n"]), "{outputs}");
    assert_eq!(outputs[1]["data"]["text/plain"], json!(["42"]), "{outputs}");
}

#[test]
fn jupyter_execute_stops_at_a_failing_cell() {
    let jupyter = Jupyter::with_our_kernel();
    let file = notebook(&jupyter, &["panic!(\"cold tea\");", "println!(\"never\");"]);
    let said = run_within(LIMIT, jupyter.command(&["execute", &file]));
    assert_eq!(said.status.code(), Some(1), "{}", said.all());
    for part in ["CellExecutionError", "cold tea"] {
        assert!(said.stderr.contains(part), "{}", said.all());
    }
    assert!(!said.all().contains("never\n"), "{}", said.all());
}
