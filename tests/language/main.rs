//! Words not to use, in documents, comments and messages: `avoid.txt`.

mod prose;

use regex::{Regex, RegexBuilder};
use std::path::Path;
use std::process::Command;

const LIST: &str = "tests/language/avoid.txt";

/// One line of the list.
struct Pattern {
    /// Matches the exceptions, and in its group the words to avoid: what begins first counts.
    regex: Regex,
    /// The first of these words, or its beginning.
    first: String,
    text: String,
    instead: String,
}

impl Pattern {
    /// Reads `pattern | instead | exceptions`.
    fn read(line: &str) -> Pattern {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [text, instead, exceptions] = fields[..] else {
            panic!("a line of the list needs three fields: {line}");
        };
        let exceptions = exceptions.split(',').map(str::trim);
        let mut all: Vec<String> = exceptions.filter(|it| !it.is_empty()).map(words).collect();
        all.push(format!("({})", words(text)));
        let regex = RegexBuilder::new(&all.join("|"))
            .case_insensitive(true)
            .build();
        Pattern {
            regex: regex.expect("a pattern of words"),
            first: text
                .split([' ', '*'])
                .next()
                .unwrap_or_default()
                .to_lowercase(),
            text: text.to_owned(),
            instead: instead.to_owned(),
        }
    }

    /// Returns where the words to avoid begin in a text. A hyphen or an apostrophe makes one word of two.
    fn places(&self, text: &str) -> Vec<usize> {
        let found = self.regex.captures_iter(text);
        let found = found.filter_map(|found| found.get(1));
        let whole = found.filter(|found| {
            !text[..found.start()].ends_with(['-', '\''])
                && !text[found.end()..].starts_with(['-', '\''])
        });
        whole.map(|found| found.start()).collect()
    }
}

/// Returns a regular expression for whole words, of which `*` continues one.
fn words(text: &str) -> String {
    let word = |word: &str| regex::escape(word).replace(r"\*", r"[\w'-]*");
    let words: Vec<String> = text.split_whitespace().map(word).collect();
    format!(r"\b{{start-half}}{}\b{{end-half}}", words.join(r"\s+"))
}

fn patterns(list: &str) -> Vec<Pattern> {
    let lines = list.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(Pattern::read).collect()
}

#[test]
fn no_text_uses_a_word_to_avoid() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let list = std::fs::read_to_string(root.join(LIST)).expect("the list of patterns");
    let patterns = patterns(&list);
    assert!(
        patterns.len() > 20,
        "{LIST} has only {} patterns",
        patterns.len()
    );
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .expect("git starts");
    let listed = String::from_utf8(listed.stdout).expect("plain file names");
    let (mut hits, mut read) = (Vec::new(), 0);
    for file in listed.lines().filter(|file| *file != LIST) {
        // Deleted, but not yet committed; or not text.
        let Ok(source) = std::fs::read_to_string(root.join(file)) else {
            continue;
        };
        let Some(text) = prose::of(file, &source) else {
            continue;
        };
        read += text.len();
        let lower = text.to_lowercase();
        // Most patterns occur nowhere, and a search for a word is fast.
        for pattern in patterns.iter().filter(|it| lower.contains(&it.first)) {
            for at in pattern.places(&text) {
                let line = 1 + text[..at].matches('\n').count();
                let shown = source.lines().nth(line - 1).unwrap_or_default().trim();
                hits.push(format!(
                    "{file}:{line}: \"{}\": write: {}\n    {shown}",
                    pattern.text, pattern.instead
                ));
            }
        }
    }
    assert!(read > 1_000_000, "only {read} bytes of text were found");
    assert!(
        hits.is_empty(),
        "{}\n\n{} hits",
        hits.join("\n"),
        hits.len()
    );
}

#[test]
fn whole_words_are_found_outside_of_exceptions() {
    let [pattern] = &patterns("# a comment\n\ncat* | dog | wild cats, cats of\n")[..] else {
        panic!("one pattern");
    };
    for hit in [
        "Cats",
        "a cat.",
        "the (cats)",
        "cats, of which",
        "wild cats and cats",
    ] {
        assert_eq!(pattern.places(hit).len(), 1, "{hit}");
    }
    for miss in [
        "",
        "concat",
        "wild\n  cats",
        "Cats of Rome",
        "c_at",
        "wild-cats",
    ] {
        assert!(pattern.places(miss).is_empty(), "{miss}");
    }
    let [pattern] = &patterns("has a | owns a | it has a")[..] else {
        panic!("one pattern");
    };
    assert_eq!(pattern.places("a list has\na shape").len(), 1);
    assert_eq!(pattern.places("[3] has a shape").len(), 1);
    for miss in ["It has: a shape", "It has a shape"] {
        assert!(pattern.places(miss).is_empty(), "{miss}");
    }
}
