//! `%test`: turns the tests of a cell into functions and a call that runs them.

use crate::session::tokens::{is_name, with_offsets};
use std::ops::Range;

/// A function marked with `#[test]`.
#[derive(Default)]
struct Test {
    path: String,
    ignored: bool,
    should_panic: bool,
}

/// Returns the cell with its attributes of tests made blank, followed by a call that runs the tests. Lines stay
/// where they are. Returns a sentence if there is no test.
pub(super) fn program(code: &str) -> Result<String, String> {
    let (tests, blank, public) = find(code);
    if tests.is_empty() {
        return Err("`%test` finds no function that is marked with `#[test]`.".to_owned());
    }
    let mut program = String::with_capacity(code.len());
    for (at, c) in code.char_indices() {
        if public.contains(&at) {
            program.push_str("pub ");
        }
        match blank.iter().any(|blank| blank.contains(&at)) && c != '\n' {
            true => program.push(' '),
            false => program.push(c),
        }
    }
    let calls: Vec<String> = tests.iter().map(call).collect();
    let ends = program.trim_end().ends_with(['}', ';']);
    let semicolon = if ends { "" } else { ";" };
    let calls = calls.join(", ");
    Ok(format!(
        "{program}{semicolon}\n::taper::notebook::unit_tests::run(&[{calls}])?;"
    ))
}

fn call(test: &Test) -> String {
    let Test {
        path,
        ignored,
        should_panic,
    } = test;
    let module = "::taper::notebook::unit_tests";
    format!(
        "{module}::Test {{ name: \"{path}\", ignored: {ignored}, should_panic: {should_panic}, \
         run: || {module}::Outcome::failure(crate::{path}()) }}"
    )
}

/// Returns the tests, the ranges to be made blank, and the offsets of the tests in modules and of modules in modules,
/// which must be public.
fn find(code: &str) -> (Vec<Test>, Vec<Range<usize>>, Vec<usize>) {
    let tokens = with_offsets(code);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.2);
    let (mut tests, mut blank, mut public) = (Vec::new(), Vec::new(), Vec::new());
    // The modules around, each with the depth of its braces and the index of its `mod`.
    let mut modules: Vec<(&str, usize, usize)> = Vec::new();
    let (mut depth, mut at) = (0, 0);
    // The test whose function has not come yet.
    let mut test: Option<Test> = None;
    let mut marks = Marks::default();
    while at < tokens.len() {
        match text(at) {
            "#" if text(at + 1) == "[" => {
                let end = end_of_attribute(&tokens, at);
                let place = tokens[at].0..tokens[end].0 + 1;
                match text(at + 2) {
                    "test" if text(at + 3) == "]" => {
                        test = Some(Test::default());
                        blank.push(place);
                    }
                    "ignore" => marks.ignored = Some(place),
                    "should_panic" => marks.should_panic = Some(place),
                    "cfg" if text(at + 4) == "test" => blank.push(place),
                    _ => {}
                }
                at = end;
            }
            "mod" if is_name(text(at + 1)) && text(at + 2) == "{" => {
                modules.push((text(at + 1), depth, at));
            }
            "fn" => {
                let marks = std::mem::take(&mut marks);
                if let Some(mut test) = test.take() {
                    test.ignored = marks.ignored.is_some();
                    test.should_panic = marks.should_panic.is_some();
                    blank.extend([marks.ignored, marks.should_panic].into_iter().flatten());
                    let names = modules.iter().map(|(name, ..)| *name);
                    test.path = names.chain([text(at + 1)]).collect::<Vec<_>>().join("::");
                    let items = modules.iter().map(|(.., at)| *at).chain([at]);
                    for item in items.skip(1) {
                        match visibility(&tokens, item) {
                            Visibility::Private(at) => public.push(at),
                            Visibility::Restricted(place) => blank.push(place),
                            Visibility::Public => {}
                        }
                    }
                    tests.push(test);
                }
            }
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                modules.pop_if(|(_, of_module, _)| *of_module == depth);
            }
            _ => {}
        }
        at += 1;
    }
    (tests, blank, public)
}

