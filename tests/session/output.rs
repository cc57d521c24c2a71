//! Text that a cell prints arrives completely, in order, and in time.

use crate::common::events::{display, err, out, own_session, session, value};
use serde_json::{Value, json};

#[test]
fn text_without_a_newline_arrives() {
    let mut session = session();
    assert_eq!(session.run("print!(\"no newline\");"), [out("no newline")]);
    assert_eq!(session.run("eprint!(\"nor here\");"), [err("nor here")]);
    assert_eq!(
        session.run("print!(\"half \"); 1"),
        [out("half "), value("1")]
    );
}

#[test]
fn both_streams_keep_their_order() {
    let ran = session().run("for i in 0..200 { println!(\"out {i}\"); eprintln!(\"err {i}\"); }");
    let expected = (0..200).flat_map(|i| [out(&format!("out {i}\n")), err(&format!("err {i}\n"))]);
    assert_eq!(ran, expected.collect::<Vec<_>>());
}

/// Returns code that waits until this file exists. The test creates it after it has received the output.
fn until_told(file: &std::path::Path) -> String {
    format!(
        "while !std::path::Path::new({file:?}).exists() {{ std::thread::sleep(std::time::Duration::from_millis(5)); }}"
    )
}

#[test]
fn text_arrives_while_the_cell_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("seen");
    let code = format!(
        "print!(\"now\");\n{}\nprint!(\" later\");",
        until_told(&file)
    );
    let ran = session().run_with(json!({ "code": code }), |event| {
        if *event == out("now") {
            std::fs::write(&file, "").expect("the folder is ours");
        }
    });
    assert_eq!(ran, [out("now later")]);
}

#[test]
fn text_of_another_thread_arrives_while_the_cell_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("seen");
    let code = format!(
        "let output_thread = std::thread::spawn(|| print!(\"from a thread\"));\n{}\noutput_thread.join().unwrap();",
        until_told(&file)
    );
    let ran = session().run_with(json!({ "code": code }), |event| {
        if *event == out("from a thread") {
            std::fs::write(&file, "").expect("the folder is ours");
        }
    });
    assert_eq!(ran, [out("from a thread")]);
}

/// Returns the event of text that a thread has printed after its cell.
fn late(cell: usize, text: &str) -> Value {
    let mut event = out(text);
    event["late"] = cell.into();
    event
}

/// Each text arrives when it is printed: while another cell runs, and while none does.
#[test]
fn a_thread_prints_below_its_own_cell() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["first", "second", "third"].map(|name| folder.path().join(name));
    let mut session = own_session();
    let [first, second, third] = files.each_ref().map(|file| until_told(file));
    let code = format!(
        "let output_go = std::thread::spawn(|| {{\n{first}\nprintln!(\"a\");\n{second}\nprintln!(\"b\");\n\
         taper::notebook::display(&taper::notebook::MimeBundle::text(\"shown\"));\n\
         std::thread::spawn(|| println!(\"c\")).join().unwrap();\npanic!(\"at last\");\n}});\n\
         println!(\"own\");"
    );
    let ran = session.run_with(json!({ "code": code, "cell": "x" }), |_| {});
    assert_eq!(ran, [out("own\n")]);
    // The first cell of a session is the second request.
    std::fs::write(&files[0], "").expect("the folder is ours");
    assert_eq!(session.event(), late(2, "a\n"));
    let code = format!("println!(\"next\");\n{third}\nprintln!(\"end\");");
    let mut seen = 0;
    let ran = session.run_with(json!({ "code": code, "cell": "y" }), |event| {
        seen += 1;
        let next = if *event == out("next\n") { 1 } else { 2 };
        if next == 1 || event["stream"] == "stderr" {
            std::fs::write(&files[next], "").expect("the folder is ours");
        }
    });
    let mut panic = err("a thread panicked at line 8: at last\n");
    panic["late"] = 2.into();
    let mut shown = display(json!({ "text/plain": "shown" }));
    shown["late"] = 2.into();
    let (b, c) = (late(2, "b\n"), late(2, "c\n"));
    let expected = [out("next\n"), b, shown, c, panic, out("end\n")];
    assert_eq!(ran, expected, "{seen}");
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced() {
    let mut session = session();
    let ran = session
        .run("use std::io::Write;\nstd::io::stdout().write_all(b\"bad \\xff\\xfe bytes\\n\")?;");
    assert_eq!(ran, [out("bad \u{fffd}\u{fffd} bytes\n")]);
    let ran = session.run("std::io::stderr().write_all(b\"\\xff err\")?;");
    assert_eq!(ran, [err("\u{fffd} err")]);
    // An incomplete `€` at the end of the cell does not change the next cell's text.
    assert_eq!(
        session.run("std::io::stdout().write_all(b\"half \\xe2\\x82\")?;"),
        [out("half \u{fffd}")]
    );
    assert_eq!(session.run("println!(\"€\")"), [out("€\n")]);
}

#[test]
fn a_cell_that_asks_for_input_gets_a_line() {
    let cell = r#"println!("hello");
        println!("EVCXR_INPUT_REQUEST:name? ");
        let mut output_line = String::new();
        std::io::stdin().read_line(&mut output_line)?;
        println!("hello {}", output_line.trim());"#;
    let ran = session().run_with(json!({ "code": cell, "input": "Ada" }), |_| {});
    assert_eq!(ran, [out("hello\nhello Ada\n")]);
}

#[test]
fn two_hundred_megabytes_are_truncated_with_a_note_and_need_little_memory() {
    let mut session = session();
    // With the first variables of a session, rust-analyzer loads the standard library.
    session.run("let output_warm = 1;");
    let before = session.peak_memory();
    let cell = r#"use std::io::Write;
        let output_row = [b'x'; 999];
        let mut output_all = std::io::stdout().lock();
        for _ in 0..200_000 { output_all.write_all(&output_row)?; output_all.write_all(b"\n")?; }
        drop(output_all);"#;
    let ran = session.run(cell);
    let notice = "\n… truncated: the cell printed 200.0 MB, of which the first 8.4 MB are shown\n";
    assert_eq!(ran.len(), 2);
    let shown = ran[0]["text"].as_str().expect("text first");
    assert_eq!(shown.len(), 8 << 20);
    assert!(
        shown
            .lines()
            .all(|line| line.bytes().all(|byte| byte == b'x'))
    );
    assert_eq!(ran[1], err(notice));
    let grown = session.peak_memory() - before;
    assert!(grown < 150.0, "the session took {grown:.0} MB more");
    assert_eq!(session.run("println!(\"whole\")"), [out("whole\n")]);
}
