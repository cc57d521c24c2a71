//! Correct Rust that is split into cells.

use crate::common::events::{Events, err, out, own_session, session, value, words};
use serde_json::{Value, json};

/// Asserts that cells show these values, one after the other.
fn check(session: &mut Events, cells: &[(&str, &str)]) {
    for (cell, expected) in cells {
        let ran = session.run(cell);
        let shown = ran.last().map(|last| &last["data"]["text/plain"]);
        let expected = (!expected.is_empty()).then(|| Value::from(*expected));
        assert_eq!(shown, expected.as_ref(), "{cell}: {ran:?}");
    }
}

fn message(ran: &[Value]) -> &str {
    let last = ran.last().expect("an error");
    words(&last["message"])
}

fn traceback(ran: &[Value]) -> String {
    let lines = ran.last().expect("an error")["traceback"].as_array();
    let lines = lines.expect("lines").iter();
    lines.map(|line| words(line).to_owned() + "\n").collect()
}

#[test]
fn macros_statics_and_implementations_live_in_all_cells() {
    check(
        &mut session(),
        &[
            (
                "macro_rules! split_minus { ($x:expr) => { $x - 1 }; }\nfn split_d(n: i32) -> i32 { split_minus!(n) }\nsplit_d(1)",
                "0",
            ),
            (
                "fn split_e(n: i32) -> i32 { split_minus!(split_d(n)) }\nsplit_e(2)",
                "0",
            ),
            (
                "static SPLIT: std::sync::OnceLock<i32> = std::sync::OnceLock::new();\n*SPLIT.get_or_init(|| 1)",
                "1",
            ),
            ("*SPLIT.get_or_init(|| 2)", "1"),
            (
                "thread_local! { static SPLIT_SEEN: std::cell::Cell<i32> = const { std::cell::Cell::new(0) }; }\nSPLIT_SEEN.set(5);",
                "",
            ),
            ("SPLIT_SEEN.get()", "5"),
            (
                "struct SplitOp(i32);\nimpl SplitOp { fn twice(&self) -> i32 { self.0 * 3 } }\nSplitOp(2).twice()",
                "6",
            ),
            (
                "impl SplitOp { fn twice(&self) -> i32 { self.0 * 2 } }\nSplitOp(2).twice()",
                "4",
            ),
        ],
    );
}

#[test]
fn an_error_in_an_item_of_an_earlier_cell_names_the_item() {
    let mut session = session();
    session.run("struct SplitS(i32);\nfn split_make() -> SplitS { SplitS(3) }");
    let ran = session.run("struct SplitS;\nlet split_unit = SplitS;");
    let item = "in an item of an earlier cell: `fn split_make()";
    assert!(message(&ran).contains(item), "{ran:?}");
    let shown = traceback(&ran);
    assert!(shown.contains("give what this cell"), "{shown}");
    assert!(!shown.contains("is a variable"), "{shown}");
    session
        .run("fn split_half(s: &str) -> Result<i32, std::num::ParseIntError> {\n    s.parse()\n}");
    let ran = session.run("type Result<T> = std::result::Result<T, String>;");
    let item = "in an item of an earlier cell: `fn split_half";
    assert!(message(&ran).contains(item), "{ran:?}");
    // The suggested change is not one of this cell.
    assert!(!traceback(&ran).contains("1 + "), "{ran:?}");
}

#[test]
fn advice_is_about_the_library_that_is_missing() {
    let mut session = session();
    let shown = traceback(&session.run("let split_size = mem::size_of::<u64>();"));
    assert!(
        shown.contains("use std::mem;") && !shown.contains(":dep"),
        "{shown}"
    );
    let shown = traceback(&session.run("use gtk::Widget;"));
    assert!(shown.contains(":dep gtk"), "{shown}");
    session.run("async fn split_g() -> std::io::Result<i32> { Ok(4) }");
    let ran = session.run("let split_x = split_g().await?;");
    assert_eq!(ran, [] as [Value; 0]);
    assert_eq!(session.run("split_x"), [value("4")]);
    let ran = session.run(":sccache 1\nlet split_after = 1;");
    let ignored = "`:sccache 1` is an option of evcxr. It was ignored.\n";
    assert_eq!(ran, [err(ignored)]);
}

/// Writes a crate that does not compile.
fn broken() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("src")).expect("a folder");
    let manifest = "[package]\nname = \"broken\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    for (name, text) in [
        ("Cargo.toml", manifest),
        ("src/lib.rs", "pub fn f() -> i32 {\n    \"text\"\n}\n"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("it is written");
    }
    folder
}

#[test]
fn a_package_leaves_the_variables_alone() {
    let mut session = own_session();
    session.run(
        "struct SplitP { x: i32 }\nlet p = SplitP { x: 1 };\nlet text = String::from(\"kept\");",
    );
    let ran = session.run(":dep itoa = \"1\"\n(p.x, &text)");
    assert_eq!(ran.last(), Some(&value("(1, \"kept\")")), "{ran:?}");
    // Cargo's message has the file and the line.
    let folder = broken();
    let ran = session.run(&format!(":dep broken = {{ path = {:?} }}", folder.path()));
    assert!(traceback(&ran).contains("src/lib.rs:2:5"), "{ran:?}");
    assert_eq!(session.run("p.x"), [value("1")]);
    // Its build script would run forever. The next cell does not go on with that.
    let script = "fn main() { loop { std::thread::park() } }";
    std::fs::write(folder.path().join("build.rs"), script).expect("it is written");
    let package = format!(":dep broken = {{ path = {:?} }}", folder.path());
    let ran = session.run_with(json!({ "code": package, "interrupt_after": 5000 }), |_| {});
    let last = ran.last().expect("an error");
    assert_eq!(last["name"], "Interrupted", "{ran:?}");
    assert_eq!(session.run("println!(\"{text}\");"), [out("kept\n")]);
}

#[test]
fn a_variable_that_others_borrow_from_says_so() {
    let mut session = own_session();
    session.run(
        "let text = String::from(\"a b\");\nlet words: Vec<&str> = text.split(' ').collect();",
    );
    let ran = session.run(":vars");
    let shown = words(&ran.last().expect("a table")["data"]["text/plain"]);
    let frozen = "String, frozen, borrowed by `words`";
    assert!(shown.contains(frozen), "{shown}");
    let ran = session.run("text.push_str(\" c\");");
    let shown = traceback(&ran);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "`text` is frozen, because `words` borrows from it. Change a copy, `let mut text = text.clone();`";
    assert!(shown.contains(why), "{shown}");
    let ran = session.run("let large = vec![0u8; 3_000_000];\nlet part = &large[1..];");
    let note = "`large` (3 MB) stays in memory until the session ends: `part` borrows from it.\n";
    assert_eq!(ran, [err(note)]);
}
