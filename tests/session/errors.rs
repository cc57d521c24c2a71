//! A failing cell reports what failed and where, and earlier variables are kept.

use crate::common::events::{
    compile_error, err, error, out, own_session, session, value, without_colours,
};
use serde_json::Value;

#[test]
fn a_failing_question_mark_is_the_cells_error() {
    let mut session = session();
    let cell = "let n: i32 = \"x\".parse()?;";
    let quote = "   1 | let n: i32 = \"x\".parse()?;";
    let message = "invalid digit found in string\n\
        The text is not a number of this type. Remove spaces with `.trim()`; `\"1.5\"` needs `f64`.";
    assert_eq!(session.run(cell), [error("Error", message, 1, &[quote])]);
}

/// Asserts that the last event is an error of a wrong shape: two lines, perhaps the layers of the model, the line in the
/// cell, and the quoted line.
fn assert_wrong_shape(ran: &[Value], begins: &str, line: Option<usize>, quote: &[&str]) {
    let failed = ran.last().expect("an error");
    let message = failed["message"].as_str().expect("text");
    assert!(message.starts_with(begins), "{failed:#}");
    let said = message.split("\n\n").next().expect("text");
    assert_eq!(said.lines().count(), 2, "{failed:#}");
    let expected = error("Error", message, line.unwrap_or(0), quote);
    assert_eq!(*failed, expected);
}

#[test]
fn a_wrong_shape_is_an_error_with_the_line_of_the_cell() {
    let mut session = session();
    session.run("let errors_x = zeros((2, 3));");
    let cell = "let a = 1;\nlet y = zeros((2, 3)) + zeros(4);\nprintln!(\"{y}\");";
    let quote = "   2 | let y = zeros((2, 3)) + zeros(4);";
    assert_wrong_shape(&session.run(cell), "+: ", Some(2), &[quote]);
    let cell = "if errors_x.rank() == 2 {\n    errors_x.matmul(&errors_x);\n}";
    let quote = "   2 |     errors_x.matmul(&errors_x);";
    assert_wrong_shape(&session.run(cell), "matmul ", Some(2), &[quote]);
    let ran = session.run("println!(\"before\");\nerrors_x.i(5)");
    assert_eq!(ran[0], out("before\n"));
    assert_wrong_shape(&ran, "i: ", Some(2), &["   2 | errors_x.i(5)"]);
    // The variables are kept, and an expected one is silent.
    let expected = "attempt(|| errors_x.matmul(&errors_x)).is_err()";
    assert_eq!(session.run(expected), [value("true")]);
}

#[test]
fn a_wrong_shape_in_a_function_of_an_earlier_cell_shows_its_line() {
    let mut session = session();
    session.run("fn errors_sum(x: &Tensor) -> Tensor {\n    x + zeros(4)\n}");
    let ran = session.run("let errors_z = zeros((2, 3));\nerrors_sum(&errors_z)");
    let quote = "     | x + zeros(4) (in an earlier cell)";
    assert_wrong_shape(&ran, "+: ", None, &[quote]);
}

#[test]
fn a_wrong_shape_inside_a_model_is_an_error() {
    let mut session = session();
    session.run("let errors_net = seq![Linear::new(3, 2), ReLU, Linear::new(2, 1)];");
    // The place is inside the library. A cell of one line can only mean that line.
    let cell = "// a batch with too many features\nerrors_net.forward(&zeros((2, 5)));";
    let quote = "   2 | errors_net.forward(&zeros((2, 5)));";
    assert_wrong_shape(&session.run(cell), "Linear", Some(2), &[quote]);
    let cell = "let x = zeros((2, 5));\nerrors_net.forward(&x);";
    assert_wrong_shape(&session.run(cell), "Linear", None, &[]);
    // In training, too.
    let cell = "let errors_data = SyntheticRegression::new([2.0, -3.4, 1.0], 4.2);\n\
        let mut errors_model = Classifier::new(seq![Linear::new(2, 1)], 0.1);\n\
        Trainer::new(1).fit(&mut errors_model, &errors_data)?;";
    assert_wrong_shape(&session.run(cell), "Linear", None, &[]);
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
}

