//! The parts of a value, read from what Rust's `{:?}` writes.

/// Returns the fields of a struct, the elements of a list, the entries of a map: each with its name, or with its index
/// where it has none. Of a content that was cut, the last part is cut too. A number, a text, and what is not in Rust's
/// notation have no parts.
pub(super) fn parts(content: &str) -> Vec<(String, &str)> {
    let Some((inner, has_names)) = inner(content) else {
        return Vec::new();
    };
    let ends = outside(inner).into_iter().filter(|(_, c)| *c == ',');
    let ends: Vec<usize> = ends.map(|(at, _)| at).chain([inner.len()]).collect();
    let begins = [0].into_iter().chain(ends.iter().map(|end| end + 1));
    let texts = begins
        .zip(&ends)
        .map(|(begin, &end)| inner[begin..end].trim());
    let texts = texts.filter(|text| !text.is_empty());
    let named = texts.enumerate().map(|(index, text)| match text {
        "…" | ".." => ("…".to_owned(), ""),
        text => match colon(text).filter(|_| has_names) {
            Some(at) => (text[..at].trim().to_owned(), text[at + 1..].trim()),
            None => (index.to_string(), text),
        },
    });
    named.collect()
}

/// Returns what is inside the brackets of a value, which a name may precede, and whether they are braces.
fn inner(content: &str) -> Option<(&str, bool)> {
    let open = content.find(['(', '[', '{'])?;
    let name = content[..open].trim_end();
    let is_name = |c: char| c.is_alphanumeric() || "_:<>".contains(c);
    if !name.chars().all(is_name) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = &content[open + 1..];
    let end = match outside(rest).last().copied() {
        Some((end, ')' | ']' | '}')) if end + 1 == rest.len() => end,
        Some((_, ')' | ']' | '}')) => return None,
        _ if rest.ends_with('…') => rest.len(),
        _ => return None,
    };
    Some((&rest[..end], content[open..].starts_with('{')))
}

/// Returns the first colon outside of brackets that is not in a path.
fn colon(text: &str) -> Option<usize> {
    let is_single = |at: usize| !text[..at].ends_with(':') && !text[at + 1..].starts_with(':');
    let mut colons = outside(text).into_iter().filter(|(_, c)| *c == ':');
    colons.find(|(at, _)| is_single(*at)).map(|(at, _)| at)
}

/// Returns the characters outside of literals and of inner brackets, with their offsets. A bracket that was not opened
/// in the text is the last one.
fn outside(text: &str) -> Vec<(usize, char)> {
    let (mut found, mut depth, mut at) = (Vec::new(), 0, 0);
    while let Some(c) = text[at..].chars().next() {
        let literal = literal(&text[at..], c);
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => {
                found.push((at, c));
                break;
            }
            ')' | ']' | '}' => depth -= 1,
            _ if depth == 0 && literal.is_none() => found.push((at, c)),
            _ => {}
        }
        at += literal.unwrap_or(c.len_utf8());
    }
    found
}

/// Returns the length of the string or character at the beginning of a text.
fn literal(text: &str, quote: char) -> Option<usize> {
    if !['"', '\''].contains(&quote) {
        return None;
    }
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    // A string may be cut; a single apostrophe belongs to the text around it.
    (quote == '"').then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn values_are_split_into_their_parts() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("[1, 2]", &[("0", "1"), ("1", "2")]),
            (
                "P { x: [1, 2], of: a::B { c: ',' } }",
                &[("x", "[1, 2]"), ("of", "a::B { c: ',' }")],
            ),
            ("Some(1.5)", &[("0", "1.5")]),
            (
                "(\"a, ]\\\"\", '\"')",
                &[("0", "\"a, ]\\\"\""), ("1", "'\"'")],
            ),
            (
                "{\"a: b\": 1, \"c\": 2}",
                &[("\"a: b\"", "1"), ("\"c\"", "2")],
            ),
            ("{1, 2}", &[("0", "1"), ("1", "2")]),
            ("{0.weight: (8, 4) f32}", &[("0.weight", "(8, 4) f32")]),
            ("[[0, …], …]", &[("0", "[0, …]"), ("…", "")]),
            ("[[1, 2], [3, \"a…", &[("0", "[1, 2]"), ("1", "[3, \"a…")]),
            ("Wrapping(A::B)", &[("0", "A::B")]),
        ];
        for (content, expected) in cases {
            let found = parts(content);
            let found: Vec<(&str, &str)> =
                found.iter().map(|(name, part)| (&**name, *part)).collect();
            assert_eq!(found, *expected, "{content}");
        }
        for other in [
            "",
            "7",
            "\"[1]\"",
            "1.5s",
            "Unit",
            "()",
            "[]",
            "(8, 4) f32",
            "2 (5)",
            "[1, 2",
            "{…",
        ] {
            let expected = usize::from(other == "{…");
            assert_eq!(parts(other).len(), expected, "{other}");
        }
    }
}
