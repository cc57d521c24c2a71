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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_blanked_out_leaves_the_rest_in_place() {
        let source = "é = 1;\nb = 2; c";
        assert_eq!(only(source, &[0..2, 8..14]), "é     \nb = 2;  ");
    }

    #[test]
    fn parts_are_taken_out_of_a_range() {
        assert_eq!(outside(2..9, &[7..9, 4..5]), [2..4, 5..7]);
        assert_eq!(outside(2..9, std::slice::from_ref(&(2..9))), []);
    }
}
