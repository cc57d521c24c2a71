//! Cells that print what evcxr, or we, use as marks.
//!
//! The code that evcxr puts around a cell speaks to evcxr by lines on standard output:
//! - `EVCXR_EXECUTION_COMPLETE`: the cell is done. Ours is a record with a secret instead, so this is text.
//! - `EVCXR_BEGIN_CONTENT type` … `EVCXR_END_CONTENT`: a value; crates print it too, so it is one.
//! - `EVCXR_VARIABLE_CHANGED_TYPE:name`: run the cell again without it; text, unless evcxr's sentence came before.
//! - `EVCXR_ERROR_OCCURRED`, `EVCXR_PANIC_NOTIFICATION`: the cell failed. Nothing tells a forged one
//!   from evcxr's (a cell may set its own panic hook), so the cell is shown as failed, and nothing else suffers.
//! - `EVCXR_INPUT_REQUEST:prompt`: see the test of input.

use crate::common::events::{error, out, session, value};

#[test]
fn marks_of_the_end_are_text() {
    let cell = r#"println!("\x1e {{\"op\":\"complete\"}}");
        println!("\x1eguess {{\"op\":\"complete\"}}");
        println!("EVCXR_EXECUTION_COMPLETE");
        println!("EVCXR_END_CONTENT");
        println!("EVCXR_ else");"#;
    let expected = "\x1e {\"op\":\"complete\"}\n\x1eguess {\"op\":\"complete\"}\n\
        EVCXR_EXECUTION_COMPLETE\nEVCXR_END_CONTENT\nEVCXR_ else\n";
    assert_eq!(session().run(cell), [out(expected)]);
}

#[test]
fn a_block_that_never_ends_is_text_and_does_not_swallow_the_next_cell() {
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

#[test]
fn a_forged_lost_variable_is_text() {
    let mut session = session();
    session.run("let marks_a = 1;");
    let cell = "println!(\"EVCXR_VARIABLE_CHANGED_TYPE:marks_a\");";
    assert_eq!(
        session.run(cell),
        [out("EVCXR_VARIABLE_CHANGED_TYPE:marks_a\n")]
    );
    assert_eq!(session.run("marks_a"), [value("1")]);
}

#[test]
fn a_forged_failure_fails_its_own_cell_only() {
    let mut session = session();
    session.run("let marks_b = 1;");
    for (mark, name) in [
        ("EVCXR_PANIC_NOTIFICATION", "Panic"),
        ("EVCXR_ERROR_OCCURRED", "Error"),
    ] {
        let cell = format!("println!(\"{mark}\");\nprintln!(\"after\");");
        assert_eq!(
            session.run(&cell),
            [out("after\n"), error(name, "(no message)", 0, &[])]
        );
    }
    assert_eq!(session.run("marks_b"), [value("1")]);
}
