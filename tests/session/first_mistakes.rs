//! What beginners type first, and what they read: `tests/snapshots/first-mistakes/*.txt`.
//!
//! A line holds a cell, a phrase that its error must contain, and what to write in its place, separated by
//! ` → `; `⏎` is a new line. A line of `false.txt` holds words of a hint that would be false, instead. All cells run in one session, after [`BEFORE`]; the replacements are compiled, many
//! in one cell.

use crate::common::events::{Events, own_session, without_colours};
use crate::common::root;
use serde_json::json;
use std::time::Instant;

/// The variables and types that the lines name.
const BEFORE: &str = "enum Leaf { Oak, Birch }\nstruct Point { x: f64, y: f64 }";
const VARIABLES: &str = "let x = rand((2, 3));
let (a, b) = (rand((3, 3)), rand((3, 3)));
let (v, ints) = (vec![3.0, 1.0, 2.0], vec![3, 1, 2]);
let (s, n, f, flag) = (String::from(\"text\"), 3_i32, 1.5_f64, true);
let (leaf, p) = (Leaf::Birch, Point { x: 1.0, y: 2.0 });";

/// The tables of mistakes that have an answer: of users of Python, of PyTorch and of Rust.
const ANSWERED: [&str; 3] = ["python.txt", "pytorch.txt", "rust.txt"];

/// Mistakes that were written before any answer to them, to measure how well the answers generalise. Never write
/// an answer for one of these lines: move it to another file and write a new one here.
const HELD_OUT: [&str; 1] = ["held-out.txt"];

/// Errors beside those that have an answer, of which that answer is not true.
const FALSE: &str = "tests/snapshots/first-mistakes/false.txt";

/// How many replacements are compiled in one cell.
const AT_ONCE: usize = 40;

struct Mistake {
    typed: String,
    phrase: String,
    instead: String,
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn first_mistakes_are_answered_and_the_replacements_compile() {
    let mistakes = read(&ANSWERED);
    assert!(mistakes.len() >= 200, "{} mistakes", mistakes.len());
    let mut session = session_with_variables();
    let begin = Instant::now();
    let mut wrong: Vec<String> = mistakes
        .iter()
        .filter_map(|m| ask(&mut session, m))
        .collect();
    eprintln!(
        "{:.2} s a cell",
        begin.elapsed().as_secs_f64() / mistakes.len() as f64
    );
    wrong.extend(wrong_replacements(&mut session, &mistakes));
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn mistakes_that_were_held_out_are_scored() {
    let mistakes = read(&HELD_OUT);
    assert_eq!(mistakes.len(), 50);
    let mut session = session_with_variables();
    let unanswered: Vec<String> = mistakes
        .iter()
        .filter_map(|m| ask(&mut session, m))
        .collect();
    eprintln!(
        "{} of 50 held-out mistakes are answered; not:\n{}",
        50 - unanswered.len(),
        unanswered.join("\n")
    );
    let wrong = wrong_replacements(&mut session, &mistakes);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unanswered.len() <= 15, "{} unanswered", unanswered.len());
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn no_hint_is_given_where_it_is_false() {
    let text = std::fs::read_to_string(root().join(FALSE)).expect("a table");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert!(lines.len() > 60, "{} mistakes", lines.len());
    let mut session = session_with_variables();
    let wrong = lines.iter().filter_map(|line| {
        let (typed, hint) = line.split_once(" → ").expect("two parts");
        let (_, text) = run(&mut session, &typed.replace('⏎', "\n"));
        let is_shown = text.contains("hint: ") || text.lines().count() > 1;
        (!is_shown || text.contains(hint)).then(|| format!("--- {typed:?}: {hint:?} in\n{text}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn session_with_variables() -> Events {
    let mut session = own_session();
    run(&mut session, BEFORE);
    run(&mut session, VARIABLES);
    session
}

/// Returns the errors of replacements that do not compile.
fn wrong_replacements(session: &mut Events, mistakes: &[Mistake]) -> Vec<String> {
    let results = mistakes
        .chunks(AT_ONCE)
        .map(|some| run(session, &replacements(some)));
    results
        .filter(|(failed, _)| *failed)
        .map(|(_, text)| format!("a replacement does not compile:\n{text}"))
        .collect()
}

fn read(names: &[&str]) -> Vec<Mistake> {
    let folder = root().join("tests/snapshots/first-mistakes");
    let mut mistakes = Vec::new();
    for name in names {
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

/// Returns what is wrong with the session's answer to a mistake; `None` if it contains the phrase.
fn ask(session: &mut Events, mistake: &Mistake) -> Option<String> {
    let (_, text) = run(session, &mistake.typed);
    (!text.contains(&mistake.phrase)).then(|| {
        let Mistake { typed, phrase, .. } = mistake;
        format!("--- {typed:?}: {phrase:?} is missing in\n{text}")
    })
}

/// Returns whether a cell fails, and the text that a notebook shows, without line breaks inside of hints.
fn run(session: &mut Events, cell: &str) -> (bool, String) {
    let mut text = String::new();
    let ran = session.run_with(json!({ "code": cell }), |event| {
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
