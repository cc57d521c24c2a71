//! Cells that print the markers that evcxr or Taper uses.
//!
//! The code that evcxr adds to a cell sends evcxr lines on standard output:
//! - `EVCXR_EXECUTION_COMPLETE`: the cell is done. Taper uses a record with a secret instead, so this is text.
//! - `EVCXR_BEGIN_CONTENT type` … `EVCXR_END_CONTENT`: a value. Crates print it too, so it is accepted.
//! - `EVCXR_VARIABLE_CHANGED_TYPE:name`: run the cell again without the variable. It is text, unless evcxr's
//!   message came before.
//! - `EVCXR_ERROR_OCCURRED`, `EVCXR_PANIC_NOTIFICATION`: the cell failed. A forged one cannot be
//!   distinguished from evcxr's (a cell may set its own panic hook), so only this cell is shown as failed.
//! - `EVCXR_INPUT_REQUEST:prompt`: the cell asks for a line; `output.rs` tests it.

use crate::common::events::{error, out, session, value};

#[test]
fn end_markers_are_text() {
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
