//! The kernel before Jupyter's own clients: its tests of kernels, its console, its runner; the
//! protocol message by message; strangers; and what kernels leave behind.

mod common;

use common::{Said, jupyter::Jupyter, notebook_of, run_within};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(600);
/// Fifty kernels after each other, and twenty at once.
const LIMIT_OF_MANY: Duration = Duration::from_secs(1800);

/// What `unittest` says in the end: how many tests it ran, and that all is well.
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
    // The kernel opens no pager; nothing else may be left out.
    let mut skipped = said
        .stderr
        .lines()
        .filter(|line| line.contains("... skipped"));
    assert!(skipped.next().is_some_and(|l| l.starts_with("test_pager")));
    assert_eq!(skipped.next(), None);
}

#[test]
fn the_protocol_is_kept_message_by_message() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("kernel_protocol.py"), LIMIT, 17);
}

#[test]
fn strangers_are_not_obeyed() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("kernel_strangers.py"), LIMIT, 6);
}

#[test]
fn kernels_come_and_go_and_leave_nothing() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("kernel_lives.py"), LIMIT, 3);
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn fifty_kernels_come_and_go_and_leave_nothing() {
    let jupyter = Jupyter::with_our_kernel();
    let mut lives = jupyter.script("kernel_lives.py");
    lives.env("TAPER_TEST_MANY_KERNELS", "1");
    passes(lives, LIMIT_OF_MANY, 3);
}

#[test]
fn a_spare_kernel_is_adopted() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("standby.py"), LIMIT, 6);
}

#[test]
fn the_console_holds_a_conversation() {
    let jupyter = Jupyter::with_our_kernel();
    passes(jupyter.script("console_session.py"), LIMIT, 1);
}

/// A notebook of these cells, in the folder of `jupyter`.
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
