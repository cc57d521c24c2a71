//! Packages of `:dep` lines: replaced, refused, and compiled by one session for the next, with packages in folders.

use super::place::{Place, Running, find};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Writes a package, and returns the line that adds it.
fn package(place: &Place, folder: &str, manifest: &str, source: &str) -> String {
    let path = place.path().join(folder);
    fs::create_dir_all(path.join("src")).expect("a folder");
    let name = manifest.split(' ').next().unwrap_or_default();
    let rest = manifest[name.len()..].replace("; ", "\n");
    let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n{rest}\n");
    let file = if source.contains("fn main") {
        "main.rs"
    } else {
        "lib.rs"
    };
    for (file, text) in [
        ("Cargo.toml", &*manifest),
        (&*format!("src/{file}"), source),
    ] {
        fs::write(path.join(file), text).expect("a file");
    }
    format!(":dep {name} = {{ path = {path:?} }}")
}

/// Runs cells in a session, and returns what each shows, one text for each.
fn run(place: &Place, cells: &[&str]) -> Vec<String> {
    shown(&start(place, cells).ends().succeeds().text)
}

fn start(place: &Place, cells: &[&str]) -> Running {
    let requests = cells
        .iter()
        .map(|code| match code.strip_prefix("interrupted ") {
            Some(code) => json!({ "code": code, "interrupt_after": 4000 }),
            None => json!({ "code": code }),
        });
    let requests: Vec<String> = requests.map(|it| it.to_string() + "\n").collect();
    place.taper(["events"]).input(&requests.concat()).start()
}

fn shown(said: &str) -> Vec<String> {
    let events = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let (mut cells, mut cell) = (Vec::new(), String::new());
    for event in events.filter(|it: &Value| it["event"].is_string()) {
        if event["event"] == "done" {
            cells.push(std::mem::take(&mut cell));
        }
        for text in [
            &event["text"],
            &event["data"]["text/plain"],
            &event["message"],
        ] {
            cell += text.as_str().unwrap_or_default();
        }
    }
    cells
}

#[track_caller]
fn check(place: &Place, cells: &[(&str, &str)]) {
    let sources: Vec<&str> = cells.iter().map(|(source, _)| *source).collect();
    let shown = run(place, &sources);
    let cache = place.cache().display().to_string();
    for ((source, expected), shown) in cells.iter().zip(&shown) {
        let is_expected = match expected.strip_prefix("… ") {
            Some(part) => part.split(" … ").all(|part| shown.contains(part)),
            None => shown == expected,
        };
        assert!(
            is_expected,
            "{source}\nexpected: {expected}\nfound: {shown}"
        );
        assert!(!shown.contains(&cache), "{source}: {shown}");
    }
    assert_eq!(shown.len(), cells.len(), "{shown:#?}");
}

const FIRST: &str = "#[derive(Debug)] pub struct Word(pub u8); pub fn old() -> u8 { 1 } pub fn version() -> u8 { 1 }\n\
    #[cfg(feature = \"loud\")] pub fn loud() -> u8 { 9 }";
const SECOND: &str = "#[derive(Debug)] pub struct Word(pub u64); pub fn version() -> u8 { 2 }";

