//! The text in a file that people read: documents, comments, messages.

/// One line of text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) text: String,
}

/// Returns the lines of text in a file; the extension of its name says what is text.
pub(crate) fn of(file: &str, source: &str) -> Vec<Line> {
    let extension = file.rsplit(['.', '/']).next().unwrap_or_default();
    match extension {
        "md" => prose(numbered(source)),
        "rs" => prose(rust(source)),
        "py" | "toml" | "yml" | "run" | "nightly" | "common" => prose(after_hash(source)),
        _ => Vec::new(),
    }
}

fn numbered(source: &str) -> Vec<Line> {
    let lines = (1..).zip(source.lines());
    lines
        .map(|(number, text)| Line {
            number,
            text: text.to_owned(),
        })
        .collect()
}

/// Returns the comments that begin with `#`.
fn after_hash(source: &str) -> Vec<Line> {
    let comment = |line: Line| {
        let trimmed = line.text.trim_start();
        let at = if trimmed.starts_with('#') {
            Some(0)
        } else {
            trimmed.find(" # ")
        };
        at.map(|at| Line {
            number: line.number,
            text: trimmed[at..].trim_matches(['#', ' ']).to_owned(),
        })
    };
    numbered(source).into_iter().filter_map(comment).collect()
}

/// Drops code: fenced blocks, and what is between backticks.
fn prose(lines: Vec<Line>) -> Vec<Line> {
    let mut in_block = false;
    let mut prose = Vec::new();
    for line in lines {
        if line.text.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let spans = line.text.split('`').enumerate();
            let text: Vec<&str> = spans
                .map(|(i, text)| if i % 2 == 0 { text } else { "." })
                .collect();
            prose.push(Line {
                number: line.number,
                text: without_titles(&text.concat()),
            });
        }
    }
    prose
}

/// Drops the texts of links to notebooks: they are titles, which the chapters determine.
fn without_titles(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, target)) = rest.split_once("](") {
        let is_title = target
            .split(')')
            .next()
            .is_some_and(|target| target.contains(".ipynb"));
        let start = before.rfind('[').filter(|_| is_title);
        kept += &before[..start.map_or(before.len(), |at| at + 1)];
        kept += "](";
        rest = target;
    }
    kept + rest
}

/// Returns the comments of a Rust source, and the strings that contain a blank.
fn rust(source: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut rest, mut number) = (source, 1);
    while let Some(c) = rest.chars().next() {
        let (length, text) = token(rest, c);
        if let Some(text) = text {
            let parts = (number..).zip(text.split('\n'));
            lines.extend(parts.map(|(number, text)| Line {
                number,
                text: text.to_owned(),
            }));
        }
        number += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    lines
}

/// Returns the length of the first token of `rest`, and its text if people read it.
fn token(rest: &str, first: char) -> (usize, Option<&str>) {
    if rest.starts_with("//") {
        let end = rest.find('\n').unwrap_or(rest.len());
        return (end, Some(rest[..end].trim_start_matches(['/', '!'])));
    }
    if rest.starts_with("/*") {
        let end = rest.find("*/").map_or(rest.len(), |end| end + 2);
        return (end, Some(&rest[2..end.max(4) - 2]));
    }
    if first == '"' {
        let end = end_of_string(rest);
        return (
            end,
            Some(&rest[1..end.max(2) - 1]).filter(|text| text.contains(' ')),
        );
    }
    if let Some(length) = length_of_raw_string(rest) {
        return (
            length,
            Some(&rest[..length]).filter(|text| text.contains(' ')),
        );
    }
    if first.is_alphanumeric() || first == '_' {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        return (end.unwrap_or(rest.len()), None);
    }
    if first == '\'' {
        return (length_of_character(rest), None);
    }
    (first.len_utf8(), None)
}

/// Returns the length of a string literal, with its quotes.
fn end_of_string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a raw string literal, `r"…"` or `r#"…"#` with any number of `#`, also of bytes.
fn length_of_raw_string(rest: &str) -> Option<usize> {
    let prefix = if rest.starts_with('b') { 1 } else { 0 };
    let after = rest[prefix..].strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let content = after[hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = content
        .find(&closing)
        .map_or(content.len(), |end| end + closing.len());
    Some(rest.len() - content.len() + end)
}

/// Returns the length of a character literal; for a lifetime, the length of its quote.
fn length_of_character(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(rest.len(), |end| end + 4),
        Some(_) => match characters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
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
    let texts: Vec<(usize, String)> = of("x.rs", source)
        .into_iter()
        .map(|line| (line.number, line.text.trim().to_owned()))
        .collect();
    let texts: Vec<(usize, &str)> = texts
        .iter()
        .map(|(number, text)| (*number, text.as_str()))
        .collect();
    let expected = [
        (1, "An introduction with .."),
        (5, "a comment"),
        (6, "a block"),
        (7, "of two lines"),
        (8, "a message \\\""),
        (8, "r#\"raw \"text\" \"#"),
    ];
    assert_eq!(texts, expected);
}

#[test]
fn documents_are_text_without_their_code() {
    let lines = of("x.md", "A `code` word.\n\n```rust\ncode\n```\nMore.\n");
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["A . word.", "", "More."]);
}

#[test]
fn titles_of_chapters_are_not_text() {
    let lines = of(
        "x.md",
        "See [a title](01-x.ipynb#a), [a page](x.md) and [b](b.ipynb).\n",
    );
    let expected = "See [](01-x.ipynb#a), [a page](x.md) and [](b.ipynb).";
    assert_eq!(lines[0].text, expected);
}

#[test]
fn comments_of_scripts_are_text() {
    let lines = of("x.toml", "# One.\nkey = 1 # Two.\nurl = \"a#b\"\n");
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["One.", "Two."]);
}
