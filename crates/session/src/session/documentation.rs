//! Adapts rust-analyzer's documentation to a notebook: lines of examples that rustdoc hides are left out,
//! and headings have the size of the text.

/// Removes hidden lines from documentation in HTML, and makes headings bold text.
pub(crate) fn page(documentation: &str) -> String {
    let mut page = text(documentation);
    for level in 1..=6 {
        page = page
            .replace(&format!("<h{level}>"), "<p><strong>")
            .replace(&format!("</h{level}>"), "</strong></p>");
    }
    page
}

/// Removes hidden lines, which begin with `# `, from documentation. In HTML, the first line of an
/// example follows its tag.
pub(crate) fn text(documentation: &str) -> String {
    let mut shown = String::with_capacity(documentation.len());
    for line in documentation.split_inclusive('\n') {
        let (tag, code) = match line.starts_with("<pre>") {
            true => line.split_at(line.rfind("\">").map_or(0, |at| at + 2)),
            false => ("", line),
        };
        shown.push_str(tag);
        if !(code.trim_end() == "#" || code.starts_with("# ")) {
            shown.push_str(code);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_lines_are_left_out() {
        let example = "<pre><code class=\"language-rust\"># use a::b;\n#\nlet x = 1;\n# Ok::<(), Error>(())\n</code></pre>";
        let shown = "<pre><code class=\"language-rust\">let x = 1;\n</code></pre>";
        assert_eq!(page(example), shown);
        assert_eq!(text("let x = 1;\n# Ok::<(), Error>(())\n"), "let x = 1;\n");
        assert_eq!(text("#[derive(Debug)]"), "#[derive(Debug)]");
    }

    #[test]
    fn headings_have_the_size_of_the_text() {
        assert_eq!(
            page("<h1>Errors</h1>\n<p>None.</p>"),
            "<p><strong>Errors</strong></p>\n<p>None.</p>"
        );
    }
}
