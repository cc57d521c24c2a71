//! evcxr skips the comments at the beginning of a cell, and with them the documentation of the first
//! item, which belongs to it: `Shift-Tab` shows it.

use std::borrow::Cow;

/// Indents the comment by which a cell begins, if it is documentation: then evcxr takes it for code.
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

/// Where it stands, before everything but commands and other comments. Before a command it is none:
/// what follows it would no longer be read as a command.
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
    fn documentation_of_the_first_item() {
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
    fn everything_else_stays() {
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
