//! `%test`: turns the tests of a cell into functions and a call that runs them.

use crate::session::limits;
use crate::syntax::Syntax;
use ra_ap_syntax::ast::{self, AstNode, HasAttrs, HasName};
use ra_ap_syntax::{SyntaxKind, SyntaxNode, TextRange};
use std::ops::Range;

/// A function marked with `#[test]`.
struct Test {
    path: String,
    ignored: bool,
    should_panic: bool,
}

/// The tests of a cell, and what is to be changed in its source.
#[derive(Default)]
struct Found {
    tests: Vec<Test>,
    /// What is made blank.
    blank: Vec<Range<usize>>,
    /// Where `pub` is written.
    public: Vec<usize>,
}

/// Returns the cell with its attributes of tests made blank, followed by a call that runs the tests. Lines stay
/// where they are. Returns a sentence if there is no test.
pub(super) fn program(code: &str) -> Result<String, String> {
    if limits::refusal(code).is_some() {
        // The session refuses it.
        return Ok(code.to_owned());
    }
    let Found {
        tests,
        blank,
        public,
    } = find(&Syntax::of(code));
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

/// Finds the tests of a cell. Those in modules, and modules in modules, must be public.
fn find(cell: &Syntax) -> Found {
    let mut found = Found::default();
    let range = |it: &SyntaxNode| cell.range(it.text_range());
    let for_tests = cell.all().filter(|it| is(it, "cfg(test"));
    found.blank.extend(for_tests.map(|it| range(it.syntax())));
    for function in cell.all::<ast::Fn>() {
        let marked = |name: &str| function.attrs().find(|it| is(it, name));
        let Some(test) = marked("test") else {
            continue;
        };
        let others = ["ignore", "should_panic"].map(marked);
        let [ignored, should_panic] = others.each_ref().map(Option::is_some);
        let marks = others.into_iter().flatten().chain([test]);
        found.blank.extend(marks.map(|it| range(it.syntax())));
        let ancestors = function.syntax().ancestors();
        let modules = ancestors.filter(|it| ast::Module::can_cast(it.kind()));
        let mut items: Vec<SyntaxNode> = modules.collect();
        items.reverse();
        items.push(function.syntax().clone());
        let names = items
            .iter()
            .filter_map(|it| ast::AnyHasName::cast(it.clone())?.name());
        let names: Vec<String> = names.map(|name| name.text().to_string()).collect();
        found.tests.push(Test {
            path: names.join("::"),
            ignored,
            should_panic,
        });
        for item in &items[1..] {
            let visibility = item.children().find_map(ast::Visibility::cast);
            match visibility.map(|it| range(it.syntax())) {
                // What follows the word, such as `(crate)`.
                Some(place) => found.blank.push(place.start + "pub".len()..place.end),
                None => found
                    .public
                    .extend(first_word(item).map(|it| cell.range(it).start)),
            }
        }
    }
    found
}

/// Returns where an item begins, behind attributes and comments.
fn first_word(item: &SyntaxNode) -> Option<TextRange> {
    use SyntaxKind::{ATTR, COMMENT, WHITESPACE};
    let mut parts = item.children_with_tokens();
    let first = parts.find(|it| ![ATTR, COMMENT, WHITESPACE].contains(&it.kind()));
    first.map(|it| it.text_range())
}

/// Returns whether an attribute begins with this name.
fn is(attribute: &ast::Attr, name: &str) -> bool {
    let text: String = attribute.syntax().text().to_string();
    let text: String = text.split_whitespace().collect();
    let rest = text
        .strip_prefix("#[")
        .and_then(|text| text.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with([']', ')', '(', '=']))
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
