//! A failing cell reports what failed and where, and earlier variables are kept.

use crate::common::events::{compile_error, err, error, out, session, value};

#[test]
fn a_failing_question_mark_is_the_cells_error() {
    let mut session = session();
    let cell = "let n: i32 = \"x\".parse()?;";
    let quote = "   1 | let n: i32 = \"x\".parse()?;";
    assert_eq!(
        session.run(cell),
        [error("Error", "invalid digit found in string", 1, &[quote])]
    );
    let candles = "let errors_x = zeros((2, 3), &cpu())?;\nerrors_x.matmul(&errors_x)";
    let shapes = "shape mismatch in matmul, lhs: [2, 3], rhs: [2, 3]\n\
        A product needs (…, n, k) times (…, k, m): the two k must be equal. Perhaps one side needs `.t()?`.";
    assert_eq!(
        session.run(&format!("{candles}?;")),
        [error("Error", shapes, 0, &[])]
    );
}

const FAIL: &str =
    "fn errors_fail() -> std::result::Result<(), String> { Err(\"what\\nwhat to do\".into()) }";

#[test]
fn an_error_of_two_lines_is_complete_and_has_a_position() {
    let mut session = session();
    session.run(FAIL);
    let cell = "let a = 1;\nlet b = 2;\nerrors_fail()?;\nlet c = 3;";
    assert_eq!(
        session.run(cell),
        [error(
            "Error",
            "what\nwhat to do",
            3,
            &["   3 | errors_fail()?;"]
        )]
    );
    // With two `?` in a line, the failing one is unknown.
    let cell = "errors_fail()?;\nerrors_fail()?;";
    assert_eq!(
        session.run(cell),
        [error("Error", "what\nwhat to do", 0, &[])]
    );
}

/// evcxr prints an error to standard error, where the cell prints as well. Text just before the error
/// cannot be separated from it, so it is part of the message. No text is lost or repeated.
#[test]
fn text_before_a_failing_question_mark_is_not_lost() {
    let mut session = session();
    session.run(FAIL);
    let failed = error(
        "Error",
        "before\nwhat\nwhat to do",
        2,
        &["   2 | errors_fail()?;"],
    );
    assert_eq!(
        session.run("eprintln!(\"before\");\nerrors_fail()?;"),
        [failed]
    );
    let failed = error("Error", "what\nwhat to do", 3, &["   3 | errors_fail()?;"]);
    let cell = "eprintln!(\"before\");\nprintln!(\"out\");\nerrors_fail()?;";
    assert_eq!(session.run(cell), [err("before\n"), out("out\n"), failed]);
}

#[test]
fn an_error_without_a_message_says_so() {
    let cell = "Err::<(), String>(String::new())?;";
    assert_eq!(
        session().run(cell),
        [error(
            "Error",
            "(no message)",
            1,
            &[&format!("   1 | {cell}")]
        )]
    );
}

#[test]
fn a_panic_is_the_cells_error_and_variables_are_kept() {
    let mut session = session();
    session.run("let errors_kept = vec![40, 1];");
    let cell = "let errors_lost = 5;\npanic!(\"boom {}\", errors_kept.len());";
    let quote = "   2 | panic!(\"boom {}\", errors_kept.len());";
    assert_eq!(session.run(cell), [error("Panic", "boom 2", 2, &[quote])]);
    assert_eq!(session.run("errors_kept.len()"), [value("2")]);
    let cell = "println!(\"first\");\nerrors_kept[errors_kept.len()]";
    let message = "index out of bounds: the len is 2 but the index is 2\n\
        Indices count from 0, so the last one is the length less 1.";
    let quote = "   2 | errors_kept[errors_kept.len()]";
    assert_eq!(
        session.run(cell),
        [out("first\n"), error("Panic", message, 2, &[quote])]
    );
    assert_eq!(session.run("errors_kept"), [value("[40, 1]")]);
}

#[test]
fn a_caught_panic_is_a_message() {
    let cell = "let errors_caught = std::panic::catch_unwind(|| panic!(\"oh\")).is_err();\nprintln!(\"{errors_caught}\");";
    assert_eq!(
        session().run(cell),
        [out("true\n"), err("caught panic: oh\n")]
    );
}

#[test]
fn a_panic_of_another_thread_is_text() {
    let ran = session().run("std::thread::spawn(|| { panic!(\"oh\") }).join().is_err()");
    assert_eq!(ran[1..], [value("true")]);
    let text = ran[0]["text"].as_str().expect("text");
    assert!(
        text.contains("thread '<unnamed>'")
            && text.contains("panicked at src/lib.rs")
            && text.contains("\noh\n"),
        "{text}"
    );
}

#[test]
fn a_compile_error_points_at_line_and_column() {
    let shown = "\
error[E0308]: mismatched types
 --> cell:2:14
  |
2 | let b: i32 = \"no\";
  |        ---   ^^^^ expected `i32`, found `&str`
  |        |
  |        expected due to this";
    let expected = compile_error("[E0308] mismatched types", (2, 14), shown);
    assert_eq!(
        session().run("let a = 1;\nlet b: i32 = \"no\";"),
        [expected]
    );
}

#[test]
fn columns_count_characters_also_after_tabs_and_wide_ones() {
    let shown = "\
error[E0308]: mismatched types
 --> cell:1:30
  |
1 |     let s = \"中文🦀\"; let t: i32 = \"no\";
  |                              ---   ^^^^ expected `i32`, found `&str`
  |                              |
  |                              expected due to this";
    let expected = compile_error("[E0308] mismatched types", (1, 30), shown);
    assert_eq!(
        session().run("\tlet s = \"中文🦀\"; let t: i32 = \"no\";"),
        [expected]
    );
}
