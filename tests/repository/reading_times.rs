//! How long a chapter takes to read, as its introduction says: 200 words and 10 lines of code a minute.

use super::root;
use serde_json::Value;

const WORDS_A_MINUTE: usize = 200;
const LINES_A_MINUTE: usize = 10;
/// The text says a multiple of this many minutes.
const STEP: usize = 5;
/// The cells whose time is not counted.
const APART: [&str; 3] = ["exercises", "exercises-checked", "sources"];
const HIDDEN: [&str; 4] = ["exercise", "hide-input", "hide-cell", "remove-input"];

#[test]
fn chapters_take_as_long_as_they_say() {
    let folder = root().join("notebooks").read_dir().expect("a folder");
    let mut others = Vec::new();
    let mut count = 0;
    for path in folder.map(|entry| entry.expect("an entry").path()) {
        if path.extension().is_none_or(|kind| kind != "ipynb") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a chapter");
        let chapter: Value = serde_json::from_str(&text).expect("JSON");
        let cells = chapter["cells"].as_array().expect("cells");
        let Some(said) = said(&source(&cells[0])) else {
            continue;
        };
        count += 1;
        let measured = minutes(cells);
        if said != measured {
            others.push(format!("{}: {said}, measured {measured}", path.display()));
        }
    }
    assert!(count > 30, "{count}");
    assert!(others.is_empty(), "minutes:\n{}", others.join("\n"));
}

/// Returns the minutes that an introduction says.
fn said(text: &str) -> Option<usize> {
    let (_, after) = text.split_once("takes about ")?;
    after.split_once(" minutes")?.0.parse().ok()
}

fn minutes(cells: &[Value]) -> usize {
    let (mut words, mut lines) = (0, 0);
    for cell in cells {
        let tags = cell["metadata"]["tags"].as_array().into_iter().flatten();
        let mut tags = tags.filter_map(Value::as_str);
        if APART.contains(&cell["id"].as_str().unwrap_or_default())
            || tags.any(|tag| HIDDEN.contains(&tag))
        {
            continue;
        }
        let text = source(cell);
        let has_letter = |part: &&str| part.contains(char::is_alphabetic);
        match cell["cell_type"].as_str() {
            Some("markdown") => words += text.split_whitespace().filter(has_letter).count(),
            // A line with nothing but a bracket costs no time.
            _ => lines += text.lines().filter(has_letter).count(),
        }
    }
    let seconds = 60 * words / WORDS_A_MINUTE + 60 * lines / LINES_A_MINUTE;
    seconds.div_ceil(60 * STEP) * STEP
}

fn source(cell: &Value) -> String {
    let lines = cell["source"].as_array().into_iter().flatten();
    lines.filter_map(Value::as_str).collect()
}