#[test]
fn another_version_replaces_the_first_and_the_session_goes_on() {
    let place = Place::ready();
    let with_loud = "word version = \"1.0.0\"; [features]; loud = []";
    let first = package(&place, "first", with_loud, FIRST);
    let second = package(&place, "second", "word version = \"2.0.0\"", SECOND);
    let loud = first.replace(" }", ", features = [\"loud\"] }");
    let as_other = second.replace(":dep word = {", ":dep other = { package = \"word\",");
    let uses = format!(
        "speaker version = \"1.0.0\"; [dependencies]; word = {{ path = {:?} }}",
        place.path().join("first")
    );
    let speaker = package(
        &place,
        "speaker",
        &uses,
        "pub fn word() -> word::Word { word::Word(5) }",
    );
    let lost = "lost, because `word`, with their types, was replaced: word. Run the cells that define them again.\n\
                removed, because it does not compile with the new `word`: old (cannot find function `old` in crate \
                `word`). Change its cell and run it again.\n";
    let kept = "\"kept\"";
    check(
        &place,
        &[
            (&first, ""),
            (
                "let word = word::Word(1); let text = \"kept\".to_owned();",
                "",
            ),
            (
                "fn old() -> u8 { word::old() }\nfn both() -> u8 { word::version() }\nold()",
                "1",
            ),
            // The same again, and a folder that does not exist.
            (&first, ""),
            (
                ":dep word = { path = \"/no/such/folder\" }",
                "… this notebook … /no/such/folder",
            ),
            ("word", "Word(1)"),
            (&second, lost),
            ("(both(), &text)", "(2, \"kept\")"),
            ("word", "… expected value, found crate `word`"),
            ("old()", "… cannot find function `old`"),
            ("fn old() -> u8 { 3 }\nold()", "3"),
            // Features, which come and go.
            (&loud, ""),
            ("word::loud()", "9"),
            ("fn shout() -> u8 { word::loud() }", ""),
            (&first, "… removed … shout (cannot find function `loud`"),
            ("(word::version(), &text)", "(1, \"kept\")"),
            // Two names and two versions, and a package that uses the first one.
            (&as_other, ""),
            ("(word::version(), other::version())", "(1, 2)"),
            (
                &as_other.replace(":dep other", ":dep third"),
                "… A version of a package can have one name.",
            ),
            (&speaker, ""),
            (
                "let mut said = word::Word(0); said = speaker::word(); said",
                "Word(5)",
            ),
            (&loud, "… lost, because … said"),
            (
                "let mut said = word::Word(0); said = speaker::word(); said",
                "Word(5)",
            ),
            // `:restart` keeps packages and items, `:clear` nothing.
            (":restart", "… all variables are lost"),
            ("(old(), word::version(), other::version())", "(3, 1, 2)"),
            (":clear", ""),
            ("word::version()", "… `word`"),
            ("old()", "… `old`"),
            ("fn old() -> u8 { 4 }\nold()", "4"),
            (
                ":show_deps",
                &format!("taper = {{ path = {:?} }}\n", super::stand_in::home()),
            ),
            (&second, ""),
            ("word::version()", "2"),
            (&format!("let text = {kept};\ntext"), kept),
        ],
    );
}

#[test]
fn what_cannot_be_used_is_refused_and_changes_nothing() {
    let place = Place::ready();
    let good = package(
        &place,
        "good",
        "good version = \"1.0.0\"",
        "pub fn good() -> u8 { 7 }",
    );
    let program = package(
        &place,
        "program",
        "program version = \"1.0.0\"",
        "fn main() {}",
    );
    let for_c = "for_c version = \"1.0.0\"; [lib]; crate-type = [\"cdylib\"]";
    let for_c = package(&place, "for_c", for_c, "");
    let handler =
        "#![no_std] #[panic_handler] fn stop(_: &core::panic::PanicInfo) -> ! { loop {} }";
    let handler = package(&place, "handler", "handler version = \"1.0.0\"", handler);
    let broken = package(
        &place,
        "broken",
        "broken version = \"1.0.0\"",
        "pub fn f() -> u8 { 1u32 }",
    );
    let other = package(
        &place,
        "taper",
        "taper version = \"0.1.0\"; [lib]; crate-type = [\"dylib\", \"rlib\"]",
        "pub mod prelude {}",
    );
    let no_library = "… has no library that Rust code can use";
    let after = ("(good::good(), n)", "(7, 1)");
    check(
        &place,
        &[
            ("let n = 1;", ""),
            (&good, ""),
            (&program, no_library),
            after,
            (&for_c, no_library),
            after,
            (
                &handler,
                "… no cell would compile with this package: duplicate lang item … Nothing was changed.",
            ),
            after,
            (&broken, "… mismatched types … src/lib.rs:1:20"),
            after,
            (
                ":dep good = \"abc\"",
                "… failed to parse the version requirement `abc`",
            ),
            after,
            (
                &good.replace(" }", ", features = [\"none\"] }"),
                "… There is no such package, version or feature. … this notebook depends on `good`",
            ),
            after,
            (
                &other,
                "… Another Taper would be loaded and all variables would be lost. Nothing was changed. … `:restart`",
            ),
            after,
            (
                &format!(":restart\n{other}"),
                "… was loaded in place of the installed one",
            ),
            ("good::good()", "7"),
            (":clear", ""),
            ("built_for()", "\"cpu\""),
        ],
    );
}

