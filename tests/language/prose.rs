//! The text in a file that people read: documents, comments, messages.

use regex::{Captures, Regex};
use std::sync::LazyLock;

macro_rules! regex {
    ($pattern:literal) => {
        LazyLock::new(|| Regex::new($pattern).expect("a pattern"))
    };
}

/// Comments and literals of Rust. Strings that contain a blank are messages.
static RUST: LazyLock<Regex> = regex!(
    r##"(?sx)
    //[/!]*(?<line>[^\n]*) | /\*(?<block>.*?)\*/
    | b?r\#\#"(?<raw2>.*?)"\#\# | b?r\#"(?<raw1>.*?)"\# | \bb?r"(?<raw>[^"]*)"
    | "(?<string>(?:[^"\\]|\\.)*)" | '(?:[^'\\\n]|\\[^\n]+?)'"##
);
static SCRIPT: LazyLock<Regex> = regex!(r"(?m)(?:^\s*|\ )\#+(?<line>[^\n]*)$");
static CODE: LazyLock<Regex> = regex!(r"(?m)^[ ]*```[\s\S]*?(?:^[ ]*```|\z)|`[^`]*`");
/// Links to notebooks: their texts are titles, which the chapters determine.
static TITLES: LazyLock<Regex> = regex!(r"\[[^\]]*\]\([^)]*\.ipynb[^)]*\)");

/// Returns the prose of a file, with as many lines as the file has. What is not prose is replaced by `.`, over which no
/// sentence continues. The extension of the file's name says what is prose.
pub(crate) fn of(file: &str, source: &str) -> Option<String> {
    let text = match file.rsplit(['.', '/']).next()? {
        "md" => source.to_owned(),
        "rs" => only(&RUST, source),
        "py" | "toml" | "yml" | "run" | "nightly" | "common" => only(&SCRIPT, source),
        _ => return None,
    };
    Some(without(&TITLES, &without(&CODE, &text)))
}

/// Keeps the named groups of a pattern's matches.
fn only(pattern: &Regex, source: &str) -> String {
    let (mut text, mut end) = (String::new(), 0);
    for found in pattern.captures_iter(source) {
        let whole = found.get(0).expect("a match");
        text += &dot(&source[end..whole.start()]);
        text += &kept(&found);
        end = whole.end();
    }
    text + &dot(&source[end..])
}

fn kept(found: &Captures) -> String {
    let is_message = found
        .name("string")
        .is_none_or(|it| it.as_str().contains(' '));
    let group = found.iter().skip(1).flatten().next();
    match group.filter(|_| is_message) {
        Some(group) => group.as_str().to_owned(),
        None => dot(&found[0]),
    }
}

fn without(pattern: &Regex, text: &str) -> String {
    let dotted = pattern.replace_all(text, |found: &Captures| dot(&found[0]));
    dotted.into_owned()
}

/// Returns a dot for code, and its line breaks.
fn dot(code: &str) -> String {
    let dot = if code.trim().is_empty() { "" } else { " . " };
    dot.to_owned() + &"\n".repeat(code.matches('\n').count())
}

#[test]
fn comments_and_messages_are_text_and_code_is_not() {
    let source = "\
//! An introduction with `code`.
/// ```
/// let code = 1;
/// ```
fn name<'a>(quote: char) { // a comment
    let c = ['\"', '\\'', 'x']; /* a block
    of two lines */
    print(\"a message \\\" \", \"key\", r#\"raw \"text\" \"#);
}
";
    let text = of("x.rs", source).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_matches([' ', '.']))
        .collect();
    let expected = [
        "An introduction with",
        "",
        "",
        "",
        "a comment",
        "a block",
        "of two lines",
        r#"a message \"  .  .  . raw "text""#,
        "",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn documents_and_scripts_are_text_without_their_code() {
    let text = of(
        "x.md",
        "A `code` word, [a title](01-x.ipynb#a), [a page](x.md).\n\n```rust\ncode\n```\nMore.\n",
    );
    assert_eq!(
        text.unwrap(),
        "A  .  word,  . , [a page](x.md).\n\n . \n\n\nMore.\n"
    );
    let text = of("x.toml", "# One.\nkey = 1 # Two.\nurl = \"a#b\"\n").unwrap();
    assert_eq!(text, " One. . \n Two. . \n\n");
}
