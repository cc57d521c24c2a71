//! `:stale`, and what it knows when a type was redefined.

use crate::common::events::{Events, Ran, err, out, own_session};
use serde_json::json;

fn run(session: &mut Events, cell: &str, code: &str) -> Ran {
    session.run_with(json!({ "code": code, "cell": cell }), |_| {})
}

#[test]
fn the_session_knows_which_cells_are_stale() {
    let mut session = own_session();
    // The first request belongs to the test's own session.
    run(&mut session, "a", "struct Point { x: i32 }");
    run(&mut session, "b", "let mut stale_p = Point { x: 1 };");
    run(&mut session, "c", "let stale_t = zeros((2, 3));");
    run(
        &mut session,
        "d",
        "// The sum.\nprintln!(\"{} {stale_t}\", stale_p.x);",
    );
    assert_eq!(session.run(":stale"), [out("No cell is stale.\n")]);
    run(&mut session, "b", "let mut stale_p = Point { x: 1 };");
    let line = "    `stale_p` was defined again by cell [7]\n";
    let stale = format!("[5] // The sum.\n{line}");
    assert_eq!(session.run(":stale"), [out(&stale)]);
    assert!(run(&mut session, "a", "struct Point { x: i32 }").is_empty());
    let lost = "lost, because the type was redefined: stale_p. Run cell [7] again.\n";
    let ran = run(&mut session, "a", "struct Point { x: i64 }");
    assert_eq!(ran, [err(lost)]);
    session.run(":restart");
    assert_eq!(session.run(":stale"), [out("No cell is stale.\n")]);
}