/// A package that is never compiled, unless there is a file, and one on which it depends.
fn endless(place: &Place) -> (String, PathBuf) {
    let quick = "quick version = \"1.0.0\"";
    package(place, "quick", quick, "pub fn quick() -> u8 { 8 }");
    let path = place.path().join("quick");
    let slow =
        format!("slow version = \"1.0.0\"; [build-dependencies]; quick = {{ path = {path:?} }}");
    let slow = package(place, "slow", &slow, "pub fn slow() -> u8 { 3 }");
    let go = place.path().join("go");
    let script = format!(
        "fn main() {{ quick::quick(); while !std::path::Path::new({go:?}).exists() {{ std::thread::sleep(std::time::Duration::from_millis(9)) }} }}"
    );
    fs::write(place.path().join("slow/build.rs"), script).expect("a file");
    (slow, go)
}

fn compiled_at(place: &Place) -> Option<SystemTime> {
    let images = place.cache().join("images");
    let is_wanted = |name: &str| name.starts_with("libquick-") && name.ends_with(".rlib");
    let image = fs::read_dir(images).ok()?.next()?.ok()?.path();
    let file = find(&image.join("added"), &is_wanted)?;
    file.metadata().ok()?.modified().ok()
}

#[test]
fn what_a_stopped_or_killed_session_has_compiled_is_used_by_the_next() {
    let place = Place::ready();
    let (slow, go) = endless(&place);
    let stopped = format!("interrupted {slow}");
    let shown = run(&place, &["let n = 1;", &stopped, "n"]);
    assert!(
        shown[1].contains("Stopped after 4 s. What is compiled is kept"),
        "{shown:?}"
    );
    assert!(!shown[1].contains("Compiled in"), "{shown:?}");
    assert_eq!(shown[2], "1");
    let first = compiled_at(&place).expect("it was compiled");
    // Killed while it compiles, and while another one waits for it.
    let mut killed = start(&place, &[&slow]);
    assert!(killed.until(|it| it.said().contains("Compiling")));
    let mut waiting = start(&place, &[&slow, "slow::slow()"]);
    assert!(waiting.until(|it| it.said().contains("Another notebook compiles packages")));
    killed.kill();
    std::thread::sleep(Duration::from_millis(300));
    fs::write(go, "").expect("a file");
    let said = waiting.ends().succeeds();
    assert_eq!(shown_last(&said.text), "3");
    assert_eq!(compiled_at(&place), Some(first), "it was compiled again");
}

fn shown_last(said: &str) -> String {
    shown(said).pop().unwrap_or_default()
}

#[test]
fn each_session_keeps_the_package_that_it_has_compiled() {
    let place = Place::ready();
    let line = package(&place, "word", "word version = \"1.0.0\"", FIRST);
    let source = place.path().join("word/src/lib.rs");
    let mut first = start(
        &place,
        &[
            &line,
            "let word = word::Word(1);",
            "!while [ ! -e changed ]; do sleep 0.1; done",
            "(word, word::version())",
        ],
    );
    assert!(first.until(|it| shown(&it.said()).len() == 2));
    fs::write(&source, SECOND).expect("a file");
    assert_eq!(run(&place, &[&line, "word::version()"])[1], "2");
    fs::write(place.path().join("changed"), "").expect("a file");
    assert_eq!(shown_last(&first.ends().succeeds().text), "(Word(1), 1)");
}

#[test]
fn a_package_that_was_edited_is_compiled_again() {
    let place = Place::ready();
    let line = package(&place, "word", "word version = \"1.0.0\"", FIRST);
    let edit = format!("!echo '{SECOND}' >word/src/lib.rs");
    check(
        &place,
        &[
            (&line, ""),
            ("let word = word::Word(1); let n = 1;", ""),
            ("fn old() -> u8 { word::old() }\nold()", "1"),
            (&edit, ""),
            ("word::version()", "1"),
            (&line, "… lost, because … word. … removed, … old"),
            (
                "(n, word::version(), word::Word(1 << 40).0)",
                "(1, 2, 1099511627776)",
            ),
            (":restart", "… all variables are lost"),
            ("word::version()", "2"),
        ],
    );
}

/// The files of both have the same names.
#[test]
fn shared_libraries_of_one_name_are_not_mixed_up() {
    let place = Place::ready();
    let manifest = "both version = \"1.0.0\"; [lib]; crate-type = [\"cdylib\", \"rlib\"]";
    let [first, second] = [1, 2].map(|n| {
        package(
            &place,
            &format!("both-{n}"),
            manifest,
            &format!("pub fn number() -> u8 {{ {n} }}"),
        )
    });
    for _ in 0..2 {
        check(
            &place,
            &[
                (&first, ""),
                ("both::number()", "1"),
                (&second, ""),
                ("both::number()", "2"),
                (&first, ""),
                ("both::number()", "1"),
            ],
        );
    }
}
