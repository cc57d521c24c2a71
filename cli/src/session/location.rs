//! From a line of the source that evcxr compiled to the line of the cell.

use super::event::Location;

/// The cell's line that stands at `line` (from 1) of `source`, if the cell's code is what stands
/// there. evcxr copies the cell's statements into the source, in order, whole lines as they are.
pub fn in_cell(source: &str, line: usize, cell: &str) -> Option<Location> {
    let compiled: Vec<&str> = source.lines().map(str::trim).collect();
    let wanted = *compiled.get(line.checked_sub(1)?)?;
    if wanted.is_empty() {
        return None;
    }
    let same = |text: &&str| *text == wanted;
    // Equal lines are told apart by counting from the end, where the cell's code stands.
    let from_end = compiled[line..].iter().filter(|l| same(l)).count();
    let in_cell: Vec<usize> = (1..)
        .zip(cell.lines().map(str::trim))
        .filter_map(|(number, text)| (text == wanted).then_some(number))
        .collect();
    let index = in_cell.len().checked_sub(from_end + 1)?;
    Some(Location {
        line: in_cell[index],
        column: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = "let a = 1;\npanic!(\"x\");\nlet a = 1;";
    const SOURCE: &str = "fn run() {\nlet a = 1;\npanic!(\"x\");\nlet a = 1;\nstore(a);\n}";

    #[test]
    fn a_line_is_found_also_when_it_stands_twice() {
        let line = |n| in_cell(SOURCE, n, CELL).map(|l| l.line);
        assert_eq!([line(2), line(3), line(4)], [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn generated_lines_and_lines_that_do_not_exist_have_no_place() {
        assert_eq!(in_cell(SOURCE, 5, CELL), None);
        assert_eq!(in_cell(SOURCE, 0, CELL), None);
        assert_eq!(in_cell(SOURCE, 99, CELL), None);
    }
}
