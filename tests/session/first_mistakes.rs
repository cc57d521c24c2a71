//! What beginners type first, and what they read: `tests/snapshots/first-mistakes/*.txt`.
//!
//! A line holds a cell, a phrase that its error must contain, and what to write in its place, separated by
//! ` → `; `⏎` is a new line. All cells run in one session, after [`BEFORE`]; the replacements are compiled, many
//! in one cell.

use crate::common::events::{Events, own_session, without_colours};
use crate::common::root;
use serde_json::json;
use std::time::Instant;

/// The variables and types that the lines name.
const BEFORE: &str = "enum Leaf { Oak, Birch }\nstruct Point { x: f64, y: f64 }";
const VARIABLES: &str = "let x = rand((2, 3), &cpu())?;
let (a, b) = (rand((3, 3), &cpu())?, rand((3, 3), &cpu())?);
let (v, ints) = (vec![3.0, 1.0, 2.0], vec![3, 1, 2]);
let (s, n, f, flag) = (String::from(\"text\"), 3, 1.5, true);
let (leaf, p) = (Leaf::Birch, Point { x: 1.0, y: 2.0 });";

/// How many replacements are compiled in one cell.
const AT_ONCE: usize = 40;

struct Mistake {
    typed: String,
    phrase: String,
    instead: String,
}

#[test]
fn first_mistakes_are_answered_and_the_replacements_compile() {
    let mistakes = read();
    assert!(mistakes.len() >= 200, "{} mistakes", mistakes.len());
    let mut session = own_session();
    run(&mut session, BEFORE);
    run(&mut session, VARIABLES);
    let begin = Instant::now();
    let mut wrong: Vec<String> = mistakes
        .iter()
        .filter_map(|m| ask(&mut session, m))
        .collect();
    eprintln!(
        "{:.2} s a cell",
        begin.elapsed().as_secs_f64() / mistakes.len() as f64
    );
    for some in mistakes.chunks(AT_ONCE) {
        let (failed, text) = run(&mut session, &replacements(some));
        if failed {
            wrong.push(format!("a replacement does not compile:\n{text}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn read() -> Vec<Mistake> {
    let folder = root().join("tests/snapshots/first-mistakes");
    let mut mistakes = Vec::new();
    for name in ["python.txt", "pytorch.txt", "rust.txt"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("a table");
        for line in text.lines().filter(|line| !line.starts_with("# typed")) {
            let parts: Vec<String> = line.split(" → ").map(|p| p.replace('⏎', "\n")).collect();
            let [typed, phrase, instead] = <[String; 3]>::try_from(parts).expect(line);
            mistakes.push(Mistake {
                typed,
                phrase,
                instead,
            });
        }
    }
    mistakes
}

/// Returns what is wrong with the answer to a mistake.
fn ask(session: &mut Events, mistake: &Mistake) -> Option<String> {
    let (_, text) = run(session, &mistake.typed);
    (!text.contains(&mistake.phrase)).then(|| {
        let Mistake { typed, phrase, .. } = mistake;
        format!("--- {typed:?}: {phrase:?} is missing in\n{text}")
    })
}

/// Returns whether a cell fails, and what a notebook shows in words, without line breaks inside of hints.
fn run(session: &mut Events, cell: &str) -> (bool, String) {
    let mut text = String::new();
    let ran = session.run(&json!({ "code": cell }), |event| {
        if event["event"] == "text" {
            text += &without_colours(event["text"].as_str().unwrap_or_default());
        }
        for line in event["traceback"].as_array().into_iter().flatten() {
            let line = without_colours(line.as_str().unwrap_or_default());
            text += &match line.strip_prefix("          ") {
                Some(rest) => format!(" {rest}"),
                None => format!("\n{line}"),
            };
        }
    });
    let failed = ran.last().is_some_and(|last| last["event"] == "error");
    (failed, text)
}

/// Returns a cell that compiles each replacement and runs none.
fn replacements(mistakes: &[Mistake]) -> String {
    let variables = VARIABLES.replace('\n', " ");
    let closures = mistakes.iter().map(|mistake| {
        let instead = &mistake.instead;
        format!(
            "let _ = || -> std::result::Result<(), Box<dyn std::error::Error>> {{ {variables}\n{instead};\n\
             #[allow(unreachable_code)] Ok(()) }};\n"
        )
    });
    format!("{{\n{}}}", closures.collect::<String>())
}
