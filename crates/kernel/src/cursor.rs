//! The name that a request for documentation refers to.

/// Returns the end of the name that the cursor touches; if there is none, of the function or macro whose call, or `?`, ends
/// at the cursor, or else of the one whose arguments surround it; else `cursor` itself. All are byte offsets.
pub(super) fn inspected(code: &str, cursor: usize) -> usize {
    if let Some(end) = touched(code, cursor).or_else(|| called(&code[..cursor])) {
        return end;
    }
    let mut end = cursor;
    while let Some(open) = enclosing(&code[..end]) {
        let is_macro = code[..open].ends_with('!');
        let name = open - usize::from(is_macro);
        // Other brackets are those of an array or a block.
        if let Some(end) = touched(code, name).filter(|_| is_macro || code[open..].starts_with('('))
        {
            return end;
        }
        end = open;
    }
    cursor
}

/// Returns the name that ends at `end`, unless it names a field, a method or an item of a module.
pub(super) fn variable(code: &str, end: usize) -> Option<&str> {
    let start = code[..end].trim_end_matches(is_part).len();
    let is_part_of_another = code[..start].trim_end().ends_with(['.', ':']);
    (start < end && !is_part_of_another).then(|| &code[start..end])
}

/// Returns the end of the name of the call or the macro with which `code` ends: `f(…)`, `f(…)?`, `m!`, `m![…]`.
fn called(code: &str) -> Option<usize> {
    let code = code.trim_end_matches('?');
    let open = match code.chars().next_back()? {
        '!' => code.len(),
        ')' | ']' | '}' => enclosing(&code[..code.len() - 1])?,
        _ => return None,
    };
    let is_macro = code[..open].ends_with('!');
    let name = open - usize::from(is_macro);
    let is_call = is_macro || code[open..].starts_with('(');
    touched(&code[..name], name).filter(|_| is_call)
}

/// Returns the end of the name before, after or around `cursor`.
fn touched(code: &str, cursor: usize) -> Option<usize> {
    let before = code[..cursor].trim_end_matches(is_part).len();
    let after = &code[cursor..];
    let end = cursor + after.len() - after.trim_start_matches(is_part).len();
    let name = &code[before..end];
    let is_name = name.starts_with(|c: char| !c.is_numeric());
    is_name.then_some(end)
}

fn is_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Returns the position of the last bracket that `code` opens and does not close.
fn enclosing(code: &str) -> Option<usize> {
    let mut closed = 0;
    for (at, c) in code.char_indices().rev() {
        match c {
            ')' | ']' | '}' => closed += 1,
            '(' | '[' | '{' if closed == 0 => return Some(at),
            '(' | '[' | '{' => closed -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_not_a_part_of_another() {
        for (code, expected) in [
            ("x", Some("x")),
            ("&été_2", Some("été_2")),
            ("a.x", None),
            ("a\n    .x", None),
            ("std::x", None),
            ("x + ", None),
        ] {
            assert_eq!(variable(code, code.len()), expected, "{code}");
        }
    }

    /// Asserts that `expected` is the code up to the end of the inspected name; in `marked`, `|` is the cursor.
    fn check(marked: &str, expected: &str) {
        let cursor = marked.find('|').unwrap();
        let code = marked.replace('|', "");
        let end = inspected(&code, cursor);
        assert_eq!(&code[..end], expected, "{marked}");
    }

    #[test]
    fn the_name_that_the_cursor_touches() {
        for marked in ["|zeros(2)", "ze|ros(2)", "zeros|(2)"] {
            check(marked, "zeros");
        }
        check("a.b|.c", "a.b");
        check("é_1|", "é_1");
    }

    #[test]
    fn the_function_around_the_cursor() {
        check("zeros(|(2, 3))", "zeros");
        check("zeros((2, 3|))", "zeros");
        check("full((2, 3), |7.0)", "full");
        check("f(g(1), |2)", "f");
        check("f(g(|1), 2)", "f(g");
        check("f([1, |2])", "f");
        check("f(move { x + | 1 })", "f");
    }

    #[test]
    fn the_macro_or_the_call_that_ends_at_the_cursor() {
        check("println!|", "println");
        check("println!(|", "println");
        check("vec![1|", "vec");
        check("seq![Flatten, |]", "seq");
        check("manual_seed(3)|", "manual_seed");
        check("check_interrupt()?|", "check_interrupt");
        check("a.b(f(1), [2])|;", "a.b");
        check("let v = vec![1, 2]|;", "let v = vec");
    }

    #[test]
    fn nothing_in_particular() {
        for marked in ["|", "1 + | 2", "(1, |2)", "[1, |2]", "(1 + 2)|", "{ 1 }|"] {
            check(marked, &marked[..marked.find('|').unwrap()]);
        }
    }
}
