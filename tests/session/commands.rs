//! Shell lines and commands in a cell.

use crate::common::events::{error, out, own_session, session, value};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn shell_lines_run_in_order_and_their_output_arrives_while_they_run() {
    let mut session = session();
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::remove_file(file.path()).expect("it was just made");
    // The command continues only after its first line has arrived.
    let told = file.path().display();
    let code =
        format!("!echo first; until [ -e {told} ]; do sleep 0.05; done; echo second\n!echo third");
    let ran = session.run_with(json!({ "code": code }), |event| {
        if event["text"] == "first\n" {
            std::fs::write(file.path(), "").expect("the file is written");
        }
    });
    assert_eq!(ran, [out("first\nsecond\nthird\n")]);
}

#[test]
fn a_shell_line_that_fails_fails_the_cell() {
    let ran = session().run("!echo out; exit 3\nprintln!(\"never\");");
    let message = "`echo out; exit 3` failed (exit status 3).";
    assert_eq!(ran, [out("out\n"), error("CommandFailed", message, 0, &[])]);
}

#[test]
fn a_shell_line_has_the_environment_of_the_user() {
    let ran =
        session().run("!env | grep -c -e EVCXR -e cargo-home -e TAPER_CARGO -e TAPER_PATH; true");
    assert_eq!(ran, [out("0\n")]);
}

#[test]
fn a_shell_line_is_interrupted() {
    let mut session = session();
    session.run("let commands_a = 1;");
    let began = Instant::now();
    let request = json!({ "code": "!echo begun; sleep 60", "interrupt_at": "begun" });
    let ran = session.run_with(request, |_| {});
    assert_eq!(ran.len(), 2, "{ran:?}");
    assert_eq!(ran[1]["name"], "Interrupted");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(session.run("commands_a"), [value("1")]);
}

#[test]
fn a_restart_removes_only_the_variables() {
    let mut session = own_session();
    session.run(
        &json!({ "code": "let kept = 1;\nfn twice(n: i32) -> i32 { 2 * n }" }),
        |_| {},
    );
    let said = "The process in which cells run was restarted; all variables are lost.\n";
    let ran = session.run(&json!({ "code": ":restart" }), |_| {});
    assert_eq!(ran, [out(said)]);
    let ran = session.run(&json!({ "code": "kept" }), |_| {});
    assert_eq!(ran[0]["name"], "CompileError");
    let ran = session.run(&json!({ "code": "twice(21)" }), |_| {});
    assert_eq!(ran, [value("42")]);
    // `:clear` removes items as well, but not the prelude of the session.
    let ran = session.run(&json!({ "code": ":clear" }), |_| {});
    assert_eq!(ran, [] as [serde_json::Value; 0]);
    let ran = session.run(&json!({ "code": "zeros(2, &cpu())?.dims().len()" }), |_| {});
    assert_eq!(ran, [value("1")]);
}

/// Cargo's cache contains the packages of the tests' own lock file. One cell adds several of them.
#[test]
fn packages_are_added_and_used_in_one_cell() {
    let mut session = own_session();
    let code = ":dep itoa = \"1\"\n:dep smallvec\nlet three: smallvec::SmallVec<[i32; 2]> = smallvec::smallvec![1, 2, 3];\nthree.len()";
    let ran = session.run(&json!({ "code": code }), |_| {});
    assert_eq!(ran.last(), Some(&value("3")), "{ran:?}");
    let ran = session.run(
        &json!({ "code": "itoa::Buffer::new().format(7).to_owned()" }),
        |_| {},
    );
    assert_eq!(
        ran.last().map(|event| &event["data"]["text/plain"]),
        Some(&json!("\"7\""))
    );
    let ran = session.run(
        &json!({ "code": ":dep no-such-package-at-all = \"1\"" }),
        |_| {},
    );
    assert_eq!(
        ran.last().map(|event| &event["event"]),
        Some(&json!("error")),
        "{ran:?}"
    );
    let ran = session.run(&json!({ "code": "1 + 1" }), |_| {});
    assert_eq!(ran, [value("2")]);
}

/// A package may enable features of Taper's dependencies. Then Taper is recompiled, and the process that
/// runs the cells must be replaced: it has loaded the old library.
#[test]
fn a_package_that_makes_taper_recompile_starts_a_new_process() {
    let mut session = own_session();
    session.run(&json!({ "code": "let kept = ones(2, &cpu())?;" }), |_| {});
    let package = ":dep zune-jpeg = { version = \"0.5\", features = [\"log\"] }";
    let code = format!("{package}\nones((3, 4), &cpu())?.dims().len()");
    let ran = session.run(&json!({ "code": code }), |_| {});
    assert_eq!(ran.last(), Some(&value("2")), "{ran:?}");
    let why = "Taper was rebuilt, because a new package needs other features of its dependencies. \
               The process in which cells run was restarted; all variables are lost.\n";
    assert!(ran.contains(&out(why)), "{ran:?}");
    let ran = session.run(&json!({ "code": "kept" }), |_| {});
    assert_eq!(ran[0]["name"], "CompileError", "{ran:?}");
}
