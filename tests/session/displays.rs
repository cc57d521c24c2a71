//! Displays that are updated in place.

use crate::common::events::{display, err, out, own_session, session, value};
use serde_json::json;

#[test]
fn a_board_is_updated_at_intervals_and_ends_in_its_final_state() {
    let mut session = session();
    session.run("let displays_a = ProgressBoard::new();");
    let ran = session
        .run("for step in 0..=10_000 { displays_a.draw(step, 2.5 * step as f64, \"loss\", 1); }");
    assert_eq!(ran[0]["event"], "display");
    let of_the_board = |event: &serde_json::Value| {
        event["event"] == "update_display" && event["display_id"] == ran[0]["display_id"]
    };
    assert!(ran[1..].iter().all(of_the_board), "{ran:?}");
    assert!((2..60).contains(&ran.len()), "{} states", ran.len());
    let last = &ran[ran.len() - 1]["data"];
    let text = last["text/plain"]
        .as_str()
        .expect("a board says what it shows");
    assert!(text.contains("25000"), "{text}");
    // The board is a value that a later cell can show.
    let again = session.run("displays_a");
    assert_eq!(again[0]["data"]["image/svg+xml"], last["image/svg+xml"]);
}

/// Figures come through a socket and text through two pipes.
#[test]
fn figures_and_both_streams_keep_their_order() {
    let cell = r#"use taper::notebook::{MimeBundle, display};
for i in 0..100 {
    print!("out {i}");
    display(&MimeBundle::text(format!("first {i}")));
    eprint!("err {i}");
    display(&MimeBundle::text(format!("second {i}")));
}"#;
    let shown = |text: String| display(json!({ "text/plain": text }));
    let expected = (0..100).flat_map(|i| {
        [
            out(&format!("out {i}")),
            shown(format!("first {i}")),
            err(&format!("err {i}")),
            shown(format!("second {i}")),
        ]
    });
    assert_eq!(own_session().run(cell), expected.collect::<Vec<_>>());
}

#[test]
fn a_figure_that_is_too_large_is_named() {
    let mut session = own_session();
    let ran = session.run(
        "taper::notebook::display(&taper::notebook::MimeBundle::text(\"x\".repeat(80 << 20)));",
    );
    let notice = "displays beyond 67 MB are not shown (the cell produced 84 MB)\n";
    assert_eq!(ran, [err(notice)]);
    assert_eq!(session.run("1"), [value("1")]);
}

#[test]
fn a_loop_that_checks_for_an_interrupt_stops_and_keeps_earlier_variables() {
    let mut session = session();
    session.run("let mut displays_b = Vec::<i32>::new();");
    let code = "for step in progress(0..100_000) {\n    check_interrupt()?;\n    displays_b.push(step);\n    if step == 5 { println!(\"on\"); }\n    std::thread::sleep(std::time::Duration::from_millis(5));\n}";
    let ran = session.run_with(json!({ "code": code, "interrupt_at": "on" }), |_| {});
    let kept = "The cell was stopped. Variables of earlier cells are kept.";
    let last = ran.last().expect("it was stopped");
    assert_eq!(
        (&last["name"], &last["message"]),
        (&json!("Interrupted"), &json!(kept))
    );
    assert_eq!(session.run("displays_b.len() > 5"), [value("true")]);
}
