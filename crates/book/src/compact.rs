//! Style sheets and scripts without what only their authors read: a page loads a dozen of them before its text appears.

/// Returns whether a file of the book is a style sheet or a script that is as its author wrote it.
pub(crate) fn is_for(name: &str) -> bool {
    let is_small = name.ends_with(".min.js") || name.starts_with("api/");
    (name.ends_with(".css") || name.ends_with(".js")) && !is_small
}

/// Returns the text without indentation, empty lines, and comments that are lines of their own.
pub(crate) fn compact(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn is_comment(line: &str) -> bool {
    let is_block = line.starts_with("/*") && line.find("*/") == Some(line.len() - 2);
    line.starts_with("//") || is_block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_comments_and_spaces_are_left_out() {
        let text = "/* A page. */\nbody {\n    color: red; /* a link */\n\n    // no\n}\n/* a */ p {} /* b */\n/* two\n   lines */\n";
        let expected =
            "body {\ncolor: red; /* a link */\n}\n/* a */ p {} /* b */\n/* two\nlines */\n";
        assert_eq!(compact(text), expected);
    }

    #[test]
    fn files_that_are_small_already_stay() {
        for (name, expected) in [
            ("book.js", true),
            ("css/general.css", true),
            ("mark.min.js", false),
            ("api/a.css", false),
            ("a.html", false),
        ] {
            assert_eq!(is_for(name), expected, "{name}");
        }
    }
}
