//! Cells that print the marks that evcxr or the log of an exported program uses.
//!
//! - `EVCXR_BEGIN_CONTENT type` … `EVCXR_END_CONTENT` is a value, and `EVCXR_INPUT_REQUEST:prompt` asks for a line
//!   (`output.rs` tests it): other crates print them, so they are accepted.
//! - All other marks are text.

use crate::common::events::{out, session, value};

#[test]
fn end_markers_are_text() {
    let mut session = session();
    session.run("let marks_a = 1;");
    let cell = r#"println!("\x1e {{\"event\":\"clear\"}}");
        println!("\x1elog {{\"event\":\"clear\"}}");
        println!("EVCXR_EXECUTION_COMPLETE");
        println!("EVCXR_END_CONTENT");
        println!("EVCXR_PANIC_NOTIFICATION");
        println!("EVCXR_ERROR_OCCURRED");
        println!("EVCXR_VARIABLE_CHANGED_TYPE:marks_a");
        println!("EVCXR_ else");"#;
    let expected = "\x1e {\"event\":\"clear\"}\n\x1elog {\"event\":\"clear\"}\n\
        EVCXR_EXECUTION_COMPLETE\nEVCXR_END_CONTENT\nEVCXR_PANIC_NOTIFICATION\nEVCXR_ERROR_OCCURRED\n\
        EVCXR_VARIABLE_CHANGED_TYPE:marks_a\nEVCXR_ else\n";
    assert_eq!(session.run(cell), [out(expected)]);
    assert_eq!(session.run("marks_a"), [value("1")]);
}

#[test]
fn an_unterminated_block_is_text_and_leaves_the_next_cell_intact() {
    let mut session = session();
    let cell = "println!(\"EVCXR_BEGIN_CONTENT text/plain\");\nprintln!(\"no end\");";
    assert_eq!(
        session.run(cell),
        [out("EVCXR_BEGIN_CONTENT text/plain\nno end\n")]
    );
    let cell = "println!(\"a line about EVCXR_BEGIN_CONTENT and EVCXR_END_CONTENT\");";
    assert_eq!(
        session.run(cell),
        [out(
            "a line about EVCXR_BEGIN_CONTENT and EVCXR_END_CONTENT\n"
        )]
    );
    assert_eq!(session.run("1"), [value("1")]);
}
