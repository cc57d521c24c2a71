//! The name that a request for documentation refers to.

/// Returns the end of the name that the cursor touches; if there is none, the end of the name of the
/// function whose arguments surround the cursor; else `cursor` itself. All are byte offsets.
pub(super) fn inspected(code: &str, cursor: usize) -> usize {
    if let Some(end) = touched(code, cursor) {
        return end;
    }
    let mut end = cursor;
    while let Some(open) = enclosing(&code[..end]) {
        if let Some(end) = touched(code, open) {
            return end;
        }
        end = open;
    }
    cursor
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

/// Returns the position of the last parenthesis that `code` opens and does not close.
fn enclosing(code: &str) -> Option<usize> {
    let mut closed = 0;
    for (at, c) in code.char_indices().rev() {
        match c {
            ')' => closed += 1,
            '(' if closed == 0 => return Some(at),
            '(' => closed -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn nothing_in_particular() {
        for marked in ["|", "1 + | 2", "(1, |2)"] {
            check(marked, &marked[..marked.find('|').unwrap()]);
        }
    }
}
