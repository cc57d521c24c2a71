//! Cuts text without moving the rest: lines and columns stay those of the cell.

use std::ops::Range;

/// Returns the source with everything outside these ranges replaced by spaces. The ranges are in order, and do not
/// overlap.
pub(crate) fn only(source: &str, ranges: &[Range<usize>]) -> String {
    let mut text = String::with_capacity(source.len());
    let mut end = 0;
    for range in ranges {
        blank(&source[end..range.start], &mut text);
        text.push_str(&source[range.clone()]);
        end = range.end;
    }
    blank(&source[end..], &mut text);
    text
}

/// Returns what remains of a range without these parts of it, in order.
pub(crate) fn outside(whole: Range<usize>, parts: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = parts.to_vec();
    parts.sort_by_key(|part| part.start);
    let mut rest = Vec::new();
    let mut start = whole.start;
    for part in parts {
        if part.start > start {
            rest.push(start..part.start);
        }
        start = start.max(part.end);
    }
    if start < whole.end {
        rest.push(start..whole.end);
    }
    rest
}

/// Appends a space for each character but the ends of lines.
fn blank(source: &str, text: &mut String) {
    text.extend(source.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

/// Returns the line and the column of a byte, both counted from 1, the column in characters.
pub(crate) fn position(source: &str, at: usize) -> (usize, usize) {
    let before = &source[..at];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() + 1)
}

/// Returns the byte at a line and a column, or the end of the source if there is no such place.
pub(crate) fn offset(source: &str, (line, column): (usize, usize)) -> usize {
    let lines = source.split_inclusive('\n');
    let start: usize = lines.take(line - 1).map(str::len).sum();
    let line = &source[start..];
    let at = line.char_indices().nth(column - 1).map(|(at, _)| at);
    start + at.unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_blanked_out_leaves_the_rest_in_place() {
        let source = "é = 1;\nb = 2; c";
        assert_eq!(only(source, &[0..2, 8..14]), "é     \nb = 2;  ");
        assert_eq!(position(source, 15), (2, 8));
        assert_eq!(offset(source, (2, 8)), 15);
        assert_eq!(offset(source, (1, 3)), 3);
        assert_eq!(offset(source, (3, 1)), source.len());
    }

    #[test]
    fn parts_are_taken_out_of_a_range() {
        assert_eq!(outside(2..9, &[7..9, 4..5]), [2..4, 5..7]);
        assert_eq!(outside(2..9, std::slice::from_ref(&(2..9))), []);
    }
}
