//! Cells that end the process in which all cells run: the error says what happened, earlier output is
//! kept, and the next cell works.

use crate::common::events::{error, out, session, value};

const LOST: &str = "\nAll variables are lost: run the cells that define them again.";

/// Defines a variable and runs `cell`, which must fail with the message `what`. Afterwards the variable must be
/// gone, and cells must work. Returns the events before the error.
fn crash(cell: &str, what: &str) -> Vec<serde_json::Value> {
    let mut session = session();
    session.run("let crashes_a = 1;");
    let mut ran = session.run(cell);
    assert_eq!(
        ran.pop(),
        Some(error("ProcessEnded", &format!("{what}{LOST}"), 0, &[])),
        "{ran:#?}"
    );
    let gone = session.run("crashes_a");
    assert_eq!(
        gone[0]["message"],
        "[E0425] cannot find value `crashes_a` in this scope"
    );
    assert_eq!(
        session.run("let crashes_b = 41;\ncrashes_b + 1"),
        [value("42")]
    );
    ran
}

#[test]
fn exit() {
    let what = "The cell ended the process in which all cells run (exit status 3).";
    assert_eq!(
        crash("print!(\"bye\");\nstd::process::exit(3);", what),
        [out("bye")]
    );
}

#[test]
fn exit_without_a_failure() {
    crash(
        "std::process::exit(0);",
        "The cell ended the process in which all cells run (exit status 0).",
    );
}

#[test]
fn segmentation_fault() {
    let what = "The process in which all cells run crashed: segmentation fault (SIGSEGV). \
        `unsafe` code touched memory that is not its own.";
    assert_eq!(
        crash("println!(\"bye\");\nunsafe { *(16 as *mut u8) = 1; }", what),
        [out("bye\n")]
    );
}

#[test]
fn endless_recursion() {
    session().run("fn crashes_deep(n: u64) -> u64 { if n == u64::MAX { 0 } else { 1 + crashes_deep(n + 1) } }");
    let what = "The process in which all cells run was aborted (SIGABRT): \
        an endless recursion, a panic inside a panic, or `abort`.";
    let ran = crash("println!(\"{}\", crashes_deep(0));", what);
    let text = ran[0]["text"].as_str().expect("text");
    assert!(text.contains("has overflowed its stack"), "{text}");
    assert_eq!(ran.len(), 1);
}
