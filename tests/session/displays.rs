//! Displays that change in place.

use crate::common::events::session;

#[test]
fn a_board_is_drawn_now_and_then_and_ends_in_its_final_state() {
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
    // It is a value like any other, and shows itself in a later cell.
    let again = session.run("displays_a");
    assert_eq!(again[0]["data"]["image/svg+xml"], last["image/svg+xml"]);
}
