//! Completes in code that is being typed: inside brackets that are not closed yet, and in the text of `println!`.

use super::tokens::{closing, is_name, with_offsets};
use ra_ap_rustc_lexer::{LiteralKind, TokenKind};
use taper_evaluator::evaluator::Completions;

/// The macros whose text may contain names of variables.
const FORMATS: [&str; 10] = [
    "format", "print", "println", "eprint", "eprintln", "write", "writeln", "panic", "assert",
    "todo",
];

/// Returns the code with the brackets closed that are open at the cursor: a macro has no arguments without its end.
/// Nothing before the cursor changes.
pub(crate) fn closed(code: &str, cursor: usize) -> String {
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut missing: Vec<(&str, usize)> = Vec::new();
    for (at, _, text) in with_offsets(code) {
        match text {
            "(" | "[" | "{" => open.push((text, at)),
            ")" | "]" | "}" => {
                let Some(own) = open.iter().rposition(|(open, _)| closing(open) == text) else {
                    continue;
                };
                // Those inside of it have no end.
                missing.extend(open.drain(own + 1..));
                open.pop();
            }
            _ => {}
        }
    }
    missing.extend(open);
    missing.retain(|(_, at)| *at < cursor);
    missing.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    let name = code[cursor..].find(|c: char| c != '_' && !c.is_alphanumeric());
    let end = name.map_or(code.len(), |length| cursor + length);
    let closing: String = missing.iter().map(|(open, _)| closing(open)).collect();
    format!("{}{closing}{}", &code[..end], &code[end..])
}

/// Returns code with a name in place of the call of a macro, if the cursor is in the name of a variable in its text:
/// `println!("{na|}")`. Also returns where the cursor is then.
pub(crate) fn placeholder(code: &str, cursor: usize) -> Option<(String, usize)> {
    let tokens = with_offsets(&code[..cursor]);
    let ((string, kind, _), before) = tokens.split_last()?;
    let is_open = LiteralKind::Str { terminated: false };
    if !matches!(kind, TokenKind::Literal { kind, .. } if *kind == is_open) {
        return None;
    }
    let text = &code[*string..cursor];
    let name = &text[text.rfind('{')? + 1..];
    let is_escaped = text[..text.len() - name.len()]
        .replace("{{", "")
        .matches('{')
        .count()
        == 0;
    if is_escaped || !name.chars().all(|c| c == '_' || c.is_alphanumeric()) {
        return None;
    }
    let start = before.windows(3).rev().find_map(|call| {
        let [(at, _, name), (_, _, "!"), (_, _, "(" | "[" | "{")] = call else {
            return None;
        };
        (is_name(name) && FORMATS.contains(name)).then_some(*at)
    })?;
    Some((format!("{}{name}", &code[..start]), start + name.len()))
}

/// Moves the completions of [`placeholder`] to the cursor, and keeps only values.
pub(crate) fn in_text(mut found: Completions, cursor: usize, moved: usize) -> Completions {
    found
        .items
        .retain(|item| item.kind == "instance" && !item.text.contains(['(', ':', '.']));
    found.start = found.start + cursor - moved;
    found.end = found.end + cursor - moved;
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(code: &str) -> (String, usize) {
        let cursor = code.find('|').expect("a cursor");
        (code.replacen('|', "", 1), cursor)
    }

    #[test]
    fn brackets_are_closed_at_the_cursor() {
        for (code, expected) in [
            ("seq![Laz|", "seq![Laz]"),
            ("Classifier::new(seq![La|zy", "Classifier::new(seq![Lazy])"),
            ("f(vec![mo|, 3)", "f(vec![mo], 3)"),
            ("struct Net { l: Lin|", "struct Net { l: Lin}"),
            ("fn f() { g(a|\n}", "fn f() { g(a)\n}"),
            ("let a = [1, 2]; a.|", "let a = [1, 2]; a."),
            ("a.| ; f(", "a. ; f("),
            ("\"(\" + x|", "\"(\" + x"),
        ] {
            let (code, cursor) = at(code);
            assert_eq!(closed(&code, cursor), expected);
        }
    }

    #[test]
    fn names_in_the_text_of_a_macro_are_found() {
        let found = |code: &str| {
            let (code, cursor) = at(code);
            placeholder(&code, cursor)
        };
        assert_eq!(
            found("let a = 1;\nprintln!(\"x {mo|}\")"),
            Some(("let a = 1;\nmo".into(), 13))
        );
        assert_eq!(found("write!(f, \"{x} {|"), Some(("".into(), 0)));
        for other in [
            "println!(\"mo|\")",
            "println!(\"{{mo|\")",
            "println!(\"{x:>|\")",
            "open(\"{mo|\")",
            "mo|",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
