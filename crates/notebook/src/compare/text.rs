//! Compares texts line by line, without colours.

use super::numbers::same_line;
use crate::document::tolerance::Tolerance;
use anstream::adapter::strip_str;
use std::borrow::Cow;

/// Returns the lines to compare: without colours, trailing spaces and trailing empty lines.
pub(super) fn lines(text: &str) -> Vec<Cow<'_, str>> {
    let mut lines: Vec<_> = text.split('\n').map(clean).collect();
    let end = lines.iter().rposition(|line| !line.is_empty());
    lines.truncate(end.map_or(0, |last| last + 1));
    lines
}

/// Returns whether a text has no line to compare.
pub(super) fn is_blank(text: &str) -> bool {
    text.split('\n').all(|line| clean(line).is_empty())
}

fn clean(line: &str) -> Cow<'_, str> {
    if line.contains('\x1b') {
        return strip_str(line).to_string().trim_end().to_owned().into();
    }
    line.trim_end().into()
}

/// Removes the common head and the common tail of two lists. Returns the length of the head, and the parts
/// of both lists between head and tail.
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
    // Line by line: of two long outputs, only the lines up to the first difference are read.
    let (mut stored, mut now) = (stored.split('\n'), now.split('\n'));
    loop {
        let same = match (stored.next(), now.next()) {
            (None, None) => return true,
            (Some(stored), Some(now)) => same_line(&clean(stored), &clean(now), tolerance),
            (Some(rest), None) | (None, Some(rest)) => clean(rest).is_empty(),
        };
        if !same {
            return false;
        }
    }
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
        assert!(same("a\x1b]8;;http://x\x07link\x1b]8;;\x1b\\b", "alinkb"));
        assert!(same("cut \x1b[3", "cut") && same("cut \x1b", "cut"));
    }
}