#[test]
fn the_line_of_the_question_mark_that_failed_is_named() {
    let mut session = session();
    session.run(FAIL);
    let failed = |line, quote| error("Error", "what\nwhat to do", line, &[quote]);
    let cell = "let a: i32 = \"1\".parse()?;\nerrors_fail()?; errors_fail()?;\nlet b: i32 = \"2\".parse()?;";
    let quote = "   2 | errors_fail()?; errors_fail()?;";
    assert_eq!(session.run(cell), [failed(2, quote)]);
    // Of a call in several lines, the line of the `?`; in a function, the line that called it.
    let cell = "fn errors_outer() -> std::result::Result<(), String> {\n    errors_fail()?;\n    Ok(())\n}\n\
        let c = 1;\nfor i in 0..3 {\n    if i == 1 {\n        errors_outer()?;\n    }\n}";
    assert_eq!(
        session.run(cell),
        [failed(8, "   8 |         errors_outer()?;")]
    );
}

#[test]
fn a_panic_in_a_function_of_an_earlier_cell_shows_its_line() {
    let mut session = session();
    session.run("fn errors_third(v: &[i32]) -> i32 {\n    v[2]\n}");
    let message = "index out of bounds: the len is 1 but the index is 2\n\
        Indices count from 0, so the last index is the length minus 1.";
    let quote = "     | v[2] (in an earlier cell)";
    assert_eq!(
        session.run("errors_third(&[1])"),
        [error("Panic", message, 0, &[quote])]
    );
}

#[test]
fn an_ignored_result_is_a_warning() {
    let mut session = session();
    session.run(FAIL);
    let ran = session.run("let errors_n = 1;\nerrors_fail();\nprintln!(\"after\");");
    assert_eq!(ran[1..], [out("after\n")]);
    let text = without_colours(ran[0]["text"].as_str().expect("text"));
    assert!(
        text.starts_with("warning: unused `Result` that must be used\n --> cell:2:1\n")
            && text.contains("Write `?` before the `;`"),
        "{text}"
    );
    assert!(session.run("let _ = errors_fail();").is_empty());
}

#[test]
fn memory_that_is_not_there_is_named() {
    let mut session = own_session();
    let ran = session.run("let v = vec![1u8; 1 << 46];\nv.len()");
    let failed = ran.last().expect("an error");
    assert_eq!(failed["name"], "ProcessEnded");
    let message = failed["message"].as_str().expect("text");
    assert!(
        message.starts_with("Out of memory: one value needed 64.0 TiB"),
        "{ran:#?}"
    );
    assert!(
        !ran[..ran.len() - 1]
            .iter()
            .any(|e| e.to_string().contains("stack backtrace")),
        "{ran:#?}"
    );
}

#[test]
fn what_a_cell_prints_before_a_failing_question_mark_is_not_its_message() {
    let mut session = session();
    session.run(FAIL);
    let failed = error("Error", "what\nwhat to do", 2, &["   2 | errors_fail()?;"]);
    assert_eq!(
        session.run("eprintln!(\"before\");\nerrors_fail()?;"),
        [err("before\n"), failed]
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
        Indices count from 0, so the last index is the length minus 1.";
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
fn a_panic_of_another_thread_is_text_with_the_line() {
    let cell = "let errors_two = 2;\nstd::thread::spawn(|| { panic!(\"oh\") }).join().is_err()";
    let text = err("a thread panicked at line 2: oh\n");
    assert_eq!(session().run(cell), [text, value("true")]);
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

/// As rayon does with the panic of one of its threads.
#[test]
fn a_panic_that_is_raised_again_has_its_message_and_its_line() {
    let mut session = session();
    let ran = session.run("std::panic::resume_unwind(Box::new(String::from(\"mine\")));");
    assert_eq!(ran, [error("Panic", "mine", 0, &[])]);
    let cell = "let errors_t = std::thread::spawn(|| {\n    panic!(\"row {}\", 5)\n});\n\
         std::panic::resume_unwind(errors_t.join().unwrap_err());";
    let quote = "   2 |     panic!(\"row {}\", 5)";
    let thread = err("a thread panicked at line 2: row 5\n");
    assert_eq!(
        session.run(cell),
        [thread, error("Panic", "row 5", 2, &[quote])]
    );
}
