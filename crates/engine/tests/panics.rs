//! Panics of cells and of their threads: the message, and the line.

use crate::common::check_each;

#[test]
fn a_panic_that_no_hook_reports_has_its_message() {
    check_each(&[
        (
            "std::panic::resume_unwind(Box::new(String::from(\"mine\")))",
            "panic at ?: mine",
        ),
        (
            "std::panic::resume_unwind(Box::new(\"text\"))",
            "panic at ?: text",
        ),
        ("std::panic::resume_unwind(Box::new(1))", "panic at ?: 1"),
        (
            "let _ = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(1)));\n1",
            "= 1",
        ),
        // What was caught before is another panic.
        (
            "let _ = std::panic::catch_unwind(|| panic!(\"caught\"));\n\
             std::panic::resume_unwind(Box::new(String::from(\"mine\")))",
            "caught: caught\npanic at ?: mine",
        ),
    ]);
}

#[test]
fn any_value_that_has_a_text_is_a_message() {
    let none = "the value of the panic is not a text, an error or a number";
    check_each(&[
        ("\nstd::panic::panic_any(5)", "panic at 1:2: 5"),
        ("std::panic::panic_any(2.5f32)", "panic at 2:1: 2.5"),
        (
            "std::panic::panic_any(String::from(\"owned\"))",
            "panic at 3:1: owned",
        ),
        (
            "let error: Box<dyn std::error::Error + Send + Sync> = \"wrong\".into();\nstd::panic::panic_any(error)",
            "panic at 4:2: wrong",
        ),
        (
            "let error = std::fs::File::open(\"/no/such\").unwrap_err();\nstd::panic::panic_any(error)",
            "panic at 5:2: No such file or directory (os error 2)",
        ),
        (
            "struct Own;\nstd::panic::panic_any(Own)",
            &format!("panic at 6:2: {none}"),
        ),
        (
            "std::panic::resume_unwind(Box::new(Own))",
            &format!("panic at ?: {none}"),
        ),
    ]);
}

#[test]
fn a_panic_that_is_raised_again_keeps_its_line() {
    check_each(&[
        (
            "let raised = std::panic::catch_unwind(|| {\n    panic!(\"row {}\", 5)\n});\nstd::panic::resume_unwind(raised.unwrap_err())",
            "panic at 1:2: row 5",
        ),
        (
            "let thread = std::thread::spawn(|| {\n    let row = 6;\n    panic!(\"row {row}\");\n});\n\
             std::panic::resume_unwind(thread.join().unwrap_err())",
            "thread: row 6\npanic at 2:3: row 6",
        ),
        (
            "let thread = std::thread::spawn(|| panic!(\"nested\"));\nstd::panic::panic_any(thread.join().unwrap_err())",
            "thread: nested\npanic at 3:2: nested",
        ),
    ]);
}
