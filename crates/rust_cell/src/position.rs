//! Positions in a text.

/// Line and column, counted from 1, in characters.
pub type Position = (usize, usize);

/// Returns the byte offset of a position in `code`; a column beyond the line's end is the line's end.
pub fn byte_offset(code: &str, (line, column): Position) -> usize {
    let lines = code.split_inclusive('\n').take(line.saturating_sub(1));
    let start = lines.map(str::len).sum::<usize>().min(code.len());
    let text = code[start..].lines().next().unwrap_or_default();
    let within = text.char_indices().nth(column.saturating_sub(1));
    start + within.map_or(text.len(), |(at, _)| at)
}

/// Returns the position of a byte of `code`.
pub fn position_of(code: &str, offset: usize) -> Position {
    let before = &code[..offset];
    let column = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, column.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_characters() {
        let code = "let α = 1;\r\n\tβ";
        let text = |from, to| &code[byte_offset(code, from)..byte_offset(code, to)];
        assert_eq!(text((1, 5), (1, 6)), "α");
        assert_eq!(text((2, 2), (2, 3)), "β");
        assert_eq!(byte_offset(code, (1, 99)), "let α = 1;".len());
        assert_eq!(byte_offset(code, (9, 1)), code.len());
        assert_eq!(position_of(code, code.len()), (2, 3));
        assert_eq!(byte_offset(code, (2, 3)), code.len());
    }
}
