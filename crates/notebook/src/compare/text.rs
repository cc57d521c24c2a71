//! Texts as they are compared: line by line, without colours.

use super::numbers::same_line;
use crate::document::tolerance::Tolerance;

/// Returns the lines to compare: without colours, trailing spaces and trailing empty lines.
pub(super) fn lines(text: &str) -> Vec<String> {
    let text = without_ansi(text);
    let mut lines: Vec<String> = text
        .split('\n')
        .map(|line| line.trim_end().into())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Splits off the common head and tail of two lists; returns the length of the head and the rests.
pub(super) fn differing<'a, T>(
    stored: &'a [T],
    now: &'a [T],
    alike: impl Fn(&T, &T) -> bool,
) -> (usize, &'a [T], &'a [T]) {
    let alike = |(a, b): &(&T, &T)| alike(a, b);
    let head = stored.iter().zip(now).take_while(alike).count();
    let (stored, now) = (&stored[head..], &now[head..]);
    let ends = stored.iter().rev().zip(now.iter().rev());
    let tail = ends.take_while(alike).count();
    (
        head,
        &stored[..stored.len() - tail],
        &now[..now.len() - tail],
    )
}

/// Returns whether two texts are equal within the tolerance.
pub(super) fn same_text(stored: &str, now: &str, tolerance: Tolerance) -> bool {
    let (stored, now) = (lines(stored), lines(now));
    stored.len() == now.len()
        && stored
            .iter()
            .zip(&now)
            .all(|(stored, now)| same_line(stored, now, tolerance))
}

/// Removes the escape sequences that set colours or move the cursor.
pub(crate) fn without_ansi(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        plain.push_str(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    plain + rest
}

fn after_escape(rest: &str) -> &str {
    if let Some(sequence) = rest.strip_prefix('[') {
        let end = sequence.find(|c: char| ('@'..='~').contains(&c));
        return end.map_or("", |end| &sequence[end + 1..]);
    }
    if let Some(command) = rest.strip_prefix(']') {
        // A title or a link, terminated by BEL or by another escape sequence.
        let end = command.find(['\x07', '\x1b']);
        return end.map_or("", |end| {
            command[end..]
                .strip_prefix('\x07')
                .unwrap_or(&command[end..])
        });
    }
    let mut characters = rest.chars();
    characters.next();
    characters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(stored: &str, now: &str) -> bool {
        same_text(stored, now, Tolerance::default())
    }

    #[test]
    fn line_endings_do_not_matter() {
        assert!(same("a  \nb\t\n", "a\nb"));
        assert!(same("a\r\nb", "a\nb\n\n"));
        assert!(!same("a\n\nb", "a\nb"));
        assert!(!same(" a", "a"));
        assert!(same("", "\n"));
    }

    #[test]
    fn colours_do_not_matter() {
        assert!(same(
            "\x1b[31mred\x1b[0m 1.0\x1b[1;38;5;9m!",
            "red 1.0000001!"
        ));
        assert_eq!(
            without_ansi("a\x1b]8;;http://x\x07link\x1b]8;;\x1b\\b"),
            "alinkb"
        );
        assert_eq!(without_ansi("cut \x1b[3"), "cut ");
        assert_eq!(without_ansi("cut \x1b"), "cut ");
    }
}
