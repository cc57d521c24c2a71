//! Cells that read standard input.

use crate::common::events::{Ran, out, session, value};
use serde_json::json;

const READ: &str = "let mut line = String::new();\n\
    let count = std::io::stdin().read_line(&mut line)?;\n(count, line)";

fn run_with_input(code: &str, input: &str) -> Ran {
    session().run_with(json!({ "code": code, "input": input }), |_| {})
}

#[test]
fn a_line_is_the_users() {
    assert_eq!(
        run_with_input(READ, "é \\ \"x\""),
        [value(r#"(9, "é \\ \"x\"\n")"#)]
    );
    assert_eq!(run_with_input(READ, ""), [value(r#"(1, "\n")"#)]);
}

#[test]
fn without_a_user_the_file_ends() {
    assert_eq!(session().run(READ), [value(r#"(0, "")"#)]);
    let lines = "std::io::stdin().lines().count()";
    assert_eq!(run_with_input(lines, "one"), [value("1")]);
}

#[test]
fn what_was_printed_before_is_shown_before() {
    let code = format!("print!(\"Tea? \");\n{READ}");
    let ran = run_with_input(&code, "green");
    assert_eq!(ran, [out("Tea? "), value(r#"(6, "green\n")"#)]);
}

#[test]
fn a_line_longer_than_the_readers_buffer_arrives_in_parts() {
    let code = "let mut two = [0; 2];\n\
        let first = std::io::Read::read(&mut std::io::stdin().lock(), &mut two)?;\n\
        (first, two, std::io::read_to_string(std::io::stdin())?.len())";
    let ran = run_with_input(code, &"a".repeat(20_000));
    assert_eq!(ran, [value("(2, [97, 97], 19999)")]);
}

/// Neither a program that a cell starts nor a thread that outlives its cell may read the session's next
/// instruction.
#[test]
fn programs_and_late_threads_find_the_end() {
    let mut session = session();
    let started = "std::process::Command::new(\"cat\").output()?.stdout.len()";
    assert_eq!(session.run(started), [value("0")]);
    let thread = "let late = std::thread::spawn(|| {\n\
            std::thread::sleep(std::time::Duration::from_millis(300));\n\
            std::io::stdin().lines().count()\n});";
    assert_eq!(session.run(thread), [] as [serde_json::Value; 0]);
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert_eq!(session.run("late.join().unwrap()"), [value("0")]);
}

#[test]
fn a_file_in_the_place_of_standard_input_is_read() {
    let code = "use std::os::fd::AsRawFd;\n\
        unsafe extern \"C\" { fn dup2(from: i32, to: i32) -> i32; fn read(fd: i32, to: *mut u8, n: usize) -> isize; }\n\
        let file = std::fs::File::open(\"/dev/zero\")?;\n\
        unsafe { dup2(file.as_raw_fd(), 0) };\n\
        let mut byte = [1];\n\
        unsafe { read(0, byte.as_mut_ptr(), 1) };\n\
        unsafe { dup2(std::fs::File::open(\"/dev/null\")?.as_raw_fd(), 0) };\n\
        byte";
    assert_eq!(session().run(code), [value("[0]")]);
}
