//! Maps positions in the source that evcxr compiled to positions in the cell.
//!
//! evcxr copies each statement of a cell onto lines of its own, and writes its own code around them.
//! So a line of the source is a line of the cell, or a part of a line that holds several statements.

use taper_evaluator::event::Location;

/// Line and column, counted from 1, in characters.
pub(crate) type Position = (usize, usize);

/// The source of the last compilation, and the cell in it.
pub(crate) struct SourceMap<'a> {
    source: Vec<&'a str>,
    cell: &'a str,
}

impl<'a> SourceMap<'a> {
    pub(crate) fn new(source: &'a str, cell: &'a str) -> Self {
        SourceMap {
            source: source.lines().collect(),
            cell,
        }
    }

    pub(crate) fn cell(&self) -> &'a str {
        self.cell
    }

    /// Returns the text of a line of the source.
    pub(crate) fn text(&self, line: usize) -> Option<&'a str> {
        self.source.get(line.checked_sub(1)?).copied()
    }

    /// Returns the cell's line for `line` of the source.
    pub(crate) fn line(&self, line: usize) -> Option<Location> {
        // The bracket that evcxr puts before the last expression belongs to it.
        let is_bracket = self.source.get(line.checked_sub(1)?)?.trim() == "(";
        let (line, _) = self.find(line + usize::from(is_bracket), None)?;
        Some(Location { line, column: None })
    }

    /// Returns the position in the cell; of equal lines, the one nearest to the line `near`.
    pub(crate) fn position(
        &self,
        (line, column): Position,
        near: Option<usize>,
    ) -> Option<Position> {
        let (line, shift) = self.find(line, near)?;
        Some((line, column + shift))
    }

    /// Returns the part of the cell between two positions in the source, which may be in evcxr's own code.
    pub(crate) fn part(&self, start: Position, end: Position) -> Option<(Position, Position)> {
        let mut lines = start.0..=end.0;
        let (first, from) = lines.find_map(|line| Some((line, self.find(line, None)?)))?;
        let rest = (first..=end.0).rev();
        let mut found = rest.map(|line| (line, self.find(line, Some(from.0))));
        let (last, to) = found.find_map(|(line, to)| Some((line, to?)))?;
        let from = match first == start.0 {
            true => (from.0, start.1 + from.1),
            false => (from.0, 1 + from.1),
        };
        let to = match last == end.0 {
            true => (to.0, end.1 + to.1),
            false => (to.0, self.source[last - 1].chars().count() + 1 + to.1),
        };
        Some((from, to))
    }

    /// Returns the cell's line that `line` of the source comes from, and by how many columns it was moved.
    fn find(&self, line: usize, near: Option<usize>) -> Option<(usize, usize)> {
        let text = *self.source.get(line.checked_sub(1)?)?;
        let wanted = text.trim();
        if wanted.is_empty() {
            return None;
        }
        let lines: Vec<&str> = self.cell.lines().collect();
        let all = |is_it: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..lines.len()).filter(|&n| is_it(lines[n])).collect()
        };
        let whole = all(&|text| text.trim() == wanted);
        let found = match (&whole[..], near) {
            ([], _) if !wanted.contains(char::is_alphanumeric) => None,
            ([], _) => one_of(&all(&|text| text.contains(wanted)), near),
            (whole, Some(_)) => one_of(whole, near),
            // Equal lines are counted from the end, where the cell's code is.
            (whole, None) => {
                let same = |text: &&&str| text.trim() == wanted;
                let from_end = self.source[line..].iter().filter(same).count();
                whole.len().checked_sub(from_end + 1).map(|n| whole[n])
            }
        }?;
        let before = lines[found].find(wanted)?;
        let shift = lines[found][..before].chars().count();
        let indent = text.chars().take_while(|c| c.is_whitespace()).count();
        Some((found + 1, shift.saturating_sub(indent)))
    }
}

/// Returns the only line, or the one nearest to the line `near` (counted from 1).
fn one_of(lines: &[usize], near: Option<usize>) -> Option<usize> {
    match (lines, near) {
        (&[line], _) => Some(line),
        (lines, Some(near)) => {
            let distance = |line: &usize| line.abs_diff(near - 1);
            lines.iter().copied().min_by_key(distance)
        }
        _ => None,
    }
}

/// Returns the byte offset of a position in `code`; a column beyond the line's end is the line's end.
pub(crate) fn byte_offset(code: &str, (line, column): Position) -> usize {
    let lines = code.split_inclusive('\n').take(line.saturating_sub(1));
    let start = lines.map(str::len).sum::<usize>().min(code.len());
    let text = code[start..].lines().next().unwrap_or_default();
    let within = text.char_indices().nth(column.saturating_sub(1));
    start + within.map_or(text.len(), |(at, _)| at)
}

/// Returns the position of a byte of `code`.
pub(crate) fn position_of(code: &str, offset: usize) -> Position {
    let before = &code[..offset];
    let column = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, column.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = "let a = 1;\npanic!(\"x\");\nlet a = 1;";
    const SOURCE: &str = "fn run() {\nlet a = 1;\npanic!(\"x\");\nlet a = 1;\nstore(a);\n}";

    #[test]
    fn equal_lines_are_told_apart() {
        let line = |n| SourceMap::new(SOURCE, CELL).line(n).map(|l| l.line);
        assert_eq!([line(2), line(3), line(4)], [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn generated_and_missing_lines_have_no_location() {
        for line in [0, 5, 6, 99] {
            assert_eq!(SourceMap::new(SOURCE, CELL).line(line), None);
        }
    }

    #[test]
    fn statements_on_one_line_are_found_by_column() {
        let source = "{\n\tlet ä = 1; \nlet b = ä / 0; \n}";
        let compiled = SourceMap::new(source, "let x = 0;\n\tlet ä = 1; let b = ä / 0; ");
        assert_eq!(compiled.position((2, 6), None), Some((2, 6)));
        assert_eq!(compiled.position((3, 9), None), Some((2, 21)));
    }

    #[test]
    fn the_last_expression_begins_with_evcxrs_bracket() {
        let source = "let n = 1;\n(\nn - 2\n).evcxr_display();";
        let line = SourceMap::new(source, "let n = 1;\nn - 2").line(2);
        assert_eq!(line.map(|l| l.line), Some(2));
    }

    #[test]
    fn a_part_ends_with_the_cell() {
        let source = "{\nlet s = \"abc;\nstore(s);\n}";
        let compiled = SourceMap::new(source, "let s = \"abc;");
        assert_eq!(compiled.part((2, 9), (4, 2)), Some(((1, 9), (1, 14))));
        assert_eq!(compiled.part((1, 1), (3, 2)), Some(((1, 1), (1, 14))));
        assert_eq!(compiled.part((3, 1), (4, 2)), None);
    }

    #[test]
    fn offsets_count_characters() {
        let code = "let α = 1;\r\n\tβ";
        let text = |from, to| &code[byte_offset(code, from)..byte_offset(code, to)];
        assert_eq!(text((1, 5), (1, 6)), "α");
        assert_eq!(text((2, 2), (2, 3)), "β");
        assert_eq!(byte_offset(code, (1, 99)), "let α = 1;".len());
        assert_eq!(byte_offset(code, (9, 1)), code.len());
        assert_eq!(position_of(code, code.len()), (2, 3));
    }
}
