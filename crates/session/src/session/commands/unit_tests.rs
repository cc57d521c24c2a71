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

/// Returns the tests, the attributes to be made blank, and the functions in modules, which must be public.
fn find(code: &str) -> (Vec<Test>, Vec<Range<usize>>, Vec<usize>) {
    let tokens = with_offsets(code);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.2);
    let (mut tests, mut blank, mut public) = (Vec::new(), Vec::new(), Vec::new());
    // The modules around, each with the depth of its braces.
    let mut modules: Vec<(&str, usize)> = Vec::new();
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
                modules.push((text(at + 1), depth));
            }
            "fn" => {
                let marks = std::mem::take(&mut marks);
                if let Some(mut test) = test.take() {
                    test.ignored = marks.ignored.is_some();
                    test.should_panic = marks.should_panic.is_some();
                    blank.extend([marks.ignored, marks.should_panic].into_iter().flatten());
                    let names = modules.iter().map(|(name, _)| *name);
                    test.path = names.chain([text(at + 1)]).collect::<Vec<_>>().join("::");
                    if !modules.is_empty() && text(at.wrapping_sub(1)) != "pub" {
                        public.push(tokens[at].0);
                    }
                    tests.push(test);
                }
            }
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                modules.pop_if(|(_, of_module)| *of_module == depth);
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

/// Returns the index of the bracket that closes an attribute.
fn end_of_attribute(tokens: &[(usize, ra_ap_rustc_lexer::TokenKind, &str)], at: usize) -> usize {
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
    fn the_call_does_not_continue_the_last_expression() {
        let program = program("#[test]\nfn a() {}\n1 + 1").unwrap();
        assert!(program.contains("1 + 1;\n::taper"), "{program}");
    }
}
