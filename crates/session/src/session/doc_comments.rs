//! Keeps the doc comment of a cell's first item. evcxr skips the comments at the beginning of a cell,
//! but `Shift-Tab` shows the item's documentation.

use std::borrow::Cow;

/// Indents a doc comment at the beginning of a cell, so that evcxr takes it for code.
pub(crate) fn keep_documentation(code: Cow<str>) -> Cow<str> {
    match start_of_documentation(&code) {
        Some(start) => {
            let mut code = code.into_owned();
            code.insert(start, ' ');
            Cow::Owned(code)
        }
        None => code,
    }
}

/// Returns the offset of a doc comment that only commands and other comments precede. Ignores a doc
/// comment before a command, which evcxr would no longer read as a command.
fn start_of_documentation(code: &str) -> Option<usize> {
    let mut lines = code.split_inclusive('\n');
    let documentation = lines
        .by_ref()
        .find(|line| is_documentation(line) || !(is_skipped(line) || is_command(line)))?;
    let item = lines.find(|line| !is_skipped(line))?;
    let start = documentation.as_ptr().addr() - code.as_ptr().addr();
    (is_documentation(documentation) && !is_command(item)).then_some(start)
}

fn is_documentation(line: &str) -> bool {
    line.starts_with("///") && !line.starts_with("////")
}

fn is_skipped(line: &str) -> bool {
    line.starts_with("//") || line.trim().is_empty()
}

fn is_command(line: &str) -> bool {
    line.starts_with([':', '!'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_doc_comment_of_the_first_item_is_indented() {
        for (code, kept) in [
            ("/// A\nfn a() {}", " /// A\nfn a() {}"),
            ("/// A\n/// B\nfn a() {}", " /// A\n/// B\nfn a() {}"),
            (
                "// x\n\n:dep b\n/// A\nfn a() {}",
                "// x\n\n:dep b\n /// A\nfn a() {}",
            ),
        ] {
            assert_eq!(keep_documentation(code.into()), kept);
        }
    }

    #[test]
    fn other_code_is_unchanged() {
        for code in [
            "",
            "fn a() {}",
            "// A\nfn a() {}",
            "//// A\nfn a() {}",
            "let b = 1;\n/// A\nfn a() {}",
            "/// A\n:dep b",
            "/// A",
        ] {
            assert_eq!(keep_documentation(code.into()), code);
        }
    }
}