/// The other attributes of a function.
#[derive(Default)]
struct Marks {
    ignored: Option<Range<usize>>,
    should_panic: Option<Range<usize>>,
}

type Token<'a> = (usize, ra_ap_rustc_lexer::TokenKind, &'a str);

enum Visibility {
    /// Private. Holds the offset of the item's first token, where `pub` is missing.
    Private(usize),
    /// `pub(…)`. Holds the range of the parentheses.
    Restricted(Range<usize>),
    Public,
}

/// Returns the visibility of the item with the keyword (`fn`, `mod`) at this index.
fn visibility(tokens: &[Token], keyword: usize) -> Visibility {
    let is_before = |(_, _, text): &&Token| {
        ["async", "const", "unsafe", "extern"].contains(text) || text.starts_with('"')
    };
    let qualifiers = tokens[..keyword].iter().rev().take_while(is_before).count();
    let (first, before) = (
        tokens[keyword - qualifiers].0,
        &tokens[..keyword - qualifiers],
    );
    match before {
        [.., (_, _, "pub")] => Visibility::Public,
        [.., (end, _, ")")] => {
            let open = before.iter().rfind(|(_, _, text)| *text == "(");
            Visibility::Restricted(open.map_or(*end, |open| open.0)..end + 1)
        }
        _ => Visibility::Private(first),
    }
}

/// Returns the index of the bracket that closes an attribute.
fn end_of_attribute(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (index, (_, _, text)) in tokens.iter().enumerate().skip(at + 1) {
        match *text {
            "[" => depth += 1,
            "]" if depth == 1 => return index,
            "]" => depth -= 1,
            _ => {}
        }
    }
    tokens.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_called_by_their_paths() {
        let code = "fn two() -> i32 { 2 }\n#[test]\n#[should_panic(expected = \"x\")]\nfn a() {}\n\
             #[cfg(test)]\nmod tests {\n    use super::*;\n    #[test] #[ignore]\n    fn b() {}\n}";
        let program = program(code).unwrap();
        let lines: Vec<&str> = program.lines().collect();
        assert_eq!(lines[1].trim(), "");
        assert_eq!(lines[3], "fn a() {}");
        assert_eq!(lines[8], "    pub fn b() {}");
        assert!(lines[10].contains("name: \"a\", ignored: false, should_panic: true"));
        assert!(
            lines[10].contains("name: \"tests::b\", ignored: true"),
            "{program}"
        );
        assert!(lines[10].contains("failure(crate::tests::b())"));
        assert_eq!(lines.len(), 11);
    }

    #[test]
    fn tests_in_modules_and_their_modules_become_public() {
        let lines = |code: &str| -> Vec<String> {
            let program = program(code).unwrap();
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            program.lines().map(words).collect()
        };
        let found = lines(
            "mod a {\n#[test]\npub(crate) fn s() {}\n#[test]\nasync fn t() {}\n#[test]\npub fn u() {}\n\
             #[test]\npub (in crate::a) unsafe extern \"C\" fn v() {}\n}",
        );
        assert_eq!(found[2], "pub fn s() {}");
        assert_eq!(found[4], "pub async fn t() {}");
        assert_eq!(found[6], "pub fn u() {}");
        assert_eq!(found[8], "pub unsafe extern \"C\" fn v() {}");

        let found = lines(
            "mod a {\nmod b {\npub(super) mod c {\n#[test] fn t() {}\n#[test] fn u() {}\n}\n}\nmod d {}\n}",
        );
        assert_eq!(found[..3], ["mod a {", "pub mod b {", "pub mod c {"]);
        assert_eq!(found[3], "pub fn t() {}");
        assert_eq!(found[7], "mod d {}");
        assert!(
            found[9].contains("failure(crate::a::b::c::t())"),
            "{found:?}"
        );
    }

    #[test]
    fn the_call_does_not_continue_the_last_expression() {
        let program = program("#[test]\nfn a() {}\n1 + 1").unwrap();
        assert!(program.contains("1 + 1;\n::taper"), "{program}");
    }
}
